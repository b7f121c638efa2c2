// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation of a kernel's loop on one SM and its share of the memory system.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// Simulates `trips` trips of the loop by every warp. Deterministic.
Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic,
               const SmWorkload& workload, std::int64_t trips);

/// Returns simulate() as a function of the trips. A call with more trips than the last one continues that
/// simulation instead of restarting. Holds `program`, `machine` and `traffic` by reference.
std::function<Usage(std::int64_t)> simulation(const Program& program, const Machine& machine,
                                              const Traffic& traffic, const SmWorkload& workload);

}  // namespace occbench::theory
