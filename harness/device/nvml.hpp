// SPDX-License-Identifier: Apache-2.0
// The few facts that only NVML reports. It is loaded at run time: a machine without it lacks these only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace occbench::nvml {

struct Facts {
  std::string driver_version;                   ///< empty: no NVML
  std::optional<bool> mig;                      ///< multi-instance mode on
  std::optional<double> power_limit_w;          ///< the limit enforced now, watts
  std::optional<std::string> throttle_reasons;  ///< "none", or names joined by '+', at this call
};

/// Facts of the device with this UUID ("GPU-..."). Never throws.
Facts facts(const std::string& uuid);

/// The energy drawn by a device since the driver was loaded.
class EnergyCounter {
 public:
  explicit EnergyCounter(const std::string& uuid);
  /// J; nullopt if NVML or the device does not count it (before Volta). Updated every few tens of
  /// milliseconds; a read takes about a millisecond.
  [[nodiscard]] std::optional<double> joules() const;

 private:
  void* device_ = nullptr;
  int (*read_)(void* device, unsigned long long* millijoules) = nullptr;
};

/// Another process with a context on a device, for compute or for graphics.
struct Process {
  unsigned pid = 0;
  std::string name;  ///< empty if hidden
  std::size_t memory_bytes = 0;
  friend bool operator==(const Process& a, const Process& b) { return a.pid == b.pid; }
};

/// The state of a device according to NVML (NVML API Reference, 'Device Queries', 'Event Handling'). Values
/// that it does not report, as in many containers, are missing. Never throws.
class Monitor {
 public:
  explicit Monitor(const std::string& uuid);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Other processes, including MPS clients; not the MPS server.
  [[nodiscard]] std::vector<Process> others() const;
  /// Share of the last second or so in which a kernel ran, percent.
  [[nodiscard]] std::optional<unsigned> busy_percent() const;
  /// Why the clock is currently lower than requested: "power_cap", "sw_thermal"; else empty.
  [[nodiscard]] std::vector<std::string> slowdown_reasons() const;
  /// Memory errors that ECC could not correct, since the driver was loaded.
  [[nodiscard]] std::optional<unsigned long long> uncorrected_errors() const;
  /// The number of an Xid error since the last call, or nullopt.
  std::optional<unsigned long long> xid();

 private:
  void* device_ = nullptr;
  void* events_ = nullptr;
};

}  // namespace occbench::nvml
