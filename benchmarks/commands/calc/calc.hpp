// SPDX-License-Identifier: Apache-2.0
// `occbench calc`: occupancy by arithmetic, for one footprint or a file of them. Needs no GPU.
#pragma once

#include <functional>
#include <string>

#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace CLI {
class App;
}

namespace occbench::commands {

/// A device to calculate for, and what only a device that is here can answer.
struct CalcDevice {
  theory::DeviceSpec facts;
  theory::ActiveClusters active_clusters = {};  ///< empty offline
};

/// Turns the user's word for a device (index, UUID, name, ccX.Y; empty for the default) into it.
/// Throws UserError or std::invalid_argument with one line when there is none.
using DeviceResolver = std::function<CalcDevice(const std::string&)>;

/// The catalogue alone: an empty word is refused.
[[nodiscard]] CalcDevice resolve_offline(const std::string& word);

/// Adds the subcommand. Its callback writes to std::cout; it throws UserError with Exit::usage for words it
/// cannot read and Exit::file for a file it cannot read or an output it cannot write. A footprint that cannot
/// launch is an answer, and gives `exit_code` Exit::some_case_failed; in a batch its row says so alone.
void add_calc(CLI::App& app, int& exit_code, DeviceResolver resolve = resolve_offline);

}  // namespace occbench::commands
