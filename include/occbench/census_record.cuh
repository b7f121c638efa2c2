// SPDX-License-Identifier: Apache-2.0
// What a block notes of its stay on an SM.
#pragma once

#include <cstdint>

namespace occbench {

/// One block's stay: device global timer in ns (32 ns steps on Hopper), SM index.
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
