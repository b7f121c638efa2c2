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
class ScopedTimer {
 public:
  explicit ScopedTimer(double& total) : total_(total) {}
  ~ScopedTimer() {
    total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace occbench
