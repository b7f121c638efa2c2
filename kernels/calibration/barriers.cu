// SPDX-License-Identifier: Apache-2.0
// Shows: the cost of a barrier per warp, alone and on a full SM, with the thread count as a constant or in a
//   register.
// Expected: about 20 cycles alone; on a full SM arrivals are serialised.
// Published: Wong et al. (ISPASS 2010).
#include <type_traits>

#include "kernels/calibration/calibration.cuh"

namespace occbench::calibration {

/// One FMA and `count` adjacent barriers per iteration.
template <int count>
struct Barrier {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x = chain_start(index, 0);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      x = fmaf(-x, x, drift);
#pragma unroll
      for (int i = 0; i < count; ++i) asm volatile("bar.sync 0;" ::: "memory");
    }
    p.output[index] = x;
  }
};

/// The same with the thread count (all threads of the block) in a register.
template <int count>
struct CountedBarrier {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const auto threads = static_cast<int>(blockDim.x);
    float x = chain_start(index, 0);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      x = fmaf(-x, x, drift);
#pragma unroll
      for (int i = 0; i < count; ++i) asm volatile("bar.sync 0, %0;" ::"r"(threads) : "memory");
    }
    p.output[index] = x;
  }
};

namespace {

template <int count, bool counted>
void add_barrier() {
  using Body = std::conditional_t<counted, CountedBarrier<count>, Barrier<count>>;
  add({.name = (counted ? "barrier-counted-" : "barrier-") + std::to_string(count),
       .iteration = {.latency_cycles = 15 + 20.0 * count, .pipe_cycles_per_warp = 2.0 * count},
       .instructions = {{"BAR", count}, {"FFMA", 1}},
       .operations = count,
       .reference =
           [](const float*, int iterations) {
             return of_each_lane([=](int thread) { return chain_after(thread, 0, iterations); });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

const Registration registered{[] {
  add_barrier<2, false>();
  add_barrier<8, false>();
  add_barrier<2, true>();
  add_barrier<8, true>();
}};

}  // namespace

}  // namespace occbench::calibration
