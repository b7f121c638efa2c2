// SPDX-License-Identifier: Apache-2.0
// Family `launch_bounds_roulette`: three typical kernels under every register dial of CUDA; most caps make
// them spill. Each kernel has a file of its own; this one has the dials.
// Expected: a cap just below need may pay if there are loads to hide. Each further step adds spills to every
//   iteration: most to the gemm, which uses all sums in every step, fewest to the hash, whose memory pipe is
//   idle.
// Published: CUDA C++ Programming Guide, 'Launch Bounds'; PTX ISA 9.0, .pragma "enable_smem_spilling".
#pragma once

#include <algorithm>
#include <string>

#include "kernels/family.cuh"

namespace occbench::launch_bounds_roulette {

template <class T>
struct Arguments {
  const T* input;
  T* output;
  int iterations;
};

/// Parameters of a launch, with the input as T.
template <class T>
Arguments<T> arguments(Arena& arena, std::int64_t iterations) {
  return {reinterpret_cast<const T*>(arena.input<float>()), arena.output<T>(), static_cast<int>(iterations)};
}

/// The same with spills to shared memory first, then local memory (CUDA 13), which requires launch bounds.
template <class Body>
struct SpillToShared {
  using Parameters = typename Body::Parameters;
  static __device__ void run(const Parameters& p) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    Body::run(p);
  }
};

// A Kernel has Body, describe(), and `touches`: loads and stores per iteration of a spilled value, which
// only sizes the work.

constexpr int usual_block = 256;

template <class Kernel, int threads>
Variant variant(const std::string& dial, RegisterRoute route, int cap, const void* entry) {
  Variant v = Kernel::template describe<threads>();
  v.family = "launch_bounds_roulette";
  v.name = v.series + "-" + dial;
  v.form = v.series;
  v.dials.route = route;
  v.dials.register_cap = cap;
  v.may_spill = cap != 0;
  if (cap != 0)
    v.iteration.pipe_cycles_per_warp += 4.0 * (Kernel::touches - 1) * std::max(0, v.dials.live_values - cap);
  v.entry = entry;
  return v;
}

template <class Kernel, class Body, int threads, int blocks>
Variant bounded(const std::string& suffix = "") {
  Variant v = variant<Kernel, threads>(
      "bounds" + std::to_string(threads) + "x" + std::to_string(blocks) + suffix,
      RegisterRoute::launch_bounds, std::min(255, 65536 / (threads * blocks) / 8 * 8),
      reinterpret_cast<const void*>(bounded_entry<Body, threads, blocks>));
  v.launch_bounds_threads = threads * blocks;
  v.fixed_block_size = threads;
  return v;
}

template <class Kernel, int threads, int... blocks>
void add_bounded() {
  (add_variant(bounded<Kernel, typename Kernel::template Body<threads>, threads, blocks>()), ...);
}

/// Spilling to shared memory first; ptxas decides how much.
template <class Kernel, int blocks>
void add_spilling_to_shared() {
#if __CUDACC_VER_MAJOR__ >= 13
  using Body = typename Kernel::template Body<usual_block>;
  Variant v = bounded<Kernel, SpillToShared<Body>, usual_block, blocks>("-smemspill");
  v.form += "-smemspill";
  v.baseline = v.name.substr(0, v.name.rfind('-'));
  v.spills_to_shared = true;
  add_variant(std::move(v));
#endif
}

template <class Kernel, int compiled_cap>
void add_every_dial() {
  using Body = typename Kernel::template Body<usual_block>;
  if constexpr (compiled_cap != 0) {
    add_variant(variant<Kernel, usual_block>("maxrregcount" + std::to_string(compiled_cap),
                                             RegisterRoute::maxrregcount, compiled_cap,
                                             reinterpret_cast<const void*>(free_entry<Body>)));
  } else {
    add_variant(variant<Kernel, usual_block>("free", RegisterRoute::free, 0,
                                             reinterpret_cast<const void*>(free_entry<Body>)));
    for_each_value<32, 40, 48, 56, 64, 72, 80, 96, 128>([]<int cap>(std::integral_constant<int, cap>) {
      add_variant(variant<Kernel, usual_block>("maxnreg" + std::to_string(cap), RegisterRoute::maxnreg, cap,
                                               reinterpret_cast<const void*>(capped_entry<Body, cap>)));
    });
    add_bounded<Kernel, 128, 4, 8, 16>();
    add_bounded<Kernel, 256, 1, 2, 3, 4, 5, 6, 8>();
    add_bounded<Kernel, 512, 2, 4>();
    add_bounded<Kernel, 1024, 1, 2>();
  }
}

/// Adds a kernel's variants. `spilling`: blocks per SM of those that spill to shared memory first. A
/// template, so that objects compiled under a cap only contain their own kernels.
template <class Kernel, int compiled_cap, int... spilling>
void define() {
  add_every_dial<Kernel, compiled_cap>();
  if constexpr (compiled_cap == 0) (add_spilling_to_shared<Kernel, spilling>(), ...);
}

}  // namespace occbench::launch_bounds_roulette
