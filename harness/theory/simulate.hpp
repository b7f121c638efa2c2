// SPDX-License-Identifier: Apache-2.0
// One SM and its share of the memory system, warp by warp: a discrete-event simulation of a kernel's loop.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/theory/machine.hpp"
#include "harness/theory/program.hpp"

namespace occbench::theory {

/// Lets every warp make `turns` turns of the loop. Deterministic.
Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic, const Crew& crew,
               std::int64_t turns);

/// simulate(), given the turns. A call for more turns than the one before goes on where that one's first warp
/// began its last turn. Holds `program`, `machine` and `traffic` by reference.
std::function<Usage(std::int64_t)> simulation(const Program& program, const Machine& machine,
                                              const Traffic& traffic, const Crew& crew);

}  // namespace occbench::theory
