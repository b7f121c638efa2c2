// SPDX-License-Identifier: Apache-2.0
// Converts a loop, a launch and a device into the inputs of the simulation.
#pragma once

#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/dram.hpp"
#include "harness/theory/simulator/machine.hpp"

namespace occbench::theory {

/// The memory traffic of the loop.
struct Demand {
  Traffic traffic;
  DramMix dram;
  double spill_lines = 0;  ///< distinct cache lines of spilled registers, per SM
};
Demand demand_of(const Program& program, const LoopFacts& facts, const Shape& shape, const DeviceSpec& device,
                 const Parameters& p);

/// One of `active_sms` SMs at `clock_hz`; shared resources are divided among them.
Machine machine_of(const Demand& demand, const DeviceSpec& device, const Parameters& p, double clock_hz,
                   int active_sms);

}  // namespace occbench::theory
