// SPDX-License-Identifier: Apache-2.0
// A process that a launcher started beside others on a node: which GPU is its own, and where its run goes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "benchmarks/commands/run/options.hpp"

namespace occbench::commands {

/// What a launcher says of a process.
struct Task {
  int local_rank = 0;    ///< counted on this node, from 0
  std::string variable;  ///< of the environment, that said so
};

using Variables = std::function<const char*(const char*)>;

/// The local rank that the innermost launcher gave: LOCAL_RANK (torchrun), OMPI_COMM_WORLD_LOCAL_RANK
/// (OpenMPI), MPI_LOCALRANKID (MPICH), SLURM_LOCALID (Slurm), or 0 where JOB_COMPLETION_INDEX says that this
/// is a Kubernetes pod, which sees its own GPUs alone. nullopt without any. Throws UserError(Exit::usage) for
/// what is no rank.
std::optional<Task> task_of(const Variables& variable);

/// The node's name: SLURMD_NODENAME (Slurm), NODE_NAME (a pod that its manifest tells), or the host's own.
std::string node_name(const Variables& variable);

/// The index of the task's GPU among `visible` ones. One that a launcher bound to the task alone is its own,
/// whatever its rank. Throws UserError(Exit::no_device) where there is none for it.
int gpu_of_task(const Task& task, int visible, const Variables& variable);

/// `--task-device auto`: sets --device to the task's GPU, unless a model is asked for, and --output to
/// OUTPUT/NODE/UUID, or --resume where that holds a run already: a requeued task goes on. Throws UserError.
void take_task_device(RunOptions& o);

}  // namespace occbench::commands
