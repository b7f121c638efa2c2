// SPDX-License-Identifier: Apache-2.0
// What the suite must be told of a user kernel: what it does, and how it is launched.
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

/// How a case wants to be launched. Hand all of it on, or the dials turn nothing.
struct LaunchConfig {
  dim3 grid;
  int block_size = 0;  ///< threads, in any shape: <<<c.grid, dim3(32, c.block_size / 32), ...>>>
  std::size_t dynamic_smem_bytes = 0;  ///< the kernel's own need and the ballast on top
  cudaStream_t stream = nullptr;
};

/// What a kernel is and does. One of `threads`, `grid` and `waves` says how many blocks it is launched with.
struct KernelFacts {
  std::string name;          ///< of its experiments, too: [A-Za-z0-9_=+-]
  std::string variant = {};  ///< of several under one name, template instances say: a curve each
  std::int64_t threads = 0;  ///< in the whole grid, in one dimension; the last block may have more
  std::function<dim3(int block_size)> grid = nullptr;  ///< blocks for a block size
  int waves = 0;     ///< times as many blocks as are resident at once: grid-stride loops, cooperative launch
  double bytes = 0;  ///< moved by one launch, at DRAM unless `ceiling` says otherwise
  double flop = 0;   ///< of one launch; an FMA is two
  double operations = 0;  ///< of one launch, anything else that is counted
  /// Threads per block that it may be launched with. The first is taken where another dial is turned; with
  /// one alone, the block size is no dial.
  std::vector<int> block_sizes = {256, 32, 64, 96, 128, 192, 384, 512, 768, 1024};
  std::function<std::size_t(int block_size)> dynamic_smem_bytes = nullptr;  ///< its own need; none
  /// What throughput is held against. Where nobody says: DRAM if there are bytes, FP32 if there are flop.
  std::optional<Ceiling> ceiling = {};
  L2 l2_before = L2::dirty;    ///< what a timed launch finds in the L2
  bool counts_blocks = false;  ///< its first line is a BlockCensus
};

/// Puts one launch into its stream.
using Launcher = std::function<void(const LaunchConfig&)>;
/// Asks for the data of a launch, and says how to make it.
using Setup = std::function<Launcher(Data&)>;

namespace detail {
struct Function {
  const void* entry;
  int register_cap;  ///< that its file was compiled under; 0: none
  void (*set_census)(CensusRecord* records, cudaStream_t stream);
};
void add_kernel(const Function& function, KernelFacts facts, Setup setup);
}  // namespace detail

}  // namespace occbench
