// SPDX-License-Identifier: Apache-2.0
// Shows: what one load waits for, at every level of the memory: idle, near and far in the L2, and under load.
// Expected: a staircase over the working set: L1 34-40 cycles, L2 about 280, DRAM 600-690 with steps where
//   the TLBs end; two latencies or more among the L2's lines; under load flat at first, then 2-4 times the
//   idle latency.
// Found: H200: 32, 282 and 661-669 cycles, without a step of a TLB's from 32 MiB to 1 GiB; L2 lines at
//   259-313; loaded up to 1.3 times that at 80 % of the bandwidth, 1.8-4.4 times at 88-91 %.
// Published: Saavedra and Smith (1995) for the chase; Wong et al. (ISPASS 2010), Mei and Chu (TPDS 2017) on
// GPUs.
#include <array>

#include "kernels/chain.cuh"
#include "kernels/family.cuh"

namespace occbench::pointer_chase {

/// One pointer to a line of 128 bytes, so that no step finds what the last one fetched.
struct alignas(128) Line {
  const Line* next;
  unsigned char rest[120];
};

/// What one block's chaser did.
struct Walk {
  std::uint64_t start;   ///< line
  std::uint64_t end;     ///< line
  std::uint64_t steps;   ///< dependent loads
  std::uint64_t cycles;  ///< by clock64; of what, the body says
};

/// Where a load looks first: an ordinary one (ld.global, cached as by .ca) in the L1, ld.global.cg in the L2.
enum class Cache { l1, l2 };

constexpr int touches = 16;  // loads in flight of a thread that only touches
// At most so many lines are touched in each launch, as the L1 is empty when one begins: under 0.3 % of its
// time.
constexpr std::uint64_t touched_each_launch = 4096;

struct Parameters {
  const Line* chain;
  std::uint64_t lines;    ///< a power of two
  std::uint64_t touched;  ///< lines to fetch before the chase: all or none
  Walk* walks;            ///< one per block
  int passes;
};

/// `at` = *`at`, in place: a move between two registers would stand in the way of the next load.
template <Cache cache>
__device__ __forceinline__ void follow(const Line*& at) {
  if constexpr (cache == Cache::l1)
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
  else
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
}

template <Cache cache>
__device__ __forceinline__ unsigned low_word(const Line* line) {
  const auto* const word = reinterpret_cast<const unsigned*>(line);
  return cache == Cache::l1 ? *word : __ldcg(word);
}

/// Each launch chases from somewhere else, so that none meets in the L2 what the one before it left there.
__device__ __forceinline__ std::uint64_t somewhere(std::uint64_t lines) {
  return mix(static_cast<std::uint32_t>(device::global_timer_ns()) + mix(blockIdx.x)) & (lines - 1);
}

template <Cache cache>
__device__ __forceinline__ void touch(const Parameters& p) {
  // A small set goes into this SM's L1, a large one into the L2 that all blocks share.
  const bool for_this_sm = p.touched <= touched_each_launch;
  const std::uint64_t step = for_this_sm ? blockDim.x : static_cast<std::uint64_t>(device::thread_count());
  std::uint64_t x = for_this_sm ? threadIdx.x : static_cast<std::uint64_t>(device::thread_index());
  unsigned bits = 0;
#pragma unroll 1
  for (; x < p.touched; x += touches * step) {
#pragma unroll
    for (int k = 0; k < touches; ++k) bits |= low_word<cache>(p.chain + ((x + k * step) & (p.lines - 1)));
  }
  if (bits & 1)
    p.walks[blockIdx.x] = {};  // never, for lines are aligned; but it makes the loads count as used
}

/// One lane of the block follows the chain: a pass is one load. Its cycles are those of the whole chase.
template <Cache cache>
struct Chase {
  using Parameters = pointer_chase::Parameters;

  static __device__ void run(const Parameters& p) {
    touch<cache>(p);
    if (threadIdx.x != 0) return;
    const std::uint64_t start = somewhere(p.lines);
    const Line* at = p.chain + start;
    const long long cycles = device::chase(at, p.passes, [](const Line*& line) { follow<cache>(line); });
    p.walks[blockIdx.x] = {start, static_cast<std::uint64_t>(at - p.chain),
                           static_cast<std::uint64_t>(p.passes), static_cast<std::uint64_t>(cycles)};
  }
};

/// The second method. Its cycles are the sum of one load's over the passes.
template <Cache cache>
struct TimedChase {
  using Parameters = pointer_chase::Parameters;

  static __device__ void run(const Parameters& p) {
    touch<cache>(p);
    if (threadIdx.x != 0) return;
    const std::uint64_t start = somewhere(p.lines);
    const Line* at = p.chain + start;
    const Line* const never = nullptr;
    long long cycles;
    const auto step = [](const Line*& line) { follow<cache>(line); };
    if (!device::timed_chase(at, p.passes, never, step, cycles)) return;
    p.walks[blockIdx.x] = {start, static_cast<std::uint64_t>(at - p.chain),
                           std::uint64_t{device::timed_chase_loads} * static_cast<std::uint64_t>(p.passes),
                           static_cast<std::uint64_t>(cycles)};
  }
};

struct LoadedParameters {
  const Line* chain;
  std::uint64_t lines;
  Walk* walks;  ///< one per block
  const float4* input;
  float* sums;  ///< one per streaming thread
  int passes;   ///< of the streaming threads
};

constexpr int warp_size = 32;

/// Warp 0 chases through DRAM for as long as the block's other warps read from it, `ilp` loads of 16 bytes in
/// flight per thread and pass. The walk's cycles are those of its whole chase.
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
    // The question whether to go on does not need the load's value, and is asked while it is on its way.
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
    for (int pass = 0; pass < p.passes; ++pass, next += ilp * n) {
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

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mibibyte = std::size_t{1} << 20;
constexpr std::size_t dram_bytes = 1024 * mibibyte;

__global__ void link(Line* chain, std::uint64_t lines) {
  for (std::uint64_t x = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; x < lines;
       x += std::uint64_t{gridDim.x} * blockDim.x)
    chain[x].next = chain + (scattered<std::uint64_t>()(x) & (lines - 1));
}

void link(Line* chain, std::uint64_t lines, cudaStream_t stream) {
  const std::uint64_t blocks = std::min<std::uint64_t>((lines + 255) / 256, 4096);
  link<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(chain, lines);
  check(cudaGetLastError(), "linking a chain");
}

const Line* chain_of(Arena& arena, std::size_t bytes) {
  return arena.table<Line>("pointer_chase-" + std::to_string(bytes), bytes / sizeof(Line),
                           [](Line* chain, std::size_t lines, cudaStream_t s) { link(chain, lines, s); });
}

constexpr int lone_lines = 16;

/// A line that points to itself, one of `lone_lines` in pages of their own.
const Line* lone_line(Arena& arena, int index) {
  constexpr std::size_t apart = 4 * mibibyte / sizeof(Line);
  const auto place = [](int i) { return static_cast<std::size_t>(i) * apart + mix(i) % apart; };
  return arena.table<Line>("pointer_chase-lone", lone_lines * apart,
                           [&](Line* lines, std::size_t, cudaStream_t s) {
                             for (int i = 0; i < lone_lines; ++i) link(lines + place(i), 1, s);
                           }) +
         place(index);
}

constexpr std::size_t walks_per_page = 256;
using Page = std::array<Walk, walks_per_page>;  // walks are read back so many at a time

std::optional<std::string> walk_mismatch(Arena& arena, std::size_t first_page, int blocks,
                                         std::uint64_t lines, std::optional<std::uint64_t> steps) {
  Page page;
  for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b) {
    if (b % walks_per_page == 0) page = arena.output_value<Page>(first_page + b / walks_per_page);
    const Walk& walk = page[b % walks_per_page];
    const std::uint64_t end = scattered<std::uint64_t>().advance(walk.start, walk.steps) & (lines - 1);
    if (walk.start >= lines || walk.end != end || walk.steps != steps.value_or(walk.steps))
      return "wrong result: block " + std::to_string(b) + " of " + std::to_string(blocks) + " says that " +
             std::to_string(walk.steps) + " steps lead from line " + std::to_string(walk.start) + " to " +
             std::to_string(walk.end) + ", the CPU reference says to " + std::to_string(end) +
             (steps ? " and that there are " + std::to_string(*steps) : "");
  }
  return std::nullopt;
}

/// Cycles of one load, the mean over (at most a page of) the blocks' chasers.
double cycles_per_load(Arena& arena, std::size_t first_page, int blocks, int loads_per_latency) {
  const auto page = arena.output_value<Page>(first_page);
  const std::size_t count = std::min(static_cast<std::size_t>(blocks), walks_per_page);
  double sum = 0;
  for (std::size_t b = 0; b < count; ++b)
    sum += static_cast<double>(page[b].cycles) * loads_per_latency / static_cast<double>(page[b].steps);
  return sum / static_cast<double>(count);
}

/// What an idle chase is made of.
struct Form {
  std::string name;
  std::string series = {};
  std::string form;
  Cache cache = Cache::l1;
  std::size_t bytes = 0;      ///< of the chain; a lone line's own when there is one
  int lone = -1;              ///< which line, or -1: the whole chain
  bool cold = false;          ///< every step is to miss the L2
  double latency_cycles = 0;  ///< about
  bool timed = false;
};

const void* entry_of(const Form& f) {
  if (f.timed)
    return f.cache == Cache::l1 ? reinterpret_cast<const void*>(free_entry<TimedChase<Cache::l1>>)
                                : reinterpret_cast<const void*>(free_entry<TimedChase<Cache::l2>>);
  return f.cache == Cache::l1 ? reinterpret_cast<const void*>(free_entry<Chase<Cache::l1>>)
                              : reinterpret_cast<const void*>(free_entry<Chase<Cache::l2>>);
}

void add(const Form& f) {
  const std::uint64_t lines = f.bytes / sizeof(Line);
  const int loads = f.timed ? device::timed_chase_loads : 1;  // of a pass
  constexpr double reading_the_clock = 60;                    // cycles of a pass, about
  constexpr std::int64_t check_iterations = 100;
  add_variant({
      .family = "pointer_chase",
      .name = f.name,
      .series = f.series,
      .form = f.timed ? "timed" : f.form,
      .baseline = f.timed ? f.form : "",
      .dials = {.data_type = "u64", .bytes_per_access = sizeof(Line*), .working_set_bytes = f.bytes},
      .ceiling = Ceiling::none,
      .pass = {.dram_bytes = f.cold ? double(loads * sizeof(Line*)) : 0.0,
               .latency_cycles = loads * f.latency_cycles + (f.timed ? reading_the_clock : 0)},
      .flow = {.working_warps = [](int) { return 1; },
               .l2_bytes = f.cold || f.cache == Cache::l1 ? 0.0 : double(loads * sizeof(Line*)),
               .reused_bytes = f.cold || f.cache == Cache::l2 ? 0.0 : double(loads * sizeof(Line*)),
               .layout = {.lanes = 1}},
      // the touching loop, and the chase: when it is not timed, by eights and by ones
      .instructions = {{"LDG.32", touches}, {"LDG.64", f.timed ? loads : device::chase_unrolled + 1}},
      .hot_loops = f.timed ? 2 : 3,
      .loop_trips =
          f.timed ? std::vector<double>{0, 1} : std::vector<double>{0, 1.0 / device::chase_unrolled, 0},
      .l2_before = f.cold ? L2::clean : L2::warm,
      .check_iterations = check_iterations,
      .max_iterations =
          [=](const Arena& arena, const Shape&) {
            if (f.bytes > arena.input_bytes() / 2) return std::int64_t{0};
            return f.cold ? static_cast<std::int64_t>(lines) / loads : std::int64_t{1} << 30;
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            // The checked launch is also the one that the house sends ahead of every visit: it fetches the
            // whole set into the L2, as much as that holds, and the timed ones find it there.
            const bool ahead = shape.iterations <= check_iterations;
            const bool touched = !f.cold && (ahead || lines <= touched_each_launch);
            Problem problem;
            problem.set_parameters(
                Parameters{.chain = f.lone >= 0 ? lone_line(arena, f.lone) : chain_of(arena, f.bytes),
                           .lines = lines,
                           .touched = touched ? lines : 0,
                           .walks = arena.output<Walk>(),
                           .passes = static_cast<int>(shape.iterations)});
            const auto steps = static_cast<std::uint64_t>(shape.iterations * loads);
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.reference_reaches = true;
            problem.mismatch = [=, &arena] { return walk_mismatch(arena, 0, shape.grid_size, lines, steps); };
            problem.own_cycles_per_pass = [=, &arena] {
              return cycles_per_load(arena, 0, shape.grid_size, loads);
            };
            return problem;
          },
      .entry = entry_of(f),
  });
}

template <int ilp>
void add_loaded() {
  constexpr std::size_t bytes_per_pass = ilp * sizeof(float4);
  const auto streaming = [](const Shape& shape) {  // threads
    return std::int64_t{shape.grid_size} * (shape.block_size - warp_size);
  };
  const auto first_page = [=](const Shape& shape) {  // of the walks, behind the sums
    return static_cast<std::size_t>(streaming(shape)) * sizeof(float) / sizeof(Page) + 1;
  };
  add_variant({
      .family = "pointer_chase",
      .name = "loaded-ilp" + std::to_string(ilp),
      .form = "loaded",
      .dials = {.ilp = ilp, .bytes_per_access = sizeof(float4), .working_set_bytes = dram_bytes},
      .ceiling = Ceiling::dram,
      .pass = {.dram_bytes = bytes_per_pass, .latency_cycles = 16.0 * ilp, .dram_waits = 1},
      .flow = {.working_warps = [](int warps) { return warps - 1; }},
      .instructions = {{"LDG.128", ilp}, {"FADD", 4 * ilp}, {"LDG.64", 1}, {"LDS.32", 1}},
      .hot_loops = 2,  // streaming, and chasing
      .loop_trips = {1, 0},
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (shape.block_size <= warp_size || dram_bytes > arena.input_bytes() / 2) return std::int64_t{0};
            return static_cast<std::int64_t>(arena.input_bytes() / bytes_per_pass) / streaming(shape);
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
                                 .passes = static_cast<int>(shape.iterations)});
            // The chasers' bytes, a thousandth of these, are not counted.
            problem.work.bytes = static_cast<double>(streaming(shape)) *
                                 static_cast<double>(shape.iterations) * bytes_per_pass;
            problem.repeatable_bytes =
                static_cast<std::size_t>(streaming(shape)) * sizeof(float);  // behind are clocks
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
                               : walk_mismatch(arena, first_page(shape), shape.grid_size, lines, {});
            };
            problem.own_cycles_per_pass = [=, &arena] {
              return cycles_per_load(arena, first_page(shape), shape.grid_size, 1);
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Loaded<ilp>>),
  });
}

std::string size_name(std::size_t bytes) {
  return bytes < mibibyte ? std::to_string(bytes / kibibyte) + "KiB"
                          : std::to_string(bytes / mibibyte) + "MiB";
}

const Registration registered{[] {
  for (const bool timed : {false, true}) {
    const std::string method = timed ? "-timed" : "";
    add({.name = "l1" + method,
         .form = "l1",
         .cache = Cache::l1,
         .bytes = 16 * kibibyte,
         .latency_cycles = 35,
         .timed = timed});
    add({.name = "l2" + method,
         .form = "l2",
         .cache = Cache::l2,
         .bytes = 2 * mibibyte,
         .latency_cycles = 280,
         .timed = timed});
    add({.name = "dram" + method,
         .form = "dram",
         .cache = Cache::l2,
         .bytes = dram_bytes,
         .cold = true,
         .latency_cycles = 680,
         .timed = timed});
  }
  // DRAM's latency over the pages that the chain runs through: what the TLBs add
  for (const std::size_t bytes : {32 * mibibyte, 128 * mibibyte, 512 * mibibyte})
    add({.name = "dram-" + size_name(bytes),
         .series = "dram",
         .form = "dram",
         .cache = Cache::l2,
         .bytes = bytes,
         .cold = true,
         .latency_cycles = 680});
  // The staircase. Its last steps are dram-512MiB and dram: of sets so large the L1 and the L2 hold next to
  // nothing, and to fetch them ahead would take longer than to chase through them.
  for (std::size_t bytes = 4 * kibibyte; bytes <= 256 * mibibyte; bytes *= 2)
    add({.name = "walk-" + size_name(bytes),
         .series = "walk",
         .form = "walk",
         .cache = Cache::l1,
         .bytes = bytes,
         .latency_cycles = bytes <= 128 * kibibyte  ? 35.0
                           : bytes <= 32 * mibibyte ? 280.0
                                                    : 680.0});
  for (int line = 0; line < lone_lines; ++line)
    add({.name = "l2-line" + std::to_string(line),
         .series = "l2-line",
         .form = "l2-line",
         .cache = Cache::l2,
         .bytes = sizeof(Line),
         .lone = line,
         .latency_cycles = 280});
  add_loaded<1>();
  add_loaded<4>();
}};

}  // namespace

}  // namespace occbench::pointer_chase
