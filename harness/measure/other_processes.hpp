// SPDX-License-Identifier: Apache-2.0
// Who else is on the GPU, and what slows it, as far as NVML tells. InterferenceProbe sees what NVML is not told.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "harness/device/nvml.hpp"

namespace occbench {

/// "2 other processes: 4711 python3 (2,048 MiB), 4712 (512 MiB)" or "busy 97 % of the time", before this
/// process does anything there; empty: quiet, as far as NVML tells.
std::string company(const nvml::Monitor& monitor);

/// Asks `company` until it is empty, or `patience` is over; the last answer. `pause` waits between two.
std::string wait_for_quiet(const std::function<std::string()>& company,
                           std::chrono::duration<double> patience,
                           const std::function<void(const std::string&)>& pause);

/// Looks every now and then while a run goes on, and keeps what it saw.
class OtherProcesses {
 public:
  explicit OtherProcesses(const std::string& uuid);

  /// Takes under a millisecond.
  void look();
  /// What was seen, in one line: processes that came, heat, a power brake, Xid and memory errors. Empty:
  /// nothing. That a power cap lowers the clock is usual, and the rows' sm_clock_hz has it.
  [[nodiscard]] std::string seen() const;

 private:
  nvml::Monitor monitor_;
  std::vector<nvml::Process> at_first_, since_;
  std::optional<unsigned long long> errors_at_first_;
  std::map<std::string, int> slowed_;  ///< looks, by reason
  std::vector<unsigned long long> xids_;
  int looks_ = 0;
};

}  // namespace occbench
