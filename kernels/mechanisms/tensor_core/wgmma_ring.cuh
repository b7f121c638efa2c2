// SPDX-License-Identifier: Apache-2.0
// A ring of tiles in shared memory, which bulk copies fill, and the kernel whose producer fills it for two
// consumers.
#pragma once

#include "kernels/async_copy.cuh"
#include "kernels/mechanisms/tensor_core/wgmma_tiles.cuh"

namespace occbench::tensor_core {

/// Tiles of the ring for consumer warpgroup w of a block of class c; if B is resident, only its sign
/// changes.
__host__ __device__ constexpr int a_tile(int c, int w, int iteration) {
  return (c + 2 * w + iteration % 2) % a_tiles;
}
__host__ __device__ constexpr int b_tile(int c, int iteration, bool streamed) {
  if (!streamed) return c % b_tiles + sign_of(iteration) * b_tiles;
  return static_cast<int>(mix(static_cast<std::uint32_t>(iteration * classes + c)) % (2 * b_tiles));
}

constexpr int consumers = 2;  // 128 x 256 accumulators, half of the SM's registers

/// The values that a consumer updates beside its products: v = v x decay + iteration % 2.
__host__ __device__ constexpr float first_value(int i) { return static_cast<float>(i) / 64; }
constexpr float value_decay = 0.875F;

/// Tiles streamed per stage of a ring: a tile of B, the consumers' tiles of A, or both, with a full and an
/// empty barrier. Operands that are not streamed are resident: two tiles of A each, or both signs of B.
template <bool streams_a, bool streams_b>
struct Ring {
  static constexpr int stages = 4;
  static constexpr int copies = (streams_a ? consumers : 0) + (streams_b ? 1 : 0);
  static constexpr int stage_bytes = (streams_a ? consumers * a_bytes : 0) + (streams_b ? b_bytes : 0);
  static constexpr int resident_at = stages * stage_bytes;
  static constexpr int resident_bytes =
      (streams_a ? 0 : 2 * consumers * a_bytes) + (streams_b ? 0 : 2 * b_bytes);
  static constexpr int barriers_at = resident_at + resident_bytes;
  static constexpr std::size_t smem_bytes = barriers_at + (2 * stages + 1) * 8;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static __device__ __forceinline__ std::uint32_t base() { return device::shared_address(swizzled_tiles); }
  static __device__ __forceinline__ std::uint32_t full(int stage) { return base() + barriers_at + stage * 8; }
  static __device__ __forceinline__ std::uint32_t empty(int stage) { return full(stages + stage); }
  static __device__ __forceinline__ std::uint32_t resident() { return full(2 * stages); }
  static __device__ __forceinline__ std::uint32_t a_shared(int w, int iteration) {
    if constexpr (!streams_a) return base() + resident_at + (2 * w + iteration % 2) * a_bytes;
    return base() + iteration % stages * stage_bytes + w * a_bytes;
  }
  static __device__ __forceinline__ std::uint32_t b_shared(int iteration) {
    if constexpr (!streams_b) return base() + resident_at + sign_of(iteration) * b_bytes;
    return base() + iteration % stages * stage_bytes + (streams_a ? consumers * a_bytes : 0);
  }

  /// Initialises the barriers and starts the copies of resident tiles.
  static __device__ __forceinline__ void init(const Tiles& p, int c) {
    if (warp() == 0 && device::elected()) {
#pragma unroll
      for (int stage = 0; stage < stages; ++stage) {
        device::barrier_init(full(stage), 1);
        device::barrier_init(empty(stage), 4 * consumers);  // one lane of each warp
      }
      device::barrier_init(resident(), 1);
      device::fence_async_proxy();
      device::barrier_expect(resident(), resident_bytes);
      const auto keep = [&](int at, const std::uint16_t* tile, int bytes) {
        device::copy_async(base() + resident_at + at, tile, bytes, resident());
      };
      if constexpr (!streams_a) {
#pragma unroll
        for (int i = 0; i < 2 * consumers; ++i)
          keep(i * a_bytes, p.a + a_tile(c, i / 2, i % 2) * a_elements, a_bytes);
      }
      if constexpr (!streams_b) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
          keep(i * b_bytes, p.b + (c % b_tiles + i * b_tiles) * b_elements, b_bytes);
      }
    }
    __syncthreads();
  }
  static __device__ __forceinline__ void wait_resident() {
    if constexpr (resident_bytes > 0) device::barrier_wait(resident(), 0);
  }
  /// Starts the copies of one iteration into an empty stage.
  static __device__ __forceinline__ void fill(const Tiles& p, int c, int iteration) {
    const std::uint32_t barrier = full(iteration % stages);
    device::barrier_expect(barrier, stage_bytes);
    if constexpr (streams_b)
      device::copy_async(b_shared(iteration), p.b + b_tile(c, iteration, true) * b_elements, b_bytes,
                         barrier);
    if constexpr (streams_a) {
#pragma unroll
      for (int w = 0; w < consumers; ++w)
        device::copy_async(a_shared(w, iteration), p.a + a_tile(c, w, iteration) * a_elements, a_bytes,
                           barrier);
    }
  }
  static __device__ __forceinline__ void wait_full(int iteration) {
    device::barrier_wait(full(iteration % stages), iteration / stages % 2);
  }
  /// Starts the products of one iteration for consumer warpgroup w, once their tiles are there.
  static __device__ __forceinline__ void multiply(float (&d)[b_columns / 2], int w, int iteration) {
    wait_full(iteration);
    multiply_tiles<b_columns>(d, device::descriptor(a_shared(w, iteration)),
                              device::descriptor(b_shared(iteration)));
  }
  static __device__ __forceinline__ void wait_empty(int iteration) {
    device::barrier_wait(empty(iteration % stages),
                         iteration / stages % 2 ^ 1);  // at once in the first round
  }
#endif
};

/// Warpgroup 0 is the producer; setmaxnreg moves its unneeded registers to the consumers. Each consumer also
/// updates `values` floats per iteration, as attention updates its maxima and sums beside the products.
template <class Stream, int producer_registers, int consumer_registers, int values>
__device__ __forceinline__ void produce_and_consume([[maybe_unused]] const Tiles& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const int c = static_cast<int>(blockIdx.x) % classes;
  Stream::init(p, c);
  if (warpgroup() == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer_registers));
    if (warp() == 0 && device::elected()) {
#pragma unroll 1
      for (int iteration = 0; iteration < p.iterations; ++iteration) {
        Stream::wait_empty(iteration);
        Stream::fill(p, c, iteration);
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers));
    const int w = warpgroup() - 1;
    float d[b_columns / 2] = {};
    [[maybe_unused]] float value[values == 0 ? 1 : values];
#pragma unroll
    for (int i = 0; i < values; ++i) value[i] = first_value(i);
    Stream::wait_resident();
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      Stream::multiply(d, w, iteration);
      if constexpr (values > 0) {
        const auto step = static_cast<float>(iteration % 2);
#pragma unroll
        for (int i = 0; i < values; ++i) value[i] = fmaf(value[i], value_decay, step);
      }
      if (iteration > 0 && threadIdx.x % 32 == 0)
        device::barrier_arrive(Stream::empty((iteration - 1) % Stream::stages));
    }
    device::wgmma_wait<0>();
    if constexpr (values > 0) {
#pragma unroll
      for (int i = 0; i < b_columns / 2; ++i) d[i] += value[i % values];
    }
    store<b_columns>(p.output + (std::int64_t{blockIdx.x} * consumers + w) * a_rows * b_columns, d);
  }
  __syncthreads();  // thread 0 records the block's end, which must follow that of the consumers
#endif
}

constexpr int specialised_threads = 128 * (1 + consumers);

/// The accumulators of all block classes; each thread's also hold its `values`.
inline std::vector<double> ring_reference(bool streams_b, int iterations, int values = 0) {
  std::vector<double> sums = wgmma_reference(consumers, b_columns, [=](int c, int w, int a, int b) {
    double n = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      const int of_b = b_tile(c, iteration, streams_b);
      if (a == a_tile(c, w, iteration) && b == of_b % b_tiles) n += of_b < b_tiles ? 1 : -1;
    }
    return n;
  });
  if (values == 0) return sums;
  std::vector<double> value(static_cast<std::size_t>(values));
  for (int i = 0; i < values; ++i) {
    double& v = value[static_cast<std::size_t>(i)] = first_value(i);
    for (int iteration = 0; iteration < iterations; ++iteration) v = v * value_decay + iteration % 2;
  }
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const std::size_t row = at / b_columns % a_rows;
    const std::size_t column = at % b_columns;
    const std::size_t accumulator = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;  // as store() has them
    sums[at] += value[accumulator % value.size()];
  }
  return sums;
}

}  // namespace occbench::tensor_core
