// SPDX-License-Identifier: Apache-2.0
// The record of a block's residency on an SM.
#pragma once

#include <cstdint>

namespace occbench {

/// Residency of one block, by the device's global timer in ns (32 ns steps on Hopper).
struct CensusRecord {
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t sm;
  std::uint32_t pad;
};

#ifdef __CUDACC__
namespace device {

__device__ __forceinline__ std::uint64_t global_timer_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
__device__ __forceinline__ std::uint32_t sm_index() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

}  // namespace device
#endif

}  // namespace occbench
