// SPDX-License-Identifier: Apache-2.0
// A run on several GPUs of one machine: a process for each, at the same time, and one summary.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/commands/run/options.hpp"
#include "harness/device/device.hpp"

namespace occbench::commands {

/// A device of `--device` with more than one: what its own process is told, and where it goes.
struct Place {
  std::string device;   ///< for its own --device
  std::string visible;  ///< for its CUDA_VISIBLE_DEVICES, of a MIG instance; else empty
  std::string label;    ///< in the summary
  std::string folder;   ///< of its own below --output
};

/// Whether `--device` asks for more than one: `all`, or a list with commas.
bool asks_for_several(const std::string& device);

/// One MIG instance by its UUID becomes the only GPU that this process sees. Call before any of CUDA.
void take_instance(RunOptions& o);

/// The devices of such a list. GPUs are looked up in `here`; models, and MIG instances by their UUID, which
/// one process sees one of, are taken as they are named. Throws UserError for one that is not there, and for
/// a GPU named twice.
std::vector<Place> places_of(const std::string& device, const std::vector<Device>& here);

/// The words of one place's process: those of this one, with its own --device and --output.
std::vector<std::string> words_for(const Place& place, const std::vector<std::string>& words,
                                   const std::string& output);

/// Runs a process for each, waits for all, and prints what each said, then a line for each. The exit code is
/// the largest of theirs; one that fails ends no other. Throws UserError.
int run_on_each(const RunOptions& o);

}  // namespace occbench::commands
