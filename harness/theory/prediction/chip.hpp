// SPDX-License-Identifier: Apache-2.0
// A GPU of the catalogue as the model takes it.
#pragma once

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/prediction/model.hpp"

namespace occbench::theory {

[[nodiscard]] inline Chip chip_of(const CatalogueEntry& device) {
  const ArchFacts arch = arch_facts(device.sm.cc_major, device.sm.cc_minor);
  return {.sm_count = device.sm.sm_count,
          .fp32_lanes_per_sm = device.fp32_lanes_per_sm,
          .fp64_lanes_per_sm = device.fp64_lanes_per_sm,
          .tensor_bf16_fma_per_sm = arch.tensor_bf16_fma_per_sm,
          .l2_bytes = device.l2_bytes,
          .dram_bytes_per_s = device.dram_bytes_per_s};
}

}  // namespace occbench::theory
