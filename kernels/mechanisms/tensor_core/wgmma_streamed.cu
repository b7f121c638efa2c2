// SPDX-License-Identifier: Apache-2.0
// Shows: operands streamed through shared memory, by a producer warpgroup or by the consumers themselves.
// Expected: one producer warpgroup for two consumers reaches the peak.
// Found: H200: 99 % of the ceiling at the SM's momentary clock, as with resident tiles.
// Published: Shah et al., 'FlashAttention-3' (2024), for the warp-specialised form.
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
  static __device__ __forceinline__ void wait_empty(int iteration) {
    device::barrier_wait(empty(iteration % stages),
                         iteration / stages % 2 ^ 1);  // at once in the first round
  }
#endif
};

/// Warpgroup 0 is the producer; setmaxnreg moves its unneeded registers to the consumers.
template <class Stream>
struct Specialised {
  using Parameters = Tiles;
  static constexpr int threads = 128 * (1 + consumers);
  // 65,536 registers are 512 per thread of a warpgroup, divided in multiples of 8.
  static constexpr int producer_registers = 40;
  static constexpr int consumer_registers = 232;
  static_assert(producer_registers + consumers * consumer_registers <= 512);

  static __device__ void run([[maybe_unused]] const Parameters& p) {
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
      Stream::wait_resident();
#pragma unroll 1
      for (int iteration = 0; iteration < p.iterations; ++iteration) {
        Stream::wait_full(iteration);
        multiply_tiles<b_columns>(d, device::descriptor(Stream::a_shared(w, iteration)),
                                  device::descriptor(Stream::b_shared(iteration)));
        if (iteration > 0 && threadIdx.x % 32 == 0)
          device::barrier_arrive(Stream::empty((iteration - 1) % Stream::stages));
      }
      device::wgmma_wait<0>();
      store<b_columns>(p.output + (std::int64_t{blockIdx.x} * consumers + w) * a_rows * b_columns, d);
    }
    __syncthreads();  // thread 0 records the block's end, which must follow that of the consumers
#endif
  }
};

/// The same work without a producer: a block-wide barrier allows a stage to be refilled.
template <class Stream>
struct Pipelined {
  using Parameters = Tiles;
  static constexpr int threads = 128 * consumers;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const int c = static_cast<int>(blockIdx.x) % classes;
    const int w = warpgroup();
    Stream::init(p, c);
    if (warp() == 0 && device::elected()) {
#pragma unroll
      for (int iteration = 0; iteration < Stream::stages; ++iteration)
        if (iteration < p.iterations) Stream::fill(p, c, iteration);
    }
    float d[b_columns / 2] = {};
    Stream::wait_resident();
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      Stream::wait_full(iteration);
      multiply_tiles<b_columns>(d, device::descriptor(Stream::a_shared(w, iteration)),
                                device::descriptor(Stream::b_shared(iteration)));
      __syncthreads();  // the last iteration's stage is no longer read
      const int next = iteration - 1 + Stream::stages;
      if (warp() == 0 && iteration > 0 && next < p.iterations && device::elected()) Stream::fill(p, c, next);
    }
    device::wgmma_wait<0>();
    store<b_columns>(p.output + (std::int64_t{blockIdx.x} * consumers + w) * a_rows * b_columns, d);
#endif
  }
};

namespace {

std::vector<double> ring_reference(bool streams_b, int iterations) {
  return wgmma_reference(consumers, b_columns, [=](int c, int w, int a, int b) {
    double n = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      const int of_b = b_tile(c, iteration, streams_b);
      if (a == a_tile(c, w, iteration) && b == of_b % b_tiles) n += of_b < b_tiles ? 1 : -1;
    }
    return n;
  });
}

template <bool streams_a, bool streams_b>
void add_streamed() {
  using Stream = Ring<streams_a, streams_b>;
  const std::string form = std::string("-") + (streams_a ? "a" : "") + (streams_b ? "b" : "");
  const auto add = [&](Form f) {
    f.name += form;
    f.stages = Stream::stages;
    f.bytes_in_flight = Stream::stages * Stream::stage_bytes;
    f.warpgroups = consumers;
    f.columns = b_columns;
    f.check_iterations = 2 * Stream::stages + 3;  // uses every stage more than twice
    f.smem_bytes = Stream::smem_bytes;
    f.reference = [](int iterations) { return ring_reference(streams_b, iterations); };
    add_wgmma(f);
  };
  using Producer = Specialised<Stream>;
  add({.name = "wgmma-specialised",
       .form = "wgmma-specialised",
       .block_size = Producer::threads,
       .instructions = {{"HGMMA", wgmma_per_iteration}, {"UBLKCP", Stream::copies}},
       .hot_loops = 2,
       .loop_trips = streams_a && streams_b ? std::vector<double>{0, 1, 0, 0, 0}
                                            : std::vector<double>{0, 1, 0, 0, 0, 0},  // the consumers'
       .working_warps = [](int) { return 4 * consumers; },
       .promised_threads = Producer::threads,
       .entry = reinterpret_cast<const void*>(bounded_entry<Producer, Producer::threads, 1>)});
  using Everyone = Pipelined<Stream>;
  add({.name = "wgmma-pipelined",
       .form = "wgmma-pipelined",
       .block_size = Everyone::threads,
       .instructions = {{"HGMMA", wgmma_per_iteration}, {"UBLKCP", Stream::copies}, {"BAR", 1}},
       .entry = reinterpret_cast<const void*>(free_entry<Everyone>)});
}

const Registration wgmma_streamed_kernels{[] {
  add_streamed<true, false>();
  add_streamed<false, true>();
  add_streamed<true, true>();
}};

}  // namespace

}  // namespace occbench::tensor_core
