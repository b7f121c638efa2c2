// SPDX-License-Identifier: Apache-2.0
// What a kernel's throughput will be, said before it runs: machine code, launch shape and device in, time
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/flow.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// What holds the kernel back.
enum class Bound { latency, issue, pipe, register_port, l1, shared_memory, l2, dram, tail, launch };
/// "latency", "issue", "pipe", "register port", "L1", "shared memory", "L2", "DRAM", "tail", "launch"
std::string_view to_string(Bound bound);
/// A unit bounds a kernel that uses it for more than this share of what it can do.
constexpr double least_use_of_bound = 0.6;

/// What the model is told of a loop beside its machine code.
struct LoopFacts {
  double dram_bytes = 0;              ///< loaded or stored, per thread and iteration
  double once_bytes = 0;              ///< stored per thread of a launch, behind its loop
  std::size_t working_set_bytes = 0;  ///< that the flow's `set_of` says whose it is
  int stages = 0;                     ///< bulk copies under way, per warp
  bool uneven = false;                ///< the warps come to a barrier from different trips of its loop
  Flow flow = {};
};

/// One launch.
struct Shape {
  int grid_size = 0;
  int warps_per_block = 0;
  int blocks_per_sm = 0;
  int working_warps = 0;     ///< of a block; 0: all
  double working_share = 1;  ///< of those
  std::int64_t iterations = 0;
  std::size_t l1_bytes = 0;  ///< that the carve-out leaves
};

/// One launch as the model expects it.
struct Prediction {
  double time_s = 0;  ///< between two events around the launch
  Bound bound = Bound::latency;
  double sm_clock_hz = 0;  ///< that it will run at
  /// That stopping the simulation early may have cost, by its last two paces: 0 where all was simulated.
  double time_error_s = 0;
  double baseline_time_s = 0;  ///< by the largest of latency bound and throughput bounds alone
};

/// Throws std::invalid_argument naming a parameter that this program needs and the device lacks, or opcodes
/// of which it has too many that the model does not know.
Prediction predict(const Program& program, const LoopFacts& facts, const Shape& shape,
                   const DeviceSpec& device, const Parameters& parameters);

}  // namespace occbench::theory
