// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a launch from machine code, launch shape and device parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/flow.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// What limits the kernel's throughput.
enum class Bound { latency, issue, pipe, register_port, l1, shared_memory, l2, dram, tail, launch };
/// "latency", "issue", "pipe", "register port", "L1", "shared memory", "L2", "DRAM", "tail", "launch"
std::string_view to_string(Bound bound);
/// A unit bounds a kernel that utilizes it by more than this share.
constexpr double min_bound_utilization = 0.6;

/// Facts on a loop that its machine code does not show.
struct LoopFacts {
  double dram_bytes = 0;              ///< read and written per thread and loop iteration
  double epilogue_bytes = 0;          ///< stored per thread after the loop
  std::size_t working_set_bytes = 0;  ///< per device, block or warp, as `flow.set_of` says
  int stages = 0;                     ///< bulk copies in flight per warp
  bool uneven = false;                ///< warps reach a barrier in different trips of the loop
  Flow flow = {};
};

/// One launch.
struct Shape {
  int grid_size = 0;
  int warps_per_block = 0;
  int blocks_per_sm = 0;
  int working_warps = 0;     ///< warps of a block that run the loop; 0: all
  double working_share = 1;  ///< share of the working warps that do the work; the others skip it
  std::int64_t iterations = 0;
  std::size_t l1_bytes = 0;  ///< L1 size, after the shared-memory carve-out
};

struct Prediction {
  double time_s = 0;  ///< between two events around the launch
  Bound bound = Bound::latency;
  double sm_clock_hz = 0;  ///< expected during the launch
  /// Estimated error of the extrapolation; 0 if the whole launch was simulated.
  double time_error_s = 0;
  double baseline_time_s = 0;  ///< the largest of the latency bound and the throughput bounds
};

/// Throws std::invalid_argument on a parameter that the program needs and the device lacks, or if more than
/// max_guessed_share of its instructions are unknown to the model.
Prediction predict(const Program& program, const LoopFacts& facts, const Shape& shape,
                   const DeviceSpec& device, const Parameters& parameters);

}  // namespace occbench::theory
