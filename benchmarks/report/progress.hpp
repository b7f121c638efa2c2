// SPDX-License-Identifier: Apache-2.0
// Progress of a run on stderr: one line, rewritten on a terminal; a line every ten seconds in a pipe.
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
  /// Work on a case begins: until the first visit, it is being verified.
  void on_case(const std::string& case_id);
  /// A case was visited in this round over all of them.
  void on_visit(const std::string& case_id, int round);
  /// A case is done. The rate counts only those that were launched.
  void on_result(const std::string& case_id, bool launched);
  /// Clears the line, so that something else can be printed.
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
  std::size_t started_ = 0;
  std::size_t visits_ = 0;
  int round_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_ = start_;
};

}  // namespace occbench
