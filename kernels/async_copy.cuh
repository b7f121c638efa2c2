// SPDX-License-Identifier: Apache-2.0
// Copies into shared memory by the copy engine (the Tensor Memory Accelerator), and the mbarriers that count
// them in.
#pragma once

#include <cstdint>

namespace occbench::device {

#if __CUDA_ARCH__ >= 900

// Barriers and destinations are given by their address in shared memory.

/// A phase of the barrier ends when `arrivals` have come and all bytes that they announced.
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and announces `bytes` that copies will bring.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits for the end of the phase of this parity; the phases' parities are 0, 1, 0, 1 ... To wait for 1 first
/// is not to wait.
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

/// Orders what came before against the copy engine, which reaches shared memory by another way (proxy) than
/// threads do: initialised barriers are known to it after, and its copies do not overtake reads of what they
/// overwrite.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// True in one lane of a whole warp: the compiler then knows that one thread copies, and issues a copy once
/// where it would otherwise loop over the lanes.
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

// The block's own shared memory as a copy's destination. CUDA 12.4 has no word but the cluster's: the same on
// cc 9.0, but on cc 12.0 compiled to a check and a call around each copy.
#if __CUDA_ARCH__ >= 1000
#define OCCBENCH_OWN_SHARED "shared::cta"
#else
#define OCCBENCH_OWN_SHARED "shared::cluster"
#endif

/// Starts to copy `bytes` of global memory, which the barrier will count in.
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
