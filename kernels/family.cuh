// SPDX-License-Identifier: Apache-2.0
// How a kernel family becomes variants: entry templates around one Body, and code that variants share. Of
// the four register routes, free_entry serves two (the compiler's choice, and -maxrregcount if its file is
// compiled under one), bounded_entry serves __launch_bounds__ and capped_entry serves __maxnreg__.
//
// A Body is a struct at namespace scope with
//   struct Parameters { ... };                            trivially copyable, the kernel's argument
//   static __device__ void run(const Parameters& p);      the code of one thread
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/census.cuh"
#include "harness/device/kernel.hpp"

namespace occbench {

/// N in objects compiled under -maxrregcount=N; 0 elsewhere.
#ifdef OCCBENCH_MAXRREGCOUNT
inline constexpr int compiled_register_cap = OCCBENCH_MAXRREGCOUNT;
#else
inline constexpr int compiled_register_cap = 0;
#endif

// CompiledCap gives a Body compiled under two caps two symbol names: host stubs are weak in some toolkits,
// and equal names would be merged.
template <class Body, int CompiledCap = compiled_register_cap>
__global__ void free_entry(typename Body::Parameters p, Census census) {
  device::census_begin(census);
  Body::run(p);
  device::census_end(census);
}

// Threads per SM of the target architecture (CUDA C++ Programming Guide, 'Technical Specifications'). nvcc
// warns about __launch_bounds__ that ask for more, and ignores them.
#if !defined(__CUDA_ARCH__)
#define OCCBENCH_THREADS_PER_SM 2048
#elif __CUDA_ARCH__ == 750
#define OCCBENCH_THREADS_PER_SM 1024
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define OCCBENCH_THREADS_PER_SM 1536
#else
#define OCCBENCH_THREADS_PER_SM 2048
#endif

template <class Body, int MaxThreads, int MinBlocks>
__global__ void __launch_bounds__(MaxThreads,
                                  MaxThreads* MinBlocks <= OCCBENCH_THREADS_PER_SM ? MinBlocks : 1)
    bounded_entry(typename Body::Parameters p, Census census) {
  device::census_begin(census);
  Body::run(p);
  device::census_end(census);
}

template <class Body, int Registers>
__global__ void __maxnreg__(Registers) capped_entry(typename Body::Parameters p, Census census) {
  device::census_begin(census);
  Body::run(p);
  device::census_end(census);
}

namespace device {

/// This thread's index in the grid, and the grid's number of threads. 64 bits: arrays exceed 2^31 elements.
__device__ __forceinline__ std::int64_t thread_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t thread_count() { return std::int64_t{gridDim.x} * blockDim.x; }

/// A shared-memory address in the form that PTX instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

}  // namespace device

/// Host stub of a kernel, with its cap by __maxnreg__; 0: the compiler chooses the registers.
struct Entry {
  const void* function = nullptr;
  int register_cap = 0;

  /// Adds a variant with this entry. Its name becomes its series, and the cap is appended to the name.
  void add(Variant variant) const {
    variant.series = variant.name;
    if (register_cap > 0) {
      variant.name += "-maxnreg" + std::to_string(register_cap);
      variant.dials.route = RegisterRoute::maxnreg;
      variant.dials.register_cap = register_cap;
    }
    variant.entry = function;
    add_variant(std::move(variant));
  }
};

template <class Body, int cap = 0>
Entry entry_of() {
  if constexpr (cap > 0)
    return {reinterpret_cast<const void*>(capped_entry<Body, cap>), cap};
  else
    return {reinterpret_cast<const void*>(free_entry<Body>)};
}

/// A launch that writes `output_bytes` and is checked by mismatch().
template <class Parameters, class Mismatch>
Problem problem_of(Arena& arena, const Parameters& parameters, const Work& work, std::size_t output_bytes,
                   Mismatch mismatch) {
  Problem problem;
  problem.set_parameters(parameters);
  problem.work = work;
  problem.poison = [=, &arena] { arena.poison_output(output_bytes); };
  problem.mismatch = std::move(mismatch);
  return problem;
}

/// A launch that writes `count` elements of T, each within `tolerance` of `expected(i)` as first_mismatch()
/// compares them. The reference must reach the iterations of timed launches.
template <class T, class Parameters, class Expected>
Problem problem_of(Arena& arena, const Parameters& parameters, const Work& work, std::size_t count,
                   double tolerance, Expected expected) {
  Problem problem = problem_of(arena, parameters, work, count * sizeof(T),
                               [=, &arena] { return arena.first_mismatch<T>(count, tolerance, expected); });
  problem.reference_covers_timed = true;
  return problem;
}

/// Variant::max_iterations of a family that writes one T per thread: `limit`; 0 if the output is too small.
template <class T>
auto unless_too_many_threads(std::int64_t limit = std::int64_t{1} << 30) {
  return [limit](const Arena& arena, const Shape& shape) {
    return static_cast<std::size_t>(shape.threads()) * sizeof(T) <= arena.output_bytes() ? limit : 0;
  };
}

/// Problem::poison of a family that writes one T per thread.
template <class T>
std::function<void()> poison_one_per_thread(Arena& arena, const Shape& shape) {
  return
      [&arena, bytes = static_cast<std::size_t>(shape.threads()) * sizeof(T)] { arena.poison_output(bytes); };
}

/// Caches a value that the reference computes per row, for the row last used by each thread.
template <class Compute>
class OncePerRow {
 public:
  explicit OncePerRow(Compute compute) : compute_(std::move(compute)) {}
  const auto& operator()(std::size_t row) const {
    struct Last {
      std::uint64_t id = 0;
      std::size_t row = 0;
      std::invoke_result_t<Compute, std::size_t> value = {};
    };
    thread_local Last last;
    if (last.id != id_ || last.row != row) last = {id_, row, compute_(row)};
    return last.value;
  }

 private:
  Compute compute_;
  std::uint64_t id_ = next_id();
};

/// Calls f(std::integral_constant<int, value>()) for each value in order: a compile-time dial.
template <int... values, class F>
void for_each_value(F f) {
  (f(std::integral_constant<int, values>{}), ...);
}

}  // namespace occbench
