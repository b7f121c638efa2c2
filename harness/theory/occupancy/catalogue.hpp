// SPDX-License-Identifier: Apache-2.0
// Offline device data: SM limits by compute capability, and facts of well-known GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

/// Device data known without measuring: from the data sheet (find_device) or the driver. 0 if unknown;
/// "ccX.Y" has only the SM.
struct DeviceSpec {
  std::string name;
  SmLimits sm;
  std::size_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  double sm_clock_max_hz = 0;      ///< boost
  double dram_bytes_per_s = 0;     ///< theoretical
  int fp32_lanes_per_sm = 0;       ///< FMAs per cycle
  int fp64_lanes_per_sm = 0;       ///< FMAs per cycle
  int tensor_bf16_fma_per_sm = 0;  ///< dense FMAs of bf16 with FP32 sums per cycle
  int l1_bytes_per_cycle = 0;      ///< of one SM
  int smem_bytes_per_cycle = 0;    ///< of one SM: 32 banks of 4 bytes
};

/// Sets the rates per SM and cycle that follow from the compute capability.
void set_sm_rates(DeviceSpec& device);

/// Looks up "h200", "RTX 5090", "NVIDIA GeForce RTX 5090", "a6000", "cc9.0", "9.0" or "sm_90a", ignoring
/// case, spaces, hyphens and words such as NVIDIA. Throws std::invalid_argument with one line that lists
/// close names.
[[nodiscard]] DeviceSpec find_device(std::string_view name);

/// Names of all devices of the catalogue, oldest first.
[[nodiscard]] std::vector<std::string> device_names();

/// "7.0", "7.5", ...: all compute capabilities that find_device accepts.
[[nodiscard]] std::vector<std::string> compute_capabilities();

}  // namespace occbench::theory
