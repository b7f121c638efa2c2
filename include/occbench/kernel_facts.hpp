// SPDX-License-Identifier: Apache-2.0
// Properties of a user kernel: its work and its launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <occbench/census_record.cuh>
#include <occbench/data.hpp>
#include <occbench/kinds.hpp>
#include <optional>
#include <string>
#include <vector>

namespace occbench {

/// Launch parameters of a case. Pass all of them to the launch, or the dials have no effect.
struct LaunchConfig {
  dim3 grid;
  int block_size = 0;  ///< threads, in any shape: <<<c.grid, dim3(32, c.block_size / 32), ...>>>
  std::size_t dynamic_smem_bytes = 0;  ///< the kernel's own plus ballast
  cudaStream_t stream = nullptr;
};

/// Properties of a kernel. One of `threads`, `grid` and `waves` sets the grid size.
struct KernelFacts {
  std::string name;  ///< also of its experiments: [A-Za-z0-9_=+-]
  std::string variant =
      {};  ///< distinguishes several kernels of one name, for example template instances; a curve each
  std::int64_t threads = 0;  ///< of a one-dimensional grid, rounded up to whole blocks
  std::function<dim3(int block_size)> grid = nullptr;  ///< blocks for a block size
  int waves = 0;  ///< grid size in waves of resident blocks: for grid-stride loops and cooperative launches
  double bytes = 0;       ///< moved per launch, by DRAM unless `ceiling` names another level
  double flop = 0;        ///< per launch; an FMA counts as two
  double operations = 0;  ///< per launch, anything else
  /// Valid block sizes. The first is used while another dial varies; with a single one, block size is no
  /// dial.
  std::vector<int> block_sizes = {256, 32, 64, 96, 128, 192, 384, 512, 768, 1024};
  std::function<std::size_t(int block_size)> dynamic_smem_bytes =
      nullptr;  ///< needed by the kernel itself; default 0
  /// Compared with throughput. Default: DRAM if `bytes` is set, FP32 if `flop` is set.
  std::optional<Ceiling> ceiling = {};
  L2 l2_before = L2::dirty;    ///< state of the L2 before a timed launch
  bool counts_blocks = false;  ///< the kernel begins with a BlockCensus
};

/// Launches the kernel in the given stream.
using Launcher = std::function<void(const LaunchConfig&)>;
/// Allocates the data of a launch and returns its launcher.
using Setup = std::function<Launcher(Data&)>;

namespace detail {
struct Function {
  const void* entry;
  int register_cap;  ///< of its compilation (-maxrregcount); 0: none
  void (*set_census)(CensusRecord* records, cudaStream_t stream);
};
void add_kernel(const Function& function, KernelFacts facts, Setup setup);
}  // namespace detail

}  // namespace occbench
