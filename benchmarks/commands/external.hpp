// SPDX-License-Identifier: Apache-2.0
// Words that are programs of their own, in the manner of git: `occbench WORD` runs `occbench-WORD`.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace occbench::commands {

/// One of occbench's Python tools, which lie outside of this program.
struct Tool {
  const char* word;
  /// What one needs it for, as help groups its words; "" is for developers, and not listed.
  const char* group;
  const char* does;  ///< one line
};
[[nodiscard]] std::span<const Tool> python_tools();

/// The file of `occbench-WORD`: beside `program`, in the Python environment of the build tree that `program`
/// lies in, or in a folder of `search_path` (as PATH; relative folders are passed over). nullopt when there
/// is none, or `word` is anything but small letters, digits and hyphens.
[[nodiscard]] std::optional<std::filesystem::path> find_external(const std::string& word,
                                                                 const std::filesystem::path& program,
                                                                 const std::string& search_path);

/// Becomes `occbench-WORD` with these arguments, and does not return. Throws UserError: Exit::tool_missing
/// for a Python tool that is not installed, Exit::usage for a word that is nothing, with the nearest of
/// `built_in` and the tools.
[[noreturn]] void run_external(const std::string& word, const std::vector<std::string>& arguments,
                               std::span<const std::string> built_in);

}  // namespace occbench::commands
