// SPDX-License-Identifier: Apache-2.0
// One case on its way through a session, and the clock that says where the time went.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/session.hpp"

namespace occbench {

/// Sets the entry up, and the data of a kernel with arguments of its own: another case may have had either.
inline void make_ready(const Launch& launch, const Problem& problem) {
  configure(launch);
  if (problem.launch) problem.poison();
}

/// A case between its first launch and its row.
struct Session::Course {
  CaseResult result;
  Problem warm_up;  ///< a few iterations: brings in code and addresses
  Problem timed;
  std::vector<SampleRow> samples;
  std::vector<double> own_cycles;                 ///< by the kernel's own clock, one per visit
  int rounds = 0;                                 ///< visits so far
  bool admitted = false;                          ///< prepared and launched, as far as that tells
  std::optional<instruments::Digest> to_repeat;   ///< output that the first launch to be timed must repeat
  bool is_sampled = false;                        ///< some outputs of each block are checked, not all
  std::future<std::optional<std::string>> check;  ///< of its reference, until somebody asked
  int undecided = 0;                              ///< samples that may yet be discarded
  bool ready = false;                             ///< precise, if these count
  bool done = false;                              ///< no more visits
  bool waits = false;  ///< timed, and its row has yet to get what is measured when all of the group is timed
};

/// Adds the time of its life to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace occbench
