// SPDX-License-Identifier: Apache-2.0
// Devices that need not be there: SM limits by compute capability, and the facts of well-known GPUs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

/// Rates of one SM per clock; 0 where none is known.
struct ArchFacts {
  int fp32_lanes_per_sm = 0;       ///< FMAs
  int fp64_lanes_per_sm = 0;       ///< FMAs
  int tensor_bf16_fma_per_sm = 0;  ///< dense FMAs of bf16 with FP32 sums
  int l1_bytes_per_cycle = 0;
};
[[nodiscard]] ArchFacts arch_facts(int cc_major, int cc_minor);

/// One offline device. An entry made from "ccX.Y" knows its SM only: sm_count, the sizes and the rates are 0.
struct CatalogueEntry {
  std::string name;
  SmLimits sm;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  double sm_clock_hz = 0;       ///< highest (boost) clock
  double dram_bytes_per_s = 0;  ///< theoretical
  int fp32_lanes_per_sm = 0;
  int fp64_lanes_per_sm = 0;
};

/// Looks up "h200", "RTX 5090", "rtx-5090" or "cc9.0": case, spaces and hyphens do not matter. Throws
/// std::invalid_argument with one line that lists the known names.
[[nodiscard]] CatalogueEntry find_device(std::string_view name);

/// Names of all devices of the catalogue, oldest first.
[[nodiscard]] std::vector<std::string> device_names();

/// "7.0", "7.5", ...: every compute capability that find_device takes as "ccX.Y".
[[nodiscard]] std::vector<std::string> compute_capabilities();

}  // namespace occbench::theory
