// SPDX-License-Identifier: Apache-2.0
// `--help`, for a terminal of 80 columns.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace occbench::commands {

/// Names and descriptions in two columns, wrapped; options that exclude each other are not named. For all
/// commands at once (--help-all) the headings are those that help2man reads for the man page.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace occbench::commands
