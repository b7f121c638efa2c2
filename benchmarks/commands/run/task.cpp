// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/run/task.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "harness/device/device.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"
#include "harness/record/record.hpp"

namespace occbench::commands {

namespace {

namespace fs = std::filesystem;

// Innermost first: mpirun and torchrun run inside Slurm allocations, whose variables they inherit.
constexpr auto launchers = std::to_array<const char*>(
    {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
constexpr auto pod = "JOB_COMPLETION_INDEX";
// Set by launchers per task; NVIDIA_VISIBLE_DEVICES is per container.
constexpr auto visible_to_task = "CUDA_VISIBLE_DEVICES";

int rank_in(std::string_view text, const std::string& variable) {
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0)
    throw UserError(Exit::usage, variable + "='" + std::string(text) +
                                     "' is not a local rank; unset it, or name a GPU with --device");
  return rank;
}

/// As one component of a path, whatever the environment holds.
std::string as_folder(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\0') c = '-';
  return name.empty() || name == "." || name == ".." ? "unknown" : name;
}

}  // namespace

std::optional<Task> task_of(const Variables& variable) {
  for (const char* const name : launchers)
    if (const char* const value = variable(name)) return Task{rank_in(value, name), name};
  if (variable(pod) != nullptr) return Task{0, pod};
  return std::nullopt;
}

std::string node_name(const Variables& variable) {
  for (const char* const name : {"SLURMD_NODENAME", "NODE_NAME"})
    if (const char* const value = variable(name); value != nullptr && *value != '\0') return as_folder(value);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return as_folder(host.data());
}

int gpu_of_task(const Task& task, int visible, const Variables& variable) {
  const char* const bound = variable(visible_to_task);
  if (visible == 1 && bound != nullptr && std::string_view(bound).find(',') == std::string_view::npos)
    return 0;
  if (task.local_rank < visible) return task.local_rank;
  throw UserError(Exit::no_device, "no GPU for local rank " + std::to_string(task.local_rank) + " (" +
                                       task.variable + ") on " + node_name(variable) + ", which has " +
                                       std::to_string(visible) + "; start at most as many tasks a node");
}

void resolve_task_device(RunOptions& o) {
  const Variables variable = [](const char* name) -> const char* { return std::getenv(name); };
  const auto task = task_of(variable);
  if (!task)
    throw UserError(Exit::usage,
                    "--task-device: no launcher set a local rank; start it with srun, mpirun or "
                    "torchrun, or name a GPU with --device");
  const bool is_model = o.device.starts_with("model:");
  std::string card;
  if (is_model) {
    // A model has no UUID: the folders of a node's tasks differ by rank.
    card = "model-" + model_of(o.device)->catalogue_name + "-" + std::to_string(task->local_rank);
  } else if (o.device.empty()) {
    std::string why_none;
    const auto devices = enumerate_devices(&why_none);
    if (devices.empty())
      throw UserError(Exit::no_device, "local rank " + std::to_string(task->local_rank) + " on " +
                                           node_name(variable) + " has no GPU: " + why_none);
    const Device& own =
        devices[static_cast<std::size_t>(gpu_of_task(*task, static_cast<int>(devices.size()), variable))];
    o.device = std::to_string(own.index);
    card = own.uuid;
  } else {
    throw UserError(Exit::usage,
                    "--task-device uses the task's own GPU; --device may only name a model with it");
  }
  const fs::path folder =
      fs::path(o.output.empty() ? "results/fleet" : o.output) / node_name(variable) / as_folder(card);
  if (!fs::exists(folder / "env.json")) {
    o.output = folder.string();
    return;
  }
  const std::string begun = Recorder::environment_of(folder).value("preset", "");
  if (begun != o.preset)
    throw UserError(Exit::usage, folder.string() + " holds a run of preset " + begun + ", and not " +
                                     o.preset + "; name another --output");
  o.resume = folder.string();
  o.output.clear();
  if (is_model) o.device.clear();  // --resume has it
}

}  // namespace occbench::commands
