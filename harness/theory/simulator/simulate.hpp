// SPDX-License-Identifier: Apache-2.0
// One SM and its share of the memory system, warp by warp: a discrete-event simulation of a kernel's loop.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// Lets every warp make `trips` trips of the loop. Deterministic.
Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic,
               const SmWorkload& workload, std::int64_t trips);

/// simulate(), given the trips. A call for more trips than the one before goes on where that one's first warp
/// began its last trip. Holds `program`, `machine` and `traffic` by reference.
std::function<Usage(std::int64_t)> simulation(const Program& program, const Machine& machine,
                                              const Traffic& traffic, const SmWorkload& workload);

}  // namespace occbench::theory
