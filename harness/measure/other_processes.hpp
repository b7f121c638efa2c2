// SPDX-License-Identifier: Apache-2.0
// Other processes on the GPU and throttling, as far as NVML reports them. InterferenceProbe detects the rest.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "harness/device/nvml.hpp"

namespace occbench {

/// "2 other processes: 4711 python3 (2048 MiB), 4712 (512 MiB)" or "busy 97 % of the time"; empty: idle, as
/// far as NVML reports. Call before this process uses the GPU.
std::string other_gpu_users(const nvml::Monitor& monitor);

/// Calls `users` until it returns "" or `timeout` is over. Returns its last answer; `pause` waits between
/// calls.
std::string wait_for_quiet(const std::function<std::string()>& users, std::chrono::duration<double> timeout,
                           const std::function<void(const std::string&)>& pause);

/// What poll() found during a run.
class OtherProcesses {
 public:
  explicit OtherProcesses(const std::string& uuid);

  /// Takes under a millisecond.
  void poll();
  /// One line: other processes, thermal slowdown, power brake, Xid and memory errors. Empty: none. Omits
  /// power caps: they are usual, and the rows' sm_clock_hz shows them.
  [[nodiscard]] std::string summary() const;

 private:
  nvml::Monitor monitor_;
  std::vector<nvml::Process> at_first_, since_;
  std::optional<unsigned long long> errors_at_first_;
  std::map<std::string, int> slowed_;  ///< polls, by reason
  std::vector<unsigned long long> xids_;
  int polls_ = 0;
};

}  // namespace occbench
