// SPDX-License-Identifier: Apache-2.0
// Commands that are programs of their own, as git has them: `occbench NAME` executes `occbench-NAME`.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace occbench::commands {

/// One of occbench's Python tools, which are separate programs.
struct Tool {
  const char* name;
  const char* group;        ///< its heading in `--help`; "": for developers, not listed
  const char* description;  ///< one line
};
[[nodiscard]] std::span<const Tool> python_tools();

/// The file of `occbench-NAME`: beside `program`, in the Python environment of the build tree that holds
/// `program`, or in a folder of `search_path` (as PATH; relative folders are skipped). nullopt when there is
/// none, or `name` has characters other than small letters, digits and hyphens.
[[nodiscard]] std::optional<std::filesystem::path> find_external(const std::string& name,
                                                                 const std::filesystem::path& program,
                                                                 const std::string& search_path);

/// Replaces this process by `occbench-NAME`. Throws UserError: Exit::tool_missing for a Python tool that is
/// not installed, Exit::usage for an unknown name, with the nearest of `built_in` and the tools.
[[noreturn]] void execute_external(const std::string& name, const std::vector<std::string>& arguments,
                                   std::span<const std::string> built_in);

}  // namespace occbench::commands
