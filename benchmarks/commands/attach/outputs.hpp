// SPDX-License-Identifier: Apache-2.0
// Whole runs of a program whose outputs are compared, and the folder for them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "benchmarks/commands/attach/program.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

/// A new folder, removed with this object.
class WorkFolder {
 public:
  /// Removes what another run left there first. Throws UserError(Exit::file).
  explicit WorkFolder(const std::filesystem::path& path);
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() { clear(); }

  void clear() const;
  /// Absolute.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct RunOutcome {
  ProgramExit exit;
  bool is_same_output = true;  ///< as the first run's; true for a run that failed
  bool has_output = false;     ///< it printed something: equal empty outputs prove nothing

  [[nodiscard]] bool has_succeeded() const { return exit.code == 0; }
};

/// Returns what `write`, which writes a program's results into `folder`, returns. Where it throws because
/// somebody removed that folder, prints so and returns the program's own code.
int write_or_report_loss(const RunFolder& folder, const int& programs_code,
                         const std::function<int()>& write);

class Outputs {
 public:
  /// Its files are in `folder`, which stays.
  explicit Outputs(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Runs it with an empty stdin. Shows the first run's outputs, and the end of a later run's stderr where it
  /// fails, with a message: "in run 3, KIND".
  RunOutcome run(ProgramRun what, const std::string& kind);

 private:
  std::filesystem::path folder_;
  int runs_ = 0;
};

}  // namespace occbench::commands
