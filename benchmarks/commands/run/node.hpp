// SPDX-License-Identifier: Apache-2.0
// A run on several GPUs of one machine: a concurrent process for each, and one summary.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/commands/run/options.hpp"
#include "harness/device/device.hpp"

namespace occbench::commands {

/// One of several devices of `--device`: the options of its process.
struct DeviceRun {
  std::string device;   ///< --device
  std::string visible;  ///< CUDA_VISIBLE_DEVICES, for a MIG instance; else empty
  std::string label;    ///< in the summary
  std::string folder;   ///< below --output
};

/// Whether `--device` asks for more than one: `all`, or a list with commas.
bool asks_for_several(const std::string& device);

/// Where --device is one MIG instance's UUID, makes it the only GPU that this process sees. Call before CUDA.
void select_mig_instance(RunOptions& o);

/// The devices of such a list. GPUs are looked up in `here`; models are not, nor are MIG instances, of which
/// a process sees one. Throws UserError for a GPU that is not there or named twice.
std::vector<DeviceRun> device_runs(const std::string& device, const std::vector<Device>& here);

/// The arguments of its process: those of this one, with its own --device and --output.
std::vector<std::string> arguments_for(const DeviceRun& run, const std::vector<std::string>& arguments,
                                       const std::string& output);

/// Starts a process for each device, waits for all, and prints the output of each, then a line for each. The
/// exit code is the largest of theirs; one that fails does not end the others. Throws UserError.
int run_on_each(const RunOptions& o);

}  // namespace occbench::commands
