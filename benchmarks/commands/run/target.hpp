// SPDX-License-Identifier: Apache-2.0
// The device and the folder of a run: a new one, or one that --resume continues.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "benchmarks/commands/run/options.hpp"
#include "harness/device/device.hpp"
#include "harness/device/parameters.hpp"
#include "harness/measure/runner.hpp"
#include "harness/record/record.hpp"

namespace occbench::commands {

/// The device of a run, and the parameters of its predictions.
struct Target {
  Device device;
  std::optional<ParameterFile> parameters;
};

/// By --device and --parameters. Throws UserError if there is none.
Target open_target(const RunOptions& o);

/// The same for --resume, by the env.json of its run, whose options replace those in `o`. Throws UserError
/// when this program or device is not the run's own.
Target resume_target(RunOptions& o, const nlohmann::json& env);

/// --require-quiet and --wait-quiet, before the device is touched: throws UserError(Exit::no_device) while
/// another process uses it.
void check_quiet(const RunOptions& o, const Device& device);
/// The same by the bandwidth of a copy, which also shows processes that the driver does not list.
void check_copy_bandwidth(const RunOptions& o, const Runner& runner);

/// The folder of the run, locked where the file system has locks.
RunFolder claim_folder(const RunOptions& o, const Device& device);

}  // namespace occbench::commands
