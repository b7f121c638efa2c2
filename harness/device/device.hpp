// SPDX-License-Identifier: Apache-2.0
// The CUDA devices of this machine, and models of others: their facts, and which one to use.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/nvml.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench {

/// A device of this machine, or a model of one; data missing in data sheets is 0 or empty.
struct Device : theory::DeviceSpec {
  int index = -1;
  std::string uuid;                           ///< "GPU-...", "model:h200"
  bool is_model = false;                      ///< nothing can be launched on it
  std::array<int, 3> max_block_dimensions{};  ///< threads in x, y, z
  std::array<int, 3> max_grid_dimensions{};   ///< blocks in x, y, z
  double memory_clock_hz = 0;
  int memory_bus_bits = 0;
  bool ecc = false;
  bool integrated = false;
  int max_blocks_per_cluster = 0;  ///< portable size; 0 without clusters
  int driver_version = 0;          ///< CUDA version the driver supports, 1000 x major + 10 x minor
  nvml::Facts nvml;

  /// "9.0"
  [[nodiscard]] std::string compute_capability() const;
  /// 10 x major + minor.
  [[nodiscard]] int cc() const { return 10 * sm.cc_major + sm.cc_minor; }
};

/// All CUDA devices. If there are none, sets `why_none`, if given, to one line.
std::vector<Device> enumerate_devices(std::string* why_none = nullptr);

/// A model of a device of the catalogue: "model of H200".
Device model_device(const theory::DeviceSpec& spec);

/// The chosen device, and one line on why.
struct Choice {
  const Device* device = nullptr;
  std::string why;
};
/// `wanted` is an index, a UUID or its start, part of a name, or empty: the discrete device with the highest
/// SMs x clock x lanes. Throws UserError: Exit::no_device if there is no device, Exit::usage if none matches.
Choice choose_device(const std::vector<Device>& devices, std::string_view wanted);

/// What works without a GPU: the end of an error about missing GPUs.
std::string without_device();

/// choose_device() over enumerate_devices(); makes the device current. Keeps <vector> out of its callers.
Device open_device(std::string_view wanted);

}  // namespace occbench
