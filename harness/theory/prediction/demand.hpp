// SPDX-License-Identifier: Apache-2.0
// From a loop, a launch and a device to what the simulation is given of them.
#pragma once

#include "harness/theory/prediction/model.hpp"
#include "harness/theory/simulator/dram.hpp"
#include "harness/theory/simulator/machine.hpp"

namespace occbench::theory {

/// What the loop asks of the memory system.
struct Demand {
  Traffic traffic;
  DramMix dram;
  double spill_lines = 0;  ///< of an SM
};
Demand demand_of(const Program& program, const LoopFacts& facts, const Shape& shape, const DeviceSpec& device,
                 const Parameters& p);

/// One of `active_sms` SMs, at this clock.
Machine machine_of(const Demand& demand, const DeviceSpec& device, const Parameters& p, double clock,
                   int active_sms);

}  // namespace occbench::theory
