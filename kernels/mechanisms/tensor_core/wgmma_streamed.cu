// SPDX-License-Identifier: Apache-2.0
// Shows: operands streamed through shared memory, by a producer warpgroup or by the consumers themselves.
// Expected: one producer warpgroup for two consumers reaches the peak.
// Found: H200: 98-99 % of the ceiling at the SM's momentary clock, as with resident tiles; 1.66-1.76 GHz.
// Published: Shah et al., 'FlashAttention-3' (2024), for the warp-specialised form.
#include "kernels/mechanisms/tensor_core/wgmma_ring.cuh"

namespace occbench::tensor_core {

template <class Stream>
struct Specialised {
  using Parameters = Tiles;
  static __device__ void run(const Parameters& p) { produce_and_consume<Stream, 40, 232, 0>(p); }
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
      Stream::multiply(d, w, iteration);
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
       .block_size = specialised_threads,
       .instructions = {{"HGMMA", wgmma_per_iteration}, {"UBLKCP", Stream::copies}},
       .hot_loops = 2,
       .loop_trips = streams_a && streams_b ? std::vector<double>{0, 1, 0, 0, 0}
                                            : std::vector<double>{0, 1, 0, 0, 0, 0},  // the consumers'
       .working_warps = [](int) { return 4 * consumers; },
       .launch_bounds_threads = specialised_threads,
       .entry = reinterpret_cast<const void*>(bounded_entry<Producer, specialised_threads, 1>)});
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
