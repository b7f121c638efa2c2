// SPDX-License-Identifier: Apache-2.0
// Registers a __global__ function as a benchmark: docs/your-kernel.md.
//
//   const occbench::AddKernel saxpy_benchmark{
//       saxpy, {.name = "saxpy", .threads = n, .bytes = 12.0 * n}, [](occbench::Data& data) {
//         const auto x = data.input<float>(n);
//         const auto y = data.update<float>(n);
//         return [=](const occbench::LaunchConfig& c) {
//           saxpy<<<c.grid, c.block_size, c.dynamic_smem_bytes, c.stream>>>(n, 2.0F, x, y);
//         };
//       }};
//
// Compiled by nvcc. Includes only occbench headers of this folder.
#pragma once

#include <cuda_runtime.h>

#include <occbench/block_census.cuh>
#include <occbench/kernel_facts.hpp>
#include <utility>

namespace occbench {

/// Registers a __global__ function as a benchmark, before main. It gets the experiments NAME_warps
/// (resident blocks, limited by dynamic shared memory), NAME_block_size, NAME_carveout and, if its file is
/// also compiled under register caps (occbench_add_benchmark in CMake), NAME_registers.
class AddKernel {
 public:
  template <class... Parameters>
  AddKernel(void (*kernel)(Parameters...), KernelFacts facts, Setup setup) {
#ifdef OCCBENCH_MAXRREGCOUNT
    constexpr int cap = OCCBENCH_MAXRREGCOUNT;
#else
    constexpr int cap = 0;
#endif
    detail::add_kernel({reinterpret_cast<const void*>(kernel), cap, detail::set_census}, std::move(facts),
                       std::move(setup));
  }
};

/// A cooperative launch. All blocks must be resident at once, so set KernelFacts::waves = 1.
template <class... Parameters, class... Arguments>
void launch_cooperative(const LaunchConfig& c, void (*kernel)(Parameters...), Arguments&&... arguments) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = c.grid;
  config.blockDim = dim3(static_cast<unsigned>(c.block_size));
  config.dynamicSmemBytes = c.dynamic_smem_bytes;
  config.stream = c.stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  // Errors are reported by the cudaGetLastError after every launch.
  static_cast<void>(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

}  // namespace occbench
