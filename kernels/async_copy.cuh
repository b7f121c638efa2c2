// SPDX-License-Identifier: Apache-2.0
// Bulk copies to shared memory by the Tensor Memory Accelerator (TMA), and the mbarriers that track them.
#pragma once

#include <cstdint>

namespace occbench::device {

#if __CUDA_ARCH__ >= 900

// Barriers and destinations are shared-memory addresses.

/// A phase of the barrier completes after `arrivals` arrivals and all bytes that they expect.
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and adds `bytes` of copies that the phase waits for.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits for completion of the phase with this parity: 0, 1, 0, 1 ... Waiting for 1 before the first phase
/// returns at once.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  do {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

/// Orders earlier accesses against the async proxy of the TMA: it then sees initialised barriers, and its
/// copies do not overtake reads of the data they overwrite.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// True in one lane of a full warp. It tells the compiler that one thread copies; otherwise it loops over
/// the lanes.
__device__ __forceinline__ bool elected() {
  std::uint32_t one = 0;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xFFFFFFFF;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(one));
  return one != 0;
}

// State space of the destination. CUDA 12.4 only has shared::cluster: equivalent on cc 9.0, but on cc 12.0
// it compiles to a check and a call around each copy.
#if __CUDA_ARCH__ >= 1000
#define OCCBENCH_OWN_SHARED "shared::cta"
#else
#define OCCBENCH_OWN_SHARED "shared::cluster"
#endif

/// Starts to copy `bytes` of global memory; the barrier tracks completion.
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from, std::uint32_t bytes,
                                           std::uint32_t barrier) {
  asm volatile("cp.async.bulk." OCCBENCH_OWN_SHARED
               ".global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

#undef OCCBENCH_OWN_SHARED

#endif

}  // namespace occbench::device
