// SPDX-License-Identifier: Apache-2.0
// What a run is of, and where it goes: a new one, or one that --resume goes on with.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "benchmarks/commands/run/options.hpp"
#include "harness/device/device.hpp"
#include "harness/device/parameters.hpp"
#include "harness/record/record.hpp"

namespace occbench::commands {

/// The device of a run, and the parameters of its predictions.
struct Target {
  Device device;
  std::optional<ParameterFile> parameters;
};

/// Of --device and --parameters. Throws UserError where there is none such.
Target open_target(const RunOptions& o);

/// What --resume takes over from the run it continues: its device if that is a model, its parameters, its
/// words. Throws UserError when this program or device is not its own.
Target take_over(RunOptions& o, const nlohmann::json& env);

/// --require-quiet and --wait-quiet, before the device is touched: throws UserError(Exit::no_device) where
/// somebody else has it and keeps it.
void insist_on_quiet(const RunOptions& o, const Device& device);

/// The folder of the run, locked where the file system can.
RunFolder claim_folder(const RunOptions& o, const Device& device);

}  // namespace occbench::commands
