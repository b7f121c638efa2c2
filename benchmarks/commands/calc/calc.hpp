// SPDX-License-Identifier: Apache-2.0
// `occbench calc`: exact occupancy of one footprint or a file of them. Needs no GPU.
#pragma once

#include <functional>
#include <string>

#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace CLI {
class App;
}

namespace occbench::commands {

/// A device to calculate for.
struct CalcDevice {
  theory::DeviceSpec facts;
  theory::ActiveClusters active_clusters = {};  ///< asks the GPU; empty without one
};

/// The device of a name: index, UUID, name, ccX.Y, or empty for the default. Throws UserError or
/// std::invalid_argument with one line when there is none.
using DeviceResolver = std::function<CalcDevice(const std::string& name)>;

/// From the catalogue; an empty name is refused.
[[nodiscard]] CalcDevice resolve_offline(const std::string& name);
/// From the catalogue or this machine.
[[nodiscard]] CalcDevice resolve_device(const std::string& name);

/// Adds calc's options. The callback writes to std::cout; it throws UserError with Exit::usage for invalid
/// arguments and Exit::file for a file it cannot read or an output it cannot write. `exit_code` becomes
/// Exit::some_case_failed if the footprint cannot launch; in a batch only the row's status says so.
void add_calc_options(CLI::App& command, int& exit_code, DeviceResolver resolve = resolve_offline);

}  // namespace occbench::commands
