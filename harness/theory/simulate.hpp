// SPDX-License-Identifier: Apache-2.0
// One SM and its share of the memory system, warp by warp: a discrete-event simulation of a kernel's loop.
#pragma once

#include <cstdint>

#include "harness/theory/machine.hpp"
#include "harness/theory/program.hpp"

namespace occbench::theory {

/// Lets every warp make `turns` turns of the loop. Deterministic.
Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic, const Crew& crew,
               std::int64_t turns);

}  // namespace occbench::theory
