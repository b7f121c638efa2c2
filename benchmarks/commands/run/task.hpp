// SPDX-License-Identifier: Apache-2.0
// A task of a launcher (srun, mpirun, torchrun, Kubernetes): its GPU, and the folder of its run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "benchmarks/commands/run/options.hpp"

namespace occbench::commands {

/// By the environment of a launcher.
struct Task {
  int local_rank = 0;    ///< on this node, from 0
  std::string variable;  ///< that has it
};

using Variables = std::function<const char*(const char*)>;

/// The local rank that the innermost launcher gave: LOCAL_RANK (torchrun), OMPI_COMM_WORLD_LOCAL_RANK
/// (OpenMPI), MPI_LOCALRANKID (MPICH), SLURM_LOCALID (Slurm), or 0 with JOB_COMPLETION_INDEX, that of a
/// Kubernetes pod, which sees its own GPUs only. nullopt without any. Throws UserError(Exit::usage) for an
/// invalid rank.
std::optional<Task> task_of(const Variables& variable);

/// The node's name: SLURMD_NODENAME (Slurm), NODE_NAME (set by a pod's manifest), or the host's.
std::string node_name(const Variables& variable);

/// The index of the task's GPU among `visible` ones: its local rank, or 0 where the launcher shows it one
/// GPU. Throws UserError(Exit::no_device) where there is none for it.
int gpu_of_task(const Task& task, int visible, const Variables& variable);

/// `--task-device auto`: sets --device to the task's GPU, unless a model is asked for, and --output to
/// OUTPUT/NODE/UUID, or --resume where that holds a run already, of a requeued task. Throws UserError.
void resolve_task_device(RunOptions& o);

}  // namespace occbench::commands
