// SPDX-License-Identifier: Apache-2.0
// `--help`, for a terminal of 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace occbench::commands {

/// Options and words in two columns, wrapped; what excludes what is left to the error that says so. Of all
/// commands at once, headings are as help2man knows them, which makes the man page of it.
class Help : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override;
};

}  // namespace occbench::commands
