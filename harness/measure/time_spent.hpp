// SPDX-License-Identifier: Apache-2.0
// Where a run's time goes.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace occbench {

/// Seconds per activity.
using TimeSpent = std::map<std::string, double>;

/// Adds the object's lifetime to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace occbench
