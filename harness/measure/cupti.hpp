// SPDX-License-Identifier: Apache-2.0
// CUPTI's range profiler, loaded at run time: hardware counters of the launches between two calls. Without
// CUPTI a run has no counters.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace occbench::cupti {

/// Results that have their own message: numbers of CUptiResult, and failures before any call below 0.
enum Result : int {
  no_headers = -1,       ///< this program was built without CUPTI's headers
  library_missing = -2,  ///< libcupti was not found
  library_too_old = -3,  ///< it lacks a function
  no_context = -4,       ///< nothing runs on a device yet
  not_initialized = 15,
  disabled = 23,
  hardware_busy = 26,
  not_supported = 27,
  virtualized_device_not_supported = 33,
  insufficient_privileges = 35,
  old_profiler_api_initialized = 36,
  multiple_subscribers_not_supported = 39,
  virtualized_device_insufficient_privileges = 40,
  confidential_computing_not_supported = 41,
  cmp_device_not_supported = 42,
  mig_device_not_supported = 43,
  sli_device_not_supported = 44,
  wsl_device_not_supported = 45,
  invalid_chip_name = 46,
};

/// A failed call; what() names it and its result.
class Error : public std::runtime_error {
 public:
  Error(int result, const std::string& what) : std::runtime_error(what), result_(result) {}
  [[nodiscard]] int result() const { return result_; }

 private:
  int result_;
};

/// The counters of one context. The caller repeats each launch, once per pass. All functions throw Error
/// unless they are noexcept.
class Profiler {
 public:
  Profiler() = default;
  virtual ~Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// "GH100"
  [[nodiscard]] virtual std::string chip() const = 0;
  /// Whether this chip has a metric of that name, the same as Nsight Compute's.
  virtual bool has_metric(const std::string& metric) = 0;
  /// Acquires the device's counters. They slow launches down until disable().
  virtual void enable(const std::vector<std::string>& metrics) = 0;
  /// Launches between these two calls are counted; end_pass() is true after the last pass.
  virtual void begin_pass() = 0;
  virtual bool end_pass() = 0;
  /// Values since enable() or the last call, in the order of the metrics; NaN where a metric has none.
  virtual std::vector<double> values() = 0;
  virtual void disable() noexcept = 0;
};

/// CUPTI for the current device and its context.
std::unique_ptr<Profiler> open();

}  // namespace occbench::cupti
