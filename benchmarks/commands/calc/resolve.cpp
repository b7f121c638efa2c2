// SPDX-License-Identifier: Apache-2.0
// The device that calc calculates for.
#include <exception>

#include "benchmarks/commands/calc/calc.hpp"
#include "harness/device/device.hpp"
#include "harness/device/launch.hpp"

namespace occbench::commands {

namespace {

CalcDevice calc_device(const Device& d) {
  return {.facts = d, .active_clusters = [d](const theory::Footprint& footprint, int cluster_size) {
            return active_clusters(d, footprint, cluster_size);
          }};
}

}  // namespace

CalcDevice resolve_device(const std::string& name) {
  if (!name.empty()) {
    try {
      return resolve_offline(name);
    } catch (const std::exception&) {
      const auto devices = enumerate_devices();
      if (devices.empty() || name.starts_with("cc")) throw;  // an architecture is not a GPU's name
      return calc_device(*choose_device(devices, name).device);
    }
  }
  const auto devices = enumerate_devices();
  if (devices.empty()) return resolve_offline(name);
  return calc_device(*choose_device(devices, "").device);
}

}  // namespace occbench::commands
