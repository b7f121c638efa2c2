// SPDX-License-Identifier: Apache-2.0
// Shows: the latency of a load at every memory level on an idle GPU.
// Expected: steps over the working set: L1 34-40 cycles, L2 about 280, DRAM 600-690 with steps at TLB
//   limits; two or more latencies among L2 lines.
// Found: H200: 32, 276 and 677-685 cycles, without a TLB step from 32 MiB to 1 GiB; L2 lines at 248-306.
// Published: Saavedra and Smith (1995) for the chase; Wong et al. (ISPASS 2010), Mei and Chu (TPDS 2017) on
//   GPUs.
#include "kernels/mechanisms/pointer_chase/pointer_chase.cuh"

namespace occbench::pointer_chase {

constexpr int touches = 16;  // loads in flight per prefetching thread
// Each launch prefetches at most so many lines, as it starts with an empty L1: under 0.3 % of its time.
constexpr std::uint64_t touched_each_launch = 4096;

struct Parameters {
  const Line* chain;
  std::uint64_t lines;    ///< a power of two
  std::uint64_t touched;  ///< lines to prefetch before the chase: all or none
  Walk* walks;            ///< one per block
  int iterations;
};

template <Cache cache>
__device__ __forceinline__ unsigned low_word(const Line* line) {
  const auto* const word = reinterpret_cast<const unsigned*>(line);
  return cache == Cache::l1 ? *word : __ldcg(word);
}

template <Cache cache>
__device__ __forceinline__ void touch(const Parameters& p) {
  // A small set goes to this SM's L1, a large one to the L2.
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
    p.walks[blockIdx.x] = {};  // never, since lines are aligned; keeps the loads from being removed
}

/// One lane of the block follows the chain, one load per iteration. `cycles`: of the whole chase.
template <Cache cache>
struct Chase {
  using Parameters = pointer_chase::Parameters;

  static __device__ void run(const Parameters& p) {
    touch<cache>(p);
    if (threadIdx.x != 0) return;
    const std::uint64_t start = somewhere(p.lines);
    const Line* at = p.chain + start;
    const long long cycles = device::chase(at, p.iterations, [](const Line*& line) { follow<cache>(line); });
    p.walks[blockIdx.x] = {start, static_cast<std::uint64_t>(at - p.chain),
                           static_cast<std::uint64_t>(p.iterations), static_cast<std::uint64_t>(cycles)};
  }
};

/// The second method. `cycles`: the sum of one load per iteration.
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
    if (!device::timed_chase(at, p.iterations, never, step, cycles)) return;
    p.walks[blockIdx.x] = {
        start, static_cast<std::uint64_t>(at - p.chain),
        std::uint64_t{device::timed_chase_loads} * static_cast<std::uint64_t>(p.iterations),
        static_cast<std::uint64_t>(cycles)};
  }
};

namespace {

constexpr int lone_lines = 16;

/// A line that points to itself, one of `lone_lines` in separate pages.
const Line* lone_line(Arena& arena, int index) {
  constexpr std::size_t apart = 4 * mibibyte / sizeof(Line);
  const auto place = [](int i) { return static_cast<std::size_t>(i) * apart + mix(i) % apart; };
  return arena.table<Line>("pointer_chase-lone", lone_lines * apart,
                           [&](Line* lines, std::size_t, cudaStream_t s) {
                             for (int i = 0; i < lone_lines; ++i) link(lines + place(i), 1, s);
                           }) +
         place(index);
}

/// The dials of an idle chase.
struct Form {
  std::string name;
  std::string series = {};
  std::string form;
  Cache cache = Cache::l1;
  std::size_t bytes = 0;      ///< of the chain, or of a lone line
  int lone = -1;              ///< index of a lone line, or -1: the whole chain
  bool cold = false;          ///< every step must miss the L2
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
  const int loads = f.timed ? device::timed_chase_loads : 1;  // per iteration
  constexpr double clock_read_cycles = 60;                    // cycles per iteration, about
  constexpr std::int64_t check_iterations = 100;
  add_variant({
      .family = "pointer_chase",
      .name = f.name,
      .series = f.series,
      .form = f.timed ? "timed" : f.form,
      .baseline = f.timed ? f.form : "",
      .dials = {.data_type = "u64", .bytes_per_access = sizeof(Line*), .working_set_bytes = f.bytes},
      .ceiling = Ceiling::none,
      .iteration = {.dram_bytes = f.cold ? double(loads * sizeof(Line*)) : 0.0,
                    .latency_cycles = loads * f.latency_cycles + (f.timed ? clock_read_cycles : 0)},
      .flow = {.working_warps = [](int) { return 1; },
               .l2_bytes = f.cold || f.cache == Cache::l1 ? 0.0 : double(loads * sizeof(Line*)),
               .reused_bytes = f.cold || f.cache == Cache::l2 ? 0.0 : double(loads * sizeof(Line*)),
               .layout = {.lanes = 1}},
      // the prefetch loop, and the chase: unless timed, by eight loads and by one
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
            // The verified launch also precedes every timed batch and fetches the set into the L2, as far as
            // it fits.
            const bool ahead = shape.iterations <= check_iterations;
            const bool touched = !f.cold && (ahead || lines <= touched_each_launch);
            Problem problem;
            problem.set_parameters(
                Parameters{.chain = f.lone >= 0 ? lone_line(arena, f.lone) : chain_of(arena, f.bytes),
                           .lines = lines,
                           .touched = touched ? lines : 0,
                           .walks = arena.output<Walk>(),
                           .iterations = static_cast<int>(shape.iterations)});
            const auto steps = static_cast<std::uint64_t>(shape.iterations * loads);
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.grid_size) * sizeof(Walk));
            };
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena] { return mismatch_of(arena, 0, shape.grid_size, lines, steps); };
            problem.own_cycles_per_iteration = [=, &arena] {
              return cycles_per_load(arena, 0, shape.grid_size, loads);
            };
            return problem;
          },
      .entry = entry_of(f),
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
  // DRAM latency by number of pages: the effect of TLBs
  for (const std::size_t bytes : {32 * mibibyte, 128 * mibibyte, 512 * mibibyte})
    add({.name = "dram-" + size_name(bytes),
         .series = "dram",
         .form = "dram",
         .cache = Cache::l2,
         .bytes = bytes,
         .cold = true,
         .latency_cycles = 680});
  // Latency by working set, continued by dram-512MiB and dram: sets that large do not fit any cache, and
  // prefetching them would take longer than the chase.
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
}};

}  // namespace

}  // namespace occbench::pointer_chase
