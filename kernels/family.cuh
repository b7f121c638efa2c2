// SPDX-License-Identifier: Apache-2.0
// How a kernel family becomes variants: three entry templates around one Body, one per way to govern
// registers, and what every variant shares.
//
// A Body is a struct at namespace scope with
//   struct Parameters { ... };                                  trivially copyable, the kernel's argument
//   static __device__ void run(const Parameters& p);            what one thread does
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

/// Set by the build for the objects that are compiled again under -maxrregcount=N; 0 elsewhere.
#ifdef OCCBENCH_MAXRREGCOUNT
inline constexpr int compiled_register_cap = OCCBENCH_MAXRREGCOUNT;
#else
inline constexpr int compiled_register_cap = 0;
#endif

// The cap of the compilation is a template argument, so that the same Body compiled under two caps has two
// names: a toolkit whose host stubs are weak symbols would bind both to one.
template <class Body, int CompiledCap = compiled_register_cap>
__global__ void free_entry(typename Body::Parameters p, Census census) {
  device::census_begin(census);
  Body::run(p);
  device::census_end(census);
}

// Threads that an SM of the architecture being compiled for can hold (CUDA C++ Programming Guide, 'Technical
// Specifications'): __launch_bounds__ that asks for more is ignored, with a warning.
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

/// This thread's index in the grid, and the number of threads in it. 64 bits: arrays exceed 2^31 elements.
__device__ __forceinline__ std::int64_t thread_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t thread_count() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Where something in this block's shared memory is, in the form that PTX instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

}  // namespace device

/// Problem::poison of a family that puts out one T per thread.
template <class T>
std::function<void()> poison_one_per_thread(Arena& arena, const Shape& shape) {
  return
      [&arena, bytes = static_cast<std::size_t>(shape.threads()) * sizeof(T)] { arena.poison_output(bytes); };
}

/// What a family's reference needs of a row, computed when the first of its outputs is asked for: once by
/// each thread that asks for neighbours one after the other.
template <class Compute>
class OncePerRow {
 public:
  explicit OncePerRow(Compute compute) : compute_(std::move(compute)) {}
  const auto& operator()(std::size_t row) const {
    struct Last {
      std::uint64_t of = 0;
      std::size_t row = 0;
      std::invoke_result_t<Compute, std::size_t> value = {};
    };
    thread_local Last last;
    if (last.of != id_ || last.row != row) last = {id_, row, compute_(row)};
    return last.value;
  }

 private:
  Compute compute_;
  std::uint64_t id_ = unused_id();
};

/// Calls f(std::integral_constant<int, values>)... in order: a compile-time dial.
template <int... values, class F>
void for_each_value(F f) {
  (f(std::integral_constant<int, values>{}), ...);
}

}  // namespace occbench
