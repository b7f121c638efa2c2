// SPDX-License-Identifier: Apache-2.0
// Whole runs of a program whose outputs are held against each other, and the folder that they leave them in.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "benchmarks/commands/attach/program.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

/// A folder that is new, and goes when this does.
class WorkFolder {
 public:
  /// What another run left there goes first. Throws UserError(Exit::file).
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

struct SeenRun {
  Ended ended;
  bool is_same_output = true;  ///< as the first run's; a run that failed says nothing of it
  bool has_output = false;     ///< it printed something: of nothing, to be the same proves nothing

  [[nodiscard]] bool is_well() const { return ended.code == 0; }
};

/// What `keep` returns, which keeps a program's results in `folder`. Where it throws because somebody removed
/// that folder, this is said, and the program's own code returned.
int kept_or_lost(const RunFolder& folder, const int& programs_code, const std::function<int()>& keep);

class Outputs {
 public:
  /// Its files are in `folder`, which stays.
  explicit Outputs(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Runs it with an empty stdin. The first run's outputs are shown, and of a later one the end of stderr
  /// where it fails, which is said: "in run 3, KIND".
  SeenRun run(ProgramRun what, const std::string& kind);

 private:
  std::filesystem::path folder_;
  int runs_ = 0;
};

}  // namespace occbench::commands
