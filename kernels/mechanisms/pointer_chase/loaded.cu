// SPDX-License-Identifier: Apache-2.0
// Shows: the latency of a DRAM load while other warps stream.
// Expected: flat at first, then 2-4 times the idle latency.
// Found: H200: up to 1.3 times the idle latency at 81 % of the bandwidth, 1.7-4.2 times at 90-93 %.
// Published: Saavedra and Smith (1995) for the chase; Mei and Chu (TPDS 2017) on GPUs.
#include "kernels/mechanisms/pointer_chase/pointer_chase.cuh"

namespace occbench::pointer_chase {

struct LoadedParameters {
  const Line* chain;
  std::uint64_t lines;
  Walk* walks;  ///< one per block
  const float4* input;
  float* sums;     ///< one per streaming thread
  int iterations;  ///< of the streaming threads
};

constexpr int warp_size = 32;

/// Warp 0 chases through DRAM while the block's other warps stream, with `ilp` 16-byte loads in flight per
/// thread. The walk's cycles are of the whole chase.
template <int ilp>
struct Loaded {
  using Parameters = LoadedParameters;

  static __device__ void run(const Parameters& p) {
    __shared__ volatile unsigned finished;  // streaming warps
    if (threadIdx.x == 0) finished = 0;
    __syncthreads();
    if (threadIdx.x == 0)
      chase(p, finished);
    else if (threadIdx.x >= warp_size)
      stream(p, const_cast<unsigned*>(&finished));
  }

  static __device__ void chase(const Parameters& p, const volatile unsigned& finished) {
    const unsigned streaming = (blockDim.x - 1) / warp_size;  // warps
    const std::uint64_t start = somewhere(p.lines);
    const Line* at = p.chain + start;
    std::uint64_t steps = 0;
    const long long began = clock64();
    // Whether to continue is checked while the load is in flight, since it does not depend on it.
#pragma unroll 1
    do {
      follow<Cache::l2>(at);
      ++steps;
    } while (finished < streaming);
    const long long ended = clock64();
    p.walks[blockIdx.x] = {start, static_cast<std::uint64_t>(at - p.chain), steps,
                           static_cast<std::uint64_t>(ended - began)};
  }

  static __device__ void stream(const Parameters& p, unsigned* finished) {
    const unsigned threads = blockDim.x - warp_size;
    const std::int64_t n = std::int64_t{gridDim.x} * threads;
    const std::int64_t index = std::int64_t{blockIdx.x} * threads + threadIdx.x - warp_size;
    const float4* next = p.input + index;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, next += ilp * n) {
      float4 x[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) x[j] = next[j * n];
#pragma unroll
      for (int j = 0; j < ilp; ++j) sum += (x[j].x + x[j].y) + (x[j].z + x[j].w);
    }
    p.sums[index] = sum;
    if (threadIdx.x % warp_size == 0) atomicAdd(finished, 1U);
  }
};

namespace {

template <int ilp>
void add_loaded() {
  constexpr std::size_t bytes_per_iteration = ilp * sizeof(float4);
  const auto streaming = [](const Shape& shape) {  // threads
    return std::int64_t{shape.grid_size} * (shape.block_size - warp_size);
  };
  const auto first_page = [=](const Shape& shape) {  // of the walks, after the sums
    return static_cast<std::size_t>(streaming(shape)) * sizeof(float) / sizeof(Page) + 1;
  };
  add_variant({
      .family = "pointer_chase",
      .name = "loaded-ilp" + std::to_string(ilp),
      .form = "loaded",
      .dials = {.ilp = ilp, .bytes_per_access = sizeof(float4), .working_set_bytes = dram_bytes},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = bytes_per_iteration, .latency_cycles = 16.0 * ilp, .dram_waits = 1},
      .flow = {.working_warps = [](int warps) { return warps - 1; }},
      .instructions = {{"LDG.128", ilp}, {"FADD", 4 * ilp}, {"LDG.64", 1}, {"LDS.32", 1}},
      .hot_loops = 2,  // streaming, and chasing
      .loop_trips = {1, 0},
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (shape.block_size <= warp_size || dram_bytes > arena.input_bytes() / 2) return std::int64_t{0};
            return static_cast<std::int64_t>(arena.input_bytes() / bytes_per_iteration) / streaming(shape);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            constexpr std::uint64_t lines = dram_bytes / sizeof(Line);
            Problem problem;
            problem.set_parameters(
                LoadedParameters{.chain = chain_of(arena, dram_bytes),
                                 .lines = lines,
                                 .walks = arena.output<Walk>() + first_page(shape) * walks_per_page,
                                 .input = reinterpret_cast<const float4*>(arena.input<float>()),
                                 .sums = arena.output<float>(),
                                 .iterations = static_cast<int>(shape.iterations)});
            // The chase adds a thousandth of these bytes, which is not counted.
            problem.work.bytes = static_cast<double>(streaming(shape)) *
                                 static_cast<double>(shape.iterations) * bytes_per_iteration;
            problem.repeatable_bytes =
                static_cast<std::size_t>(streaming(shape)) * sizeof(float);  // followed by clock values
            problem.poison = [=, &arena] {
              arena.poison_output(first_page(shape) * sizeof(Page) +
                                  static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.mismatch = [=, &arena] {
              const auto threads = static_cast<std::size_t>(streaming(shape));
              const auto rows = static_cast<std::size_t>(shape.iterations) * ilp;
              constexpr std::size_t lanes = sizeof(float4) / sizeof(float);
              const auto input = arena.reference_input<float>(rows * threads * lanes);
              const auto wrong_sum = arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t row = 0; row < rows; ++row)
                  for (std::size_t e = 0; e < lanes; ++e) sum += input[(row * threads + thread) * lanes + e];
                return sum;
              });
              return wrong_sum ? wrong_sum
                               : mismatch_of(arena, first_page(shape), shape.grid_size, lines, {});
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              return cycles_per_load(arena, first_page(shape), shape.grid_size, 1);
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Loaded<ilp>>),
  });
}

const Registration registered{[] {
  add_loaded<1>();
  add_loaded<4>();
}};

}  // namespace

}  // namespace occbench::pointer_chase
