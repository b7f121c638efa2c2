// SPDX-License-Identifier: Apache-2.0
// A program that runs with the library of `occbench attach` in it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace occbench::commands {

struct ProgramRun {
  std::vector<std::string> program;
  std::string library;                                         ///< empty: nothing is preloaded
  std::vector<std::pair<std::string, std::string>> variables;  ///< beside its own environment
  std::string output;  ///< file for its stdout, which then has no stdin; empty: both are this process's
  std::string errors;  ///< file for its stderr; empty: this process's
  std::function<void()> meanwhile;  ///< ten times a second, while it runs
};

struct ProgramExit {
  int code = 0;       ///< its exit code; 128 and the signal's number; 126 or 127
  std::string why;    ///< of 126, 127 and a signal, in one line
  double wall_s = 0;  ///< from start to exit
};

/// From here on signals wait for the program that runs next.
void hold_signals();

/// Runs it to its end, with the library after what is preloaded already. Passes on signals that a process
/// sends to this one; those of a terminal reach it anyway.
[[nodiscard]] ProgramExit run_attached(const ProgramRun& run);

/// Where the shell would find it; the name itself where it would not.
[[nodiscard]] std::string path_of_program(const std::string& name);

/// Throws UserError where it is a file that runs with another user's rights: nothing is preloaded into that.
void check_program(const std::string& name);

/// The library that is preloaded, by a path that LD_PRELOAD can name: where its own has a blank or colon,
/// that of a link to it, which lasts as long as this object.
class AttachLibrary {
 public:
  /// Throws UserError(Exit::tool_missing) where it is not beside this program.
  AttachLibrary();
  AttachLibrary(const AttachLibrary&) = delete;
  AttachLibrary& operator=(const AttachLibrary&) = delete;
  ~AttachLibrary();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::filesystem::path folder_of_link_;  ///< empty: none was needed
};

}  // namespace occbench::commands
