// SPDX-License-Identifier: Apache-2.0
// Shows: what the memory costs and carries, from the L1 to DRAM: the second half of family `calibration`.
// Expected: H200: a load takes 32 cycles from the L1, 270 from the L2, 0.33 us from DRAM, twice that half way
//   up to full load; the L2 gives 5 to 7 TB/s to all SMs, DRAM 4.4 TB/s of reads.
// Published: Saavedra and Smith (1995), Wong et al. (ISPASS 2010) and Mei and Chu (TPDS 2017) for the chains;
//   McCalpin's STREAM.
#include <array>
#include <cmath>

#include "kernels/async_copy.cuh"
#include "kernels/chain.cuh"
#include "kernels/family.cuh"

namespace occbench::calibration {

// ---- Chains of dependent loads ----

/// A line of 128 bytes, so that no step finds what the last one fetched.
struct alignas(128) Link {
  const Link* next;
  unsigned char rest[120];
};

constexpr unsigned page_links = (2U << 20) / sizeof(Link);  // the TLBs know pages of 2 MiB

/// A chain runs through all links of a page in a scattered order, and then through the next page's: a new
/// page, and what the TLBs lack of it, comes once in 16,384 loads. What a chain all over DRAM pays to them,
/// streams do not.
__host__ __device__ constexpr unsigned next_link(unsigned at, unsigned links) {
  const unsigned page = links < page_links ? links : page_links;
  const unsigned next = (22695477U * at + 1013904223U) % page;
  return (at / page * page + next + (next == 0 ? page : 0)) % links;
}

/// What one block's chaser did.
struct Walk {
  unsigned start;  ///< link
  unsigned end;    ///< link
  std::uint64_t steps;
  std::uint64_t cycles;   ///< of all steps
  std::uint64_t squares;  ///< sum over single steps; 0 where they are not timed one by one
};

/// Where a load looks first: the L1 or, by ld.global.cg, the L2.
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
  unsigned
      lap;  ///< steps before the clock is read, a multiple of `unrolled`: they bring in the page or the set
  Walk* walks;  ///< one per block
  int passes;
};

/// Each launch chases from somewhere else, so that none meets in the L2 what the one before it left there.
__device__ __forceinline__ unsigned somewhere(unsigned links) {
  return mix(static_cast<unsigned>(device::global_timer_ns()) ^ mix(blockIdx.x + 1)) & (links - 1);
}

constexpr int unrolled = 16;  // loads of a pass: the loop's own instructions wait behind none of them

/// One warp a block, all of its lanes on the same chain.
template <Cache cache>
struct Chase {
  using Parameters = ChaseParameters;

  static __device__ __forceinline__ void steps(const Link*& at, int passes) {
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
#pragma unroll
      for (int i = 0; i < unrolled; ++i) follow<cache>(at);
    }
  }

  static __device__ void run(const Parameters& p) {
    const Link* at = p.chain + __shfl_sync(0xFFFFFFFF, somewhere(p.links), 0);
    steps(at, static_cast<int>(p.lap / unrolled));
    const auto start = static_cast<unsigned>(at - p.chain);
    const long long began = clock64();
    steps(at, p.passes);
    const long long ended = clock64();
    if (threadIdx.x == 0)
      p.walks[blockIdx.x] = {start, static_cast<unsigned>(at - p.chain),
                             static_cast<std::uint64_t>(p.passes) * unrolled,
                             static_cast<std::uint64_t>(ended - began), 0};
  }
};

/// The same, each load between two readings of the clock: one load a pass. The readings cost each the same,
/// and so nothing of the spread between loads.
struct SingleLoads {
  using Parameters = ChaseParameters;

  static __device__ void run(const Parameters& p) {
    const Link* const never = nullptr;  // a branch on the value, to make the clock wait for it
    const Link* at = p.chain + __shfl_sync(0xFFFFFFFF, somewhere(p.links), 0);
    follow<Cache::l2>(at);  // brings in the page
    const auto start = static_cast<unsigned>(at - p.chain);
    long long cycles = 0;
    long long squares = 0;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const long long before = clock64();
      follow<Cache::l2>(at);
      if (at == never) return;
      const long long took = clock64() - before;
      cycles += took;
      squares += took * took;
    }
    if (threadIdx.x == 0)
      p.walks[blockIdx.x] = {start, static_cast<unsigned>(at - p.chain), static_cast<std::uint64_t>(p.passes),
                             static_cast<std::uint64_t>(cycles), static_cast<std::uint64_t>(squares)};
  }
};

struct LoadedParameters {
  const Link* chain;
  unsigned links;
  Walk* walks;  ///< one per block
  const float* input;
  float* sums;  ///< one per streaming thread
  int passes;   ///< of the streaming threads
};

/// Warp 0 follows the chain for as long as the block's other warps read from DRAM, one load of 4 bytes in
/// flight per thread: how many warps these are decides how much of the bandwidth is in use.
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
    // The question whether to go on does not need the load's value, and is asked while it is on its way.
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
    for (int pass = 0; pass < p.passes; ++pass) {
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

// ---- Bandwidth ----

constexpr int l2_loads = 4;  // of 16 bytes, of a thread in a pass

struct SweepParameters {
  const float* input;
  float* output;  ///< one per thread
  unsigned set_bytes;
  int passes;
};

/// The grid sweeps a set that the L2 holds, each block a tile of l2_loads x 16 bytes per thread at a time.
struct L2Sweep {
  using Parameters = SweepParameters;

  static __device__ void run(const Parameters& p) {
    const unsigned tile = blockDim.x * (l2_loads * 16);
    const unsigned row = blockDim.x * 16;
    const auto step = static_cast<unsigned>(std::uint64_t{gridDim.x} * tile % p.set_bytes);
    unsigned first = static_cast<unsigned>(std::uint64_t{blockIdx.x} * tile % p.set_bytes);
    const auto* const input = reinterpret_cast<const char*>(p.input) + threadIdx.x * 16;
    float sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      float4 x[l2_loads];
#pragma unroll
      for (int j = 0; j < l2_loads; ++j)
        x[j] = __ldcg(reinterpret_cast<const float4*>(input + first + j * row));
#pragma unroll
      for (int j = 0; j < l2_loads; ++j) sum += (x[j].x + x[j].y) + (x[j].z + x[j].w);
      first += step;
      if (first >= p.set_bytes) first -= p.set_bytes;
    }
    p.output[device::thread_index()] = sum;
  }
};

enum class Op { read, write, copy };
constexpr int dram_loads = 3;  // of 8 bytes, of a thread in a pass

struct DramParameters {
  const float2* input;
  float2* output;
  int passes;
};

/// The grid sweeps the array in one front, each block a tile of dram_loads x 8 bytes per thread at a time.
template <Op op>
struct Dram {
  using Parameters = DramParameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t step = device::thread_count() * dram_loads;
    std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x * dram_loads + threadIdx.x;
    const unsigned row = blockDim.x;
    float sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass, at += step) {
      float2 x[dram_loads];
#pragma unroll
      for (int j = 0; j < dram_loads; ++j)
        if constexpr (op != Op::write) x[j] = p.input[at + j * row];
#pragma unroll
      for (int j = 0; j < dram_loads; ++j) {
        if constexpr (op == Op::read) sum += x[j].x + x[j].y;
        if constexpr (op == Op::write) p.output[at + j * row] = {1.5F, static_cast<float>(j)};
        if constexpr (op == Op::copy) p.output[at + j * row] = x[j];
      }
    }
    if constexpr (op == Op::read) reinterpret_cast<float*>(p.output)[device::thread_index()] = sum;
  }
};

constexpr int narrow_streams = 4;

struct NarrowParameters {
  float* output;  ///< `streams` parts of passes x threads
  int passes;
};

/// Each warp stores 128 bytes at a time, and every time to another of four places far apart: what it leaves
/// in a page of DRAM before it goes to another is a line, where Dram leaves a block's whole row.
struct NarrowWrites {
  using Parameters = NarrowParameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t threads = device::thread_count();
    float* at = p.output + device::thread_index();
    const std::int64_t part = threads * p.passes;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass, at += threads) {
#pragma unroll
      for (int j = 0; j < narrow_streams; ++j) at[j * part] = static_cast<float>(j);
    }
  }
};

constexpr unsigned bulk_bytes = 2048;  // of a copy

struct BulkParameters {
  const unsigned char* input;
  float* output;  ///< one per thread, then per block the cycles of its copies
  int passes;
};

/// One warp a block copies 2 KiB at a time, and waits for them each time.
struct Bulk {
  using Parameters = BulkParameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(128) unsigned char arrived[bulk_bytes];
    __shared__ __align__(8) std::uint64_t barrier_storage;
    unsigned barrier = device::shared_address(&barrier_storage);
    unsigned destination = device::shared_address(arrived);
    // Kept in registers: left to itself the compiler would ask for the block's place in its cluster in every
    // pass.
    asm volatile("" : "+r"(barrier), "+r"(destination));
    if (device::elected()) {
      device::barrier_init(barrier, 1);
      device::fence_async_proxy();
    }
    __syncwarp();
    const unsigned char* source = p.input + std::int64_t{blockIdx.x} * bulk_bytes;
    const auto* const lane = reinterpret_cast<const float4*>(arrived) + threadIdx.x;
    float sum = 0;
    long long cycles = 0;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const long long before = clock64();
      if (device::elected()) {
        device::barrier_expect(barrier, bulk_bytes);
        device::copy_async(destination, source, bulk_bytes, barrier);
      }
      device::barrier_wait(barrier, static_cast<unsigned>(pass) % 2);
      cycles += clock64() - before;
      const float4 x = *lane;
      sum += (x.x + x.y) + (x.z + x.w);
      source += std::int64_t{gridDim.x} * bulk_bytes;
      __syncwarp();                 // all lanes have read what the next copy overwrites ...
      device::fence_async_proxy();  // ... and its engine must not overtake their reads
    }
    p.output[device::thread_index()] = sum;
    if (threadIdx.x == 0) p.output[device::thread_count() + blockIdx.x] = static_cast<float>(cycles);
#endif
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

constexpr std::size_t walks_per_page = 256;
using Page = std::array<Walk, walks_per_page>;  // walks are read back so many at a time

/// Follows every walk on the CPU; `steps`, if given, is how many there must have been.
std::optional<std::string> walk_mismatch(Arena& arena, std::size_t first_page, int blocks, unsigned links,
                                         std::optional<std::uint64_t> steps) {
  Page page;
  for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b) {
    if (b % walks_per_page == 0) page = arena.output_value<Page>(first_page + b / walks_per_page);
    const Walk& walk = page[b % walks_per_page];
    unsigned end = walk.start;
    constexpr std::uint64_t most = std::uint64_t{1} << 24;  // an output that nobody wrote says 2^64 - 1
    if (walk.steps <= most)
      for (std::uint64_t step = 0; step < walk.steps; ++step) end = next_link(end, links);
    if (walk.start >= links || walk.end != end || walk.steps > most ||
        walk.steps != steps.value_or(walk.steps))
      return "wrong result: block " + std::to_string(b) + " of " + std::to_string(blocks) + " says that " +
             std::to_string(walk.steps) + " steps lead from link " + std::to_string(walk.start) + " to " +
             std::to_string(walk.end) + ", the CPU reference says to " + std::to_string(end) +
             (steps ? " and that there are " + std::to_string(*steps) : "");
  }
  return std::nullopt;
}

/// Cycles of one load over (at most a page of) the blocks: their mean, or their standard deviation.
double cycles_per_load(Arena& arena, std::size_t first_page, int blocks, bool spread) {
  const auto page = arena.output_value<Page>(first_page);
  double steps = 0;
  double cycles = 0;
  double squares = 0;
  for (std::size_t b = 0; b < std::min(static_cast<std::size_t>(blocks), walks_per_page); ++b) {
    steps += static_cast<double>(page[b].steps);
    cycles += static_cast<double>(page[b].cycles);
    squares += static_cast<double>(page[b].squares);
  }
  const double mean = cycles / steps;
  return spread ? std::sqrt(squares / steps - mean * mean) : mean;
}

/// A chain through the memory.
struct ChaseForm {
  std::string name;
  std::size_t bytes;      ///< of the chain
  unsigned lap;           ///< steps that are not timed
  double latency_cycles;  ///< about
  bool cold;              ///< every step is to miss the L2
  bool single;
  const void* entry;
};

void add_chase(const ChaseForm& f) {
  const auto links = static_cast<unsigned>(f.bytes / sizeof(Link));
  const int loads = f.single ? 1 : unrolled;  // of a pass
  Dials dials;                                // built in place, g++ 12 warns of an uninitialised string in it
  dials.data_type = "u64";
  dials.bytes_per_access = sizeof(Link*);
  dials.working_set_bytes = f.bytes;
  add_variant({
      .family = "calibration",
      .name = f.name,
      .dials = dials,
      .ceiling = Ceiling::none,
      .pass = {.latency_cycles = loads * f.latency_cycles},
      .instructions = {{"LDG.64", f.single ? 1 : 2 * unrolled}},  // the lap's loop, and the timed one
      .hot_loops = f.single ? 1 : 2,
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
                                                   .passes = static_cast<int>(shape.iterations)});
            const auto steps = static_cast<std::uint64_t>(shape.iterations * loads);
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.reference_reaches = true;
            problem.mismatch = [=, &arena] { return walk_mismatch(arena, 0, shape.grid_size, links, steps); };
            problem.own_cycles_per_pass = [=, &arena] {
              return cycles_per_load(arena, 0, shape.grid_size, f.single);
            };
            return problem;
          },
      .entry = f.entry,
  });
}

template <bool copies>
void add_loaded(const std::string& name) {
  const auto streaming = [](const Shape& shape) {  // threads
    return std::int64_t{shape.grid_size} * (shape.block_size - 32);
  };
  const auto values = [=](const Shape& shape) {  // that the streaming threads put out
    return static_cast<std::size_t>(streaming(shape) * (copies ? shape.iterations : 1));
  };
  const auto first_page = [=](const Shape& shape) {  // of the walks, behind the values
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
      .pass = {.dram_bytes = (copies ? 2 : 1) * sizeof(float), .latency_cycles = 16, .dram_waits = 1},
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
                                 .passes = static_cast<int>(shape.iterations)});
            // The chasers' bytes, a hundredth of these, are not counted.
            problem.work.bytes = static_cast<double>(streaming(shape)) *
                                 static_cast<double>(shape.iterations) * (copies ? 2 : 1) * sizeof(float);
            problem.repeatable_bytes = values(shape) * sizeof(float);  // behind them are clocks
            problem.poison = [=, &arena] {
              arena.poison_output(first_page(shape) * sizeof(Page) +
                                  static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.mismatch = [=, &arena] {
              const auto threads = static_cast<std::size_t>(streaming(shape));
              const auto passes = static_cast<std::size_t>(shape.iterations);
              const auto input = arena.reference_input<float>(passes * threads);
              const auto wrong_sum =
                  arena.first_mismatch<float>(values(shape), copies ? 0 : 1e-5, [&](std::size_t thread) {
                    if (copies) return static_cast<double>(input[thread]);
                    double sum = 0;
                    for (std::size_t pass = 0; pass < passes; ++pass) sum += input[pass * threads + thread];
                    return sum;
                  });
              return wrong_sum ? wrong_sum
                               : walk_mismatch(arena, first_page(shape), shape.grid_size, links, {});
            };
            problem.own_cycles_per_pass = [=, &arena] {
              return cycles_per_load(arena, first_page(shape), shape.grid_size, false);
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Loaded<copies>>),
  });
}

std::size_t l2_bytes() {
  static const auto bytes = [] {
    int device = 0;
    int l2 = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device) != cudaSuccess)
      l2 = 0;
    return std::max(static_cast<std::size_t>(l2), 4 * mebibyte);
  }();
  return bytes;
}

/// `share`: of the L2, at most `most_bytes`. Less than half: some L2s keep a line twice, once in each half.
void add_l2_sweep(const std::string& name, double share, std::size_t most_bytes, int fixed_block_size) {
  constexpr std::size_t largest_tile = 1024 * l2_loads * 16;  // of a block
  const auto set_bytes = [=](const Shape& shape) {            // whole tiles
    const std::size_t tile = static_cast<std::size_t>(shape.block_size) * l2_loads * 16;
    const auto wanted = static_cast<std::size_t>(share * static_cast<double>(l2_bytes()));
    return std::max(std::min(wanted, most_bytes), largest_tile) / tile * tile;
  };
  Dials dials;
  dials.ilp = l2_loads;
  dials.bytes_per_access = 16;
  add_variant({
      .family = "calibration",
      .name = name,
      .dials = dials,
      .ceiling = Ceiling::none,
      .pass = {.latency_cycles = 400, .pipe_cycles_per_warp = 16.0 * l2_loads},
      .instructions = {{"LDG.128", l2_loads}, {"FADD", 4 * l2_loads}},
      .fixed_block_size = fixed_block_size,
      .l2_before = L2::warm,
      // One block alone goes all through 2 MiB: the launch ahead of each visit brings the set into the L2.
      .check_iterations = 33,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t set = set_bytes(shape);
            Problem problem;
            problem.set_parameters(SweepParameters{arena.input<float>(), arena.output<float>(),
                                                   static_cast<unsigned>(set),
                                                   static_cast<int>(shape.iterations)});
            const double loads = static_cast<double>(shape.threads() * shape.iterations) * l2_loads;
            problem.work = {.bytes = loads * 16, .flop = loads * 4, .operations = loads};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto input = arena.reference_input<float>(set / sizeof(float));
              const auto block = static_cast<std::size_t>(shape.block_size);
              const std::size_t tile = block * l2_loads * 4;  // in elements
              const auto threads = static_cast<std::size_t>(shape.threads());
              return arena.first_mismatch<float>(threads, 1e-4, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t pass = 0; pass < static_cast<std::size_t>(shape.iterations); ++pass) {
                  const std::size_t first =
                      (thread / block + pass * static_cast<std::size_t>(shape.grid_size)) * tile %
                      input.size();
                  for (std::size_t j = 0; j < l2_loads; ++j)
                    for (std::size_t e = 0; e < 4; ++e)
                      sum += input[first + (j * block + thread % block) * 4 + e];
                }
                return sum;
              });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<L2Sweep>),
  });
}

template <Op op>
void add_dram(const std::string& name) {
  constexpr bool reads = op != Op::write;
  constexpr bool writes = op != Op::read;
  Instructions instructions;
  if (reads) instructions["LDG.64"] = dram_loads;
  if (writes) instructions["STG.64"] = dram_loads;
  if (op == Op::read) instructions["FADD"] = 2 * dram_loads;
  Dials dials;
  dials.ilp = dram_loads;
  dials.bytes_per_access = 8;
  const auto packs = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * dram_loads;
  };
  add_variant({
      .family = "calibration",
      .name = name,
      .dials = dials,
      .ceiling = Ceiling::dram,
      .pass = {.dram_bytes = 8.0 * dram_loads * (op == Op::copy ? 2 : 1),
               .latency_cycles = 8 * dram_loads,
               .dram_waits = reads ? 1.0 : 0.0},
      .instructions = instructions,
      .l2_before = writes ? L2::dirty : L2::clean,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            std::size_t bytes = reads ? arena.input_bytes() : arena.output_bytes();
            if (writes) bytes = std::min(bytes, arena.output_bytes());
            return static_cast<std::int64_t>(bytes) / (shape.threads() * 8 * dram_loads);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(DramParameters{reinterpret_cast<const float2*>(arena.input<float>()),
                                                  arena.output<float2>(),
                                                  static_cast<int>(shape.iterations)});
            problem.work.bytes = 8.0 * static_cast<double>(packs(shape)) * (op == Op::copy ? 2 : 1);
            problem.poison = [=, &arena] {
              arena.poison_output(writes ? 8 * packs(shape)
                                         : static_cast<std::size_t>(shape.threads()) * sizeof(float));
            };
            problem.mismatch = [=, &arena] {
              const auto block = static_cast<std::size_t>(shape.block_size);
              const auto input = arena.reference_input<float>(reads ? 2 * packs(shape) : 0);
              if (op == Op::copy)
                return arena.first_mismatch<float>(2 * packs(shape), 0,
                                                   [&](std::size_t i) { return input[i]; });
              if (op == Op::write)
                return arena.first_mismatch<float>(2 * packs(shape), 0, [=](std::size_t i) {
                  return i % 2 == 0 ? 1.5 : static_cast<double>(i / 2 / block % dram_loads);
                });
              const auto threads = static_cast<std::size_t>(shape.threads());
              return arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t pass = 0; pass < static_cast<std::size_t>(shape.iterations); ++pass)
                  for (std::size_t j = 0; j < dram_loads; ++j) {
                    const std::size_t at = pass * threads * dram_loads + thread / block * block * dram_loads +
                                           j * block + thread % block;
                    sum += double{input[2 * at]} + input[2 * at + 1];
                  }
                return sum;
              });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Dram<op>>),
  });
}

void add_narrow_writes() {
  const auto words = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * narrow_streams;
  };
  add_variant({
      .family = "calibration",
      .name = "dram-write-narrow",
      .dials = {.ilp = narrow_streams, .bytes_per_access = 4},
      .ceiling = Ceiling::dram,
      .pass = {.dram_bytes = 4.0 * narrow_streams, .latency_cycles = 8 * narrow_streams},
      .instructions = {{"STG.32", narrow_streams}},
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.output_bytes()) / (shape.threads() * 4 * narrow_streams);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                NarrowParameters{arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work.bytes = 4.0 * static_cast<double>(words(shape));
            problem.poison = [=, &arena] { arena.poison_output(4 * words(shape)); };
            problem.mismatch = [=, &arena] {
              const std::size_t part = words(shape) / narrow_streams;
              return arena.first_mismatch<float>(
                  words(shape), 0, [=](std::size_t i) { return static_cast<double>(i / part); });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<NarrowWrites>),
  });
}

void add_bulk() {
  Dials dials;
  dials.bytes_per_access = bulk_bytes;
  dials.stages = 1;
  dials.bytes_in_flight = bulk_bytes;
  add_variant({
      .family = "calibration",
      .name = "bulk-copy",
      .dials = dials,
      .ceiling = Ceiling::dram,
      .pass = {.dram_bytes = bulk_bytes / 32.0, .latency_cycles = 300, .dram_waits = 1},
      .instructions = {{"LDS.128", 1}, {"FADD", 4}, {"UBLKCP", 1}},
      .fixed_block_size = 32,
      .least_cc = 90,
      .l2_before = L2::clean,
      .check_iterations = 3,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes()) /
                   (std::int64_t{shape.grid_size} * bulk_bytes);
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const auto blocks = static_cast<std::size_t>(shape.grid_size);
            const auto threads = static_cast<std::size_t>(shape.threads());
            Problem problem;
            problem.set_parameters(
                BulkParameters{reinterpret_cast<const unsigned char*>(arena.input<float>()),
                               arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work.bytes =
                static_cast<double>(blocks) * static_cast<double>(shape.iterations) * bulk_bytes;
            problem.repeatable_bytes = threads * sizeof(float);  // behind them are clocks
            problem.poison = [=, &arena] { arena.poison_output((threads + blocks) * sizeof(float)); };
            problem.mismatch = [=, &arena] {
              const auto passes = static_cast<std::size_t>(shape.iterations);
              constexpr std::size_t copy = bulk_bytes / sizeof(float);
              const auto input = arena.reference_input<float>(passes * blocks * copy);
              return arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t pass = 0; pass < passes; ++pass)
                  for (std::size_t e = 0; e < 4; ++e)
                    sum += input[(pass * blocks + thread / 32) * copy + thread % 32 * 4 + e];
                return sum;
              });
            };
            problem.own_cycles_per_pass = [=, &arena] {
              double sum = 0;
              for (std::size_t block = 0; block < blocks; ++block)
                sum += arena.output_value<float>(threads + block);
              return sum / static_cast<double>(blocks) / static_cast<double>(shape.iterations);
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Bulk>),
  });
}

const Registration registered{[] {
  const auto chase = [](Cache cache) {
    return cache == Cache::l1 ? reinterpret_cast<const void*>(free_entry<Chase<Cache::l1>>)
                              : reinterpret_cast<const void*>(free_entry<Chase<Cache::l2>>);
  };
  add_chase({"l1-chain", 8 * kibibyte, 64, 35, false, false, chase(Cache::l1)});
  add_chase({"l1-overflow", 32 * kibibyte, 512, 35, false, false, chase(Cache::l1)});
  add_chase({"l2-chain", 4 * mebibyte, unrolled, 280, false, false, chase(Cache::l2)});
  add_chase({"dram-chain", dram_chain_bytes, unrolled, 680, true, false, chase(Cache::l2)});
  add_chase({"dram-single", dram_chain_bytes, 0, 720, true, true,
             reinterpret_cast<const void*>(free_entry<SingleLoads>)});
  add_loaded<false>("dram-loaded");
  add_loaded<true>("dram-loaded-copy");
  add_l2_sweep("l2-sweep", 0.25, std::size_t{1} << 31, 0);
  add_l2_sweep("l2-sweep-2MiB", 0.25, 2 * mebibyte, 1024);
  add_dram<Op::read>("dram-read");
  add_dram<Op::write>("dram-write");
  add_dram<Op::copy>("dram-copy");
  add_narrow_writes();
  add_bulk();
}};

}  // namespace

}  // namespace occbench::calibration
