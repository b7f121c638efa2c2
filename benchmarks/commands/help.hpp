// SPDX-License-Identifier: Apache-2.0
// `--help`, for a terminal of 80 columns.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace occbench::commands {

/// Options and words in two columns, wrapped; what excludes what is left to the error that says so. Of all
/// commands at once, headings are as help2man knows them, which makes the man page of it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace occbench::commands
