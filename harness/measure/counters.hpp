// SPDX-License-Identifier: Apache-2.0
// Hardware counters of one launch, read by this process in extra launches. Without counters, a line says why
// and the run continues.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/cupti.hpp"

namespace occbench {

/// What to count.
struct CounterGroups {
  bool occupancy = false;  ///< active warps, issue slots and pipes
  bool memory = false;     ///< bytes at each level
  bool stalls = false;     ///< what warps wait for

  [[nodiscard]] bool any() const { return occupancy || memory || stalls; }
};

/// {"occupancy", "memory", "stalls"}, some of them, or {"none"}. Throws UserError(Exit::usage) on other
/// names.
CounterGroups parse_counter_groups(const std::vector<std::string>& names);

/// The counters of one launch; empty where they were not requested or not available.
struct Counts {
  std::string status = "off";           ///< "ok", or why something is missing, one line
  std::optional<double> occupancy;      ///< mean active warps of active SMs over warp slots: Nsight Compute's
  std::optional<double> issue_active;   ///< share of an active SM's cycles that issued an instruction
  std::optional<double> fma_active;     ///< share of an active SM's cycles in which the FMA pipe was active
  std::optional<double> tensor_active;  ///< ... the tensor pipe
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  std::optional<double> l2_bytes;  ///< through the L2's tag stage
  std::optional<double> l1_bytes;  ///< through the L1's
  std::string stalls;              ///< the three longest, "long_scoreboard 4.1; wait 1.9; barrier 0.3"
};

/// Opens a profiler when first needed, and holds the device's counters only from count() to release().
class Counters {
 public:
  using Open = std::function<std::unique_ptr<cupti::Profiler>()>;
  explicit Counters(const CounterGroups& groups, Open open = cupti::open);
  ~Counters();

  [[nodiscard]] bool is_enabled() const { return groups_.any(); }

  /// Calls `prepare` before and `launch` within each pass; both must synchronise. Reports profiler errors in
  /// the status, and passes on exceptions of `prepare` and `launch`.
  Counts count(const std::function<void()>& prepare, const std::function<void()>& launch);

  /// Releases the device's counters, which would slow timed launches.
  void release() noexcept;

 private:
  void attach();
  void open_profiler();
  [[nodiscard]] Counts read(const std::vector<double>& values) const;

  CounterGroups groups_;
  Open open_;
  std::unique_ptr<cupti::Profiler> profiler_;
  std::vector<std::string> metrics_;
  std::string missing_;           ///< metrics that the chip does not have
  std::optional<Counts> denied_;  ///< the answer to every later call
  bool attached_ = false;
};

}  // namespace occbench
