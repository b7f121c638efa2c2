// SPDX-License-Identifier: Apache-2.0
// Shows: the latency of a dependent load in the L1, the L2 and DRAM, alone and under streaming load.
// Expected: H200: 32 cycles for the L1, 270 for the L2, 0.33 us for DRAM, twice that at half of the full
//   load.
// Published: Saavedra and Smith (1995), Wong et al. (ISPASS 2010) and Mei and Chu (TPDS 2017).
#include <algorithm>
#include <cmath>

#include "kernels/chain.cuh"
#include "kernels/family.cuh"
#include "kernels/walks.hpp"

namespace occbench::calibration {

/// A 128-byte line, so that no step hits the line of the last one.
struct alignas(128) Link {
  const Link* next;
  unsigned char rest[120];
};

constexpr unsigned page_links = (2U << 20) / sizeof(Link);  // TLB pages have 2 MiB

/// A chain visits all links of a page in scattered order, then the next page, so a TLB miss occurs once in
/// 16,384 loads. A chain scattered over all of DRAM would have TLB misses that streams do not have.
__host__ __device__ constexpr unsigned next_link(unsigned at, unsigned links) {
  const unsigned page = links < page_links ? links : page_links;
  const unsigned next = (22695477U * at + 1013904223U) % page;
  return (at / page * page + next + (next == 0 ? page : 0)) % links;
}

/// The walk of one block.
struct Walk {
  unsigned start;  ///< link
  unsigned end;    ///< link
  std::uint64_t steps;
  std::uint64_t cycles;   ///< of all steps
  std::uint64_t squares;  ///< sum over single steps; 0 if not timed one by one
};

/// The first cache level of a load: the L1 or, by ld.global.cg, the L2.
enum class Cache { l1, l2 };

template <Cache cache>
__device__ __forceinline__ void follow(const Link*& at) {
  if constexpr (cache == Cache::l1)
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
  else
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
}

struct ChaseParameters {
  const Link* chain;
  unsigned links;  ///< a power of two
  unsigned lap;    ///< untimed steps, a multiple of `unrolled`, which fetch the page or the set
  Walk* walks;     ///< one per block
  int iterations;
};

/// Each launch starts elsewhere, so that it does not hit lines that the last one left in the L2.
__device__ __forceinline__ unsigned somewhere(unsigned links) {
  return mix(static_cast<unsigned>(device::global_timer_ns()) ^ mix(blockIdx.x + 1)) & (links - 1);
}

constexpr int unrolled = 16;  // loads per iteration, to make the loop overhead negligible

/// One warp per block, with all lanes on the same chain.
template <Cache cache>
struct Chase {
  using Parameters = ChaseParameters;

  static __device__ __forceinline__ void steps(const Link*& at, int iterations) {
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < unrolled; ++i) follow<cache>(at);
    }
  }

  static __device__ void run(const Parameters& p) {
    const Link* at = p.chain + __shfl_sync(0xFFFFFFFF, somewhere(p.links), 0);
    steps(at, static_cast<int>(p.lap / unrolled));
    const auto start = static_cast<unsigned>(at - p.chain);
    const long long began = clock64();
    steps(at, p.iterations);
    const long long ended = clock64();
    if (threadIdx.x == 0)
      p.walks[blockIdx.x] = {start, static_cast<unsigned>(at - p.chain),
                             static_cast<std::uint64_t>(p.iterations) * unrolled,
                             static_cast<std::uint64_t>(ended - began), 0};
  }
};

/// The same with one load per iteration between two clock readings. Their overhead is constant, so it does
/// not affect the spread.
struct SingleLoads {
  using Parameters = ChaseParameters;

  static __device__ void run(const Parameters& p) {
    const Link* const never = nullptr;  // a branch on the value, to make the clock wait for it
    const Link* at = p.chain + __shfl_sync(0xFFFFFFFF, somewhere(p.links), 0);
    follow<Cache::l2>(at);  // fetches the page
    const auto start = static_cast<unsigned>(at - p.chain);
    long long cycles = 0;
    long long squares = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const long long before = clock64();
      follow<Cache::l2>(at);
      if (at == never) return;
      const long long took = clock64() - before;
      cycles += took;
      squares += took * took;
    }
    if (threadIdx.x == 0)
      p.walks[blockIdx.x] = {start, static_cast<unsigned>(at - p.chain),
                             static_cast<std::uint64_t>(p.iterations), static_cast<std::uint64_t>(cycles),
                             static_cast<std::uint64_t>(squares)};
  }
};

struct LoadedParameters {
  const Link* chain;
  unsigned links;
  Walk* walks;  ///< one per block
  const float* input;
  float* sums;     ///< one per streaming thread
  int iterations;  ///< of the streaming threads
};

/// Warp 0 follows the chain while the block's other warps read DRAM with one 4-byte load in flight per
/// thread; their number sets the bandwidth in use.
/// `copies`: the streaming warps also write what they read.
template <bool copies>
struct Loaded {
  using Parameters = LoadedParameters;

  static __device__ void run(const Parameters& p) {
    __shared__ unsigned left;  // warps that still stream
    if (threadIdx.x == 0) left = (blockDim.x - 1) / 32;
    __syncthreads();
    if (threadIdx.x < 32)
      chase(p, left);
    else
      stream(p, left);
  }

  static __device__ void chase(const Parameters& p, const volatile unsigned& left) {
    const unsigned start = __shfl_sync(0xFFFFFFFF, somewhere(p.links), 0);
    const Link* at = p.chain + start;
    unsigned steps = 0;
    const long long began = clock64();
    // Whether to continue is checked while the load is in flight, since it does not depend on it.
#pragma unroll 1
    do {
      follow<Cache::l2>(at);
      ++steps;
    } while (left != 0);
    const long long ended = clock64();
    if (threadIdx.x == 0)
      p.walks[blockIdx.x] = {start, static_cast<unsigned>(at - p.chain), steps,
                             static_cast<std::uint64_t>(ended - began), 0};
  }

  static __device__ void stream(const Parameters& p, unsigned& left) {
    const unsigned threads = blockDim.x - 32;
    const std::int64_t index = std::int64_t{blockIdx.x} * threads + threadIdx.x - 32;
    const float* next = p.input + index;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      if constexpr (copies)
        p.sums[next - p.input] = *next;
      else
        sum += *next;
      next += std::int64_t{gridDim.x} * threads;
    }
    if constexpr (!copies) p.sums[index] = sum;
    if (threadIdx.x % 32 == 0) atomicSub(&left, 1U);
  }
};

namespace {

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t dram_chain_bytes = 1024 * mebibyte;

__global__ void link(Link* chain, unsigned links) {
  for (unsigned x = blockIdx.x * blockDim.x + threadIdx.x; x < links; x += gridDim.x * blockDim.x)
    chain[x].next = chain + next_link(x, links);
}

const Link* chain_of(Arena& arena, std::size_t bytes) {
  return arena.table<Link>("calibration-" + std::to_string(bytes), bytes / sizeof(Link),
                           [](Link* chain, std::size_t links, cudaStream_t stream) {
                             link<<<1024, 256, 0, stream>>>(chain, static_cast<unsigned>(links));
                             check(cudaGetLastError(), "linking a chain");
                           });
}

using Page = WalkPage<Walk>;

/// Repeats every walk on the CPU; `steps`, if given, is the required number.
std::optional<std::string> mismatch_of(Arena& arena, std::size_t first_page, int blocks, unsigned links,
                                       std::optional<std::uint64_t> steps) {
  const auto end_of = [=](const Walk& walk) -> std::uint64_t {
    constexpr std::uint64_t most = std::uint64_t{1} << 24;
    if (walk.steps > most) return links;  // not written: 2^64 - 1, which is never correct
    unsigned end = walk.start;
    for (std::uint64_t step = 0; step < walk.steps; ++step) end = next_link(end, links);
    return end;
  };
  return walk_mismatch<Walk>(arena, first_page, blocks, "link", links, end_of, steps);
}

/// The statistic over the loads of (at most a page of) the blocks: the mean, the standard deviation, or that
/// within a block, which excludes the distance of SMs.
enum class Statistic { mean, spread, own_spread };
double cycles_per_load(Arena& arena, std::size_t first_page, int blocks, Statistic statistic) {
  const auto page = arena.output_value<Page>(first_page);
  double steps = 0;
  double cycles = 0;
  double squares = 0;
  double own_variances = 0;
  const std::size_t count = std::min(static_cast<std::size_t>(blocks), walks_per_page);
  for (std::size_t b = 0; b < count; ++b) {
    const auto n = static_cast<double>(page[b].steps);
    const auto of_block = static_cast<double>(page[b].cycles);
    const auto squares_of_block = static_cast<double>(page[b].squares);
    steps += n;
    cycles += of_block;
    squares += squares_of_block;
    own_variances += squares_of_block / n - of_block / n * (of_block / n);
  }
  const double mean = cycles / steps;
  if (statistic == Statistic::mean) return mean;
  return std::sqrt(statistic == Statistic::spread ? squares / steps - mean * mean
                                                  : own_variances / static_cast<double>(count));
}

/// A chain through memory.
struct ChaseForm {
  std::string name;
  std::size_t bytes;      ///< of the chain
  unsigned lap;           ///< untimed steps
  double latency_cycles;  ///< about
  bool cold;              ///< every step must miss the L2
  Statistic statistic;    ///< a spread needs loads timed one by one
  const void* entry;
};

void add_chase(const ChaseForm& f) {
  const auto links = static_cast<unsigned>(f.bytes / sizeof(Link));
  const bool single = f.statistic != Statistic::mean;
  const int loads = single ? 1 : unrolled;  // per iteration
  Dials dials;  // separate because g++ 12 warns about an uninitialised string if nested
  dials.data_type = "u64";
  dials.bytes_per_access = sizeof(Link*);
  dials.working_set_bytes = f.bytes;
  add_variant({
      .family = "calibration",
      .name = f.name,
      .dials = dials,
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = loads * f.latency_cycles},
      .instructions = {{"LDG.64", single ? 1 : 2 * unrolled}},  // the untimed loop, and the timed one
      .hot_loops = single ? 1 : 2,
      .fixed_block_size = 32,
      .l2_before = f.cold ? L2::clean : L2::warm,
      .check_iterations = 100,
      .max_iterations =
          [=](const Arena& arena, const Shape&) {
            return f.bytes > arena.input_bytes() / 2 ? std::int64_t{0} : std::int64_t{1} << 24;
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(ChaseParameters{.chain = chain_of(arena, f.bytes),
                                                   .links = links,
                                                   .lap = f.lap,
                                                   .walks = arena.output<Walk>(),
                                                   .iterations = static_cast<int>(shape.iterations)});
            const auto steps = static_cast<std::uint64_t>(shape.iterations * loads);
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena] { return mismatch_of(arena, 0, shape.grid_size, links, steps); };
            problem.own_cycles_per_iteration = [=, &arena] {
              return cycles_per_load(arena, 0, shape.grid_size, f.statistic);
            };
            return problem;
          },
      .predicted = false,
      .entry = f.entry,
  });
}

template <bool copies>
void add_loaded(const std::string& name) {
  const auto streaming = [](const Shape& shape) {  // threads
    return std::int64_t{shape.grid_size} * (shape.block_size - 32);
  };
  const auto values = [=](const Shape& shape) {  // outputs of the streaming threads
    return static_cast<std::size_t>(streaming(shape) * (copies ? shape.iterations : 1));
  };
  const auto first_page = [=](const Shape& shape) {  // of the walks, after the values
    return values(shape) * sizeof(float) / sizeof(Page) + 1;
  };
  constexpr unsigned links = dram_chain_bytes / sizeof(Link);
  Dials dials;
  dials.bytes_per_access = sizeof(float);
  dials.working_set_bytes = dram_chain_bytes;
  add_variant({
      .family = "calibration",
      .name = name,
      .dials = dials,
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = (copies ? 2 : 1) * sizeof(float), .latency_cycles = 16, .dram_waits = 1},
      .instructions = {{"LDG.32", 1}, {copies ? "STG.32" : "FADD", 1}, {"LDG.64", 1}, {"LDS.32", 1}},
      .hot_loops = 2,  // streaming, and chasing
      .l2_before = copies ? L2::dirty : L2::clean,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (shape.block_size <= 32 || dram_chain_bytes > arena.input_bytes() / 2) return std::int64_t{0};
            const std::size_t room =
                copies ? std::min(arena.input_bytes(), arena.output_bytes() - (std::size_t{1} << 20))
                       : arena.input_bytes();
            return static_cast<std::int64_t>(room / sizeof(float)) / streaming(shape);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                LoadedParameters{.chain = chain_of(arena, dram_chain_bytes),
                                 .links = links,
                                 .walks = arena.output<Walk>() + first_page(shape) * walks_per_page,
                                 .input = arena.input<float>(),
                                 .sums = arena.output<float>(),
                                 .iterations = static_cast<int>(shape.iterations)});
            // The chase adds a hundredth of these bytes, which is not counted.
            problem.work.bytes = static_cast<double>(streaming(shape)) *
                                 static_cast<double>(shape.iterations) * (copies ? 2 : 1) * sizeof(float);
            problem.repeatable_bytes = values(shape) * sizeof(float);  // followed by clock values
            problem.poison = [=, &arena] {
              arena.poison_output(first_page(shape) * sizeof(Page) +
                                  static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.mismatch = [=, &arena] {
              const auto threads = static_cast<std::size_t>(streaming(shape));
              const auto iterations = static_cast<std::size_t>(shape.iterations);
              const auto input = arena.reference_input<float>(iterations * threads);
              const auto wrong_sum =
                  arena.first_mismatch<float>(values(shape), copies ? 0 : 1e-5, [&](std::size_t thread) {
                    if (copies) return static_cast<double>(input[thread]);
                    double sum = 0;
                    for (std::size_t iteration = 0; iteration < iterations; ++iteration)
                      sum += input[iteration * threads + thread];
                    return sum;
                  });
              return wrong_sum ? wrong_sum
                               : mismatch_of(arena, first_page(shape), shape.grid_size, links, {});
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              return cycles_per_load(arena, first_page(shape), shape.grid_size, Statistic::mean);
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<Loaded<copies>>),
  });
}

const Registration registered{[] {
  const auto chase = [](Cache cache) {
    return cache == Cache::l1 ? reinterpret_cast<const void*>(free_entry<Chase<Cache::l1>>)
                              : reinterpret_cast<const void*>(free_entry<Chase<Cache::l2>>);
  };
  add_chase({"l1-chain", 8 * kibibyte, 64, 35, false, Statistic::mean, chase(Cache::l1)});
  add_chase({"l1-overflow", 32 * kibibyte, 512, 35, false, Statistic::mean, chase(Cache::l1)});
  add_chase({"l2-chain", 4 * mebibyte, unrolled, 280, false, Statistic::mean, chase(Cache::l2)});
  add_chase({"dram-chain", dram_chain_bytes, unrolled, 680, true, Statistic::mean, chase(Cache::l2)});
  add_chase({"dram-single", dram_chain_bytes, 0, 720, true, Statistic::spread,
             reinterpret_cast<const void*>(free_entry<SingleLoads>)});
  add_chase({"l2-single", 4 * mebibyte, 0, 320, false, Statistic::own_spread,
             reinterpret_cast<const void*>(free_entry<SingleLoads>)});
  add_loaded<false>("dram-loaded");
  add_loaded<true>("dram-loaded-copy");
}};

}  // namespace

}  // namespace occbench::calibration
