// SPDX-License-Identifier: Apache-2.0
// How far a run has come: one line that is rewritten on a terminal, a plain line every ten seconds in a pipe.
// On stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace occbench {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void expect(std::size_t cases) { total_ = cases; }
  /// A case is done; `case_id` is what the line names. Those that were not launched count for no rate.
  void advance(const std::string& case_id, bool launched);
  /// A case has its turn: before any is timed, all are verified.
  void turn(const std::string& case_id);
  /// A case was visited, in this pass over all of them.
  void visited(const std::string& case_id, int round);
  /// Wipes the line, so that something else can be printed.
  void clear();

  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  using Clock = std::chrono::steady_clock;

  void show(const std::string& case_id);

  bool terminal_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t launched_ = 0;
  std::size_t turns_ = 0;
  std::size_t visits_ = 0;
  int round_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_ = start_;
};

}  // namespace occbench
