// SPDX-License-Identifier: Apache-2.0
// Shows: the return rate of shared memory, L1 sets, the cost of L2 requests, and the start interval of a
//   block's warps.
// Expected: H200: a lane's 16 bytes return 3 cycles after its first 4; five lines of a set evict each other,
//   four do not; 32 bytes from each of four lines take 1.7 times as long as one whole line; warps start 4
//   cycles apart.
// Published: Jia et al. (2018, Volta) for the sets; Mei and Chu (TPDS 2017).
#include <algorithm>
#include <bit>
#include <vector>

#include "harness/theory/hardware.hpp"
#include "kernels/calibration/calibration.cuh"

namespace occbench::probes {

using calibration::Parameters;

// ---- Shared memory ----

constexpr unsigned rows = 16;
constexpr unsigned row_bytes = 512;  // 16 bytes per lane
constexpr int links = 12;            // loads per iteration

__host__ __device__ constexpr unsigned next_row(unsigned row) { return (5 * row + 3) % rows; }

/// Each lane follows its own chain; the first four of a load's 16 bytes are the link.
struct WideChain {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    __shared__ __align__(16) unsigned table[rows * row_bytes / 4];
    const unsigned first = device::shared_address(table);
#pragma unroll 1
    for (unsigned x = threadIdx.x; x < rows * row_bytes / 4; x += blockDim.x)
      table[x] = first + next_row(x / (row_bytes / 4)) * row_bytes + x % (row_bytes / 4) / 4 * 16;
    __syncthreads();
    unsigned at = first + (threadIdx.x / 32 + threadIdx.x) % rows * row_bytes + threadIdx.x % 32 * 16;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < links; ++i) {
        [[maybe_unused]] unsigned rest[3];
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%0];"
                     : "+r"(at), "=r"(rest[0]), "=r"(rest[1]), "=r"(rest[2]));
      }
    }
    p.output[device::thread_index()] = static_cast<float>((at - first) / row_bytes);
  }
};

// ---- Beginning ----

struct BeginParameters {
  float*
      output;  ///< one per thread, then per block the cycles from its first to its last warp, without warp 0
  int iterations;
};

/// Each warp reads the clock first.
struct Begin {
  using Parameters = BeginParameters;

  static __device__ void run(const Parameters& p) {
    const long long now = clock64();
    __shared__ long long began[32];
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) began[warp] = now;
    const std::int64_t index = device::thread_index();
    float x = calibration::chain_start(index, 0);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) x = fmaf(-x, x, calibration::drift);
    p.output[index] = x;
    __syncthreads();
    // Warp 0 is excluded, since it may start with a census.
    if (threadIdx.x == 0) {
      long long earliest = began[1];
      long long latest = began[1];
#pragma unroll 1
      for (int w = 2; w < static_cast<int>(blockDim.x) / 32; ++w) {
        earliest = min(earliest, began[w]);
        latest = max(latest, began[w]);
      }
      p.output[device::thread_count() + blockIdx.x] = static_cast<float>(latest - earliest);
    }
  }
};

// ---- The L1's sets ----

struct alignas(128) Line {
  const Line* next;
  unsigned char rest[120];
};

constexpr std::size_t region_lines = std::size_t{1} << 19;  // 64 MiB: covered by the parity masks
constexpr int groups = 64;
constexpr int unrolled = 16;

struct SetParameters {
  const Line* const* first;  ///< of each group's chain
  std::uint64_t* walks;      ///< per block: its end and its cycles
  int iterations;
};

/// One warp per block cycles through the lines of a group; laps after the first are timed.
struct SetChain {
  using Parameters = SetParameters;

  static __device__ __forceinline__ void steps(const Line*& at, int iterations) {
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < unrolled; ++i) asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
    }
  }

  static __device__ void run(const Parameters& p) {
    const Line* at = p.first[blockIdx.x % groups];
    steps(at, 4);
    const long long start = clock64();
    steps(at, p.iterations);
    const long long end = clock64();
    if (threadIdx.x == 0) {
      p.walks[2 * blockIdx.x] = reinterpret_cast<std::uint64_t>(at);
      p.walks[2 * blockIdx.x + 1] = static_cast<std::uint64_t>(end - start);
    }
  }
};

// ---- The L2's requests ----

constexpr int gathers = 4;                // loads in flight per iteration
constexpr unsigned set_lines = 1U << 15;  // 4 MiB
constexpr unsigned apart = 257;           // lines between the parts of a gather

struct GatherParameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
};

/// A warp loads 128 bytes at a time: one whole line, or 32 bytes from each of four.
template <bool whole>
struct Gather {
  using Parameters = GatherParameters;

  /// Offset in the set, in elements, of load j of a warp in an iteration.
  static __host__ __device__ constexpr unsigned element(unsigned warp, unsigned iteration, unsigned j,
                                                        unsigned lane) {
    const unsigned load = (warp * 40503U + iteration * 12289U + j * 8191U) % set_lines;
    if (whole) return load * 32 + lane;
    return (load + lane / 8 * apart) % set_lines * 32 + load % 4 * 8 + lane % 8;
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const auto warp = static_cast<unsigned>(index / 32);
    const unsigned lane = threadIdx.x % 32;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float x[gathers];
#pragma unroll
      for (int j = 0; j < gathers; ++j)
        x[j] =
            __ldcg(p.input + element(warp, static_cast<unsigned>(iteration), static_cast<unsigned>(j), lane));
#pragma unroll
      for (int j = 0; j < gathers; ++j) sum += x[j];
    }
    p.output[index] = sum;
  }
};

namespace {

void add_wide_chain() {
  calibration::add({.name = "shared-chain-16B",
                    .family = "probes",
                    .iteration = {.latency_cycles = 27.0 * links},
                    .instructions = {{"STS.32", 1}, {"LDS.128", links}},
                    .hot_loops = 2,  // linking, and following
                    .operations = links,
                    .fixed_block_size = 32,
                    .reference =
                        [](const float*, int iterations) {
                          return calibration::of_each_lane([=](int thread) {
                            unsigned row = static_cast<unsigned>(thread) % rows;
                            for (int step = 0; step < iterations * links; ++step) row = next_row(row);
                            return row;
                          });
                        },
                    .entry = reinterpret_cast<const void*>(free_entry<WideChain>)});
}

void add_begin() {
  add_variant({
      .family = "probes",
      .name = "begin",
      .ceiling = Ceiling::none,
      .iteration = {.flop = 2, .latency_cycles = 14},
      .instructions = {{"FFMA", 1}, {"LDS.64", 1}},
      .hot_loops = 2,  // a delay loop, and the search for first and last
      .fixed_block_size = 1024,
      .l2_before = L2::warm,
      .check_iterations = 5,
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const auto threads = static_cast<std::size_t>(shape.threads());
            const auto blocks = static_cast<std::size_t>(shape.grid_size);
            Problem problem;
            problem.set_parameters(
                BeginParameters{arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work.operations = static_cast<double>(shape.threads() * shape.iterations);
            problem.repeatable_bytes = threads * sizeof(float);  // followed by clock values
            problem.poison = [=, &arena] { arena.poison_output((threads + blocks) * sizeof(float)); };
            problem.mismatch = [=, &arena] {
              const auto outputs = calibration::of_each_lane(
                  [&](int thread) { return calibration::chain_after(thread, 0, shape.iterations); });
              return arena.first_mismatch<float>(threads, 0, [&](std::size_t i) { return outputs[i % 32]; });
            };
            // Per warp.
            problem.own_cycles_per_iteration = [=, &arena] {
              double sum = 0;
              for (std::size_t block = 0; block < blocks; ++block)
                sum += arena.output_value<float>(threads + block);
              return sum / static_cast<double>(blocks) / (shape.block_size / 32.0 - 2);
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<Begin>),
  });
}

struct Pair {
  std::uint64_t end, cycles;
};

/// The L1 tag index of a line, by its address.
std::size_t index_of(const Line* line) {
  const std::size_t number = reinterpret_cast<std::uintptr_t>(line) / sizeof(Line);
  std::size_t place = 0;
  for (std::size_t i = 0; i < theory::hardware::l1_parities.size(); ++i)
    place |= static_cast<std::size_t>(std::popcount(number & theory::hardware::l1_parities[i]) & 1) << i;
  return place;
}

/// Groups of random lines with equal tag index; the groups differ.
std::vector<std::vector<std::size_t>> groups_in(const Line* region, int lines) {
  std::vector<std::vector<std::size_t>> found(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t place = g * 8 % 512 + g / 8 % 8;
    for (unsigned draw = 0; found[g].size() < static_cast<std::size_t>(lines); ++draw) {
      const std::size_t line = mix(static_cast<unsigned>(g) * 65536U + draw) % region_lines;
      if (index_of(region + line) == place && std::ranges::find(found[g], line) == found[g].end())
        found[g].push_back(line);
    }
  }
  return found;
}

/// The first line of each group, stored after the region of linked lines.
const Line* const* chains_of(Arena& arena, int lines) {
  const std::string name = "probes-set-" + std::to_string(lines);
  const std::size_t heads = groups * sizeof(const Line*) / sizeof(Line) + 1;
  const Line* const region =
      arena.table<Line>(name, region_lines + heads, [=](Line* first, std::size_t, cudaStream_t stream) {
        std::vector<const Line*> starts;
        for (const std::vector<std::size_t>& group : groups_in(first, lines)) {
          for (std::size_t i = 0; i < group.size(); ++i) {
            const Line* const next = first + group[(i + 1) % group.size()];
            check(cudaMemcpyAsync(first + group[i], &next, sizeof next, cudaMemcpyHostToDevice, stream),
                  "linking a chain");
            check(cudaStreamSynchronize(stream), "linking a chain");
          }
          starts.push_back(first + group.front());
        }
        check(cudaMemcpyAsync(first + region_lines, starts.data(), starts.size() * sizeof(const Line*),
                              cudaMemcpyHostToDevice, stream),
              "linking a chain");
        check(cudaStreamSynchronize(stream), "linking a chain");
      });
  return reinterpret_cast<const Line* const*>(region + region_lines);
}

void add_set(int lines) {
  add_variant({
      .family = "probes",
      .name = "l1-set-" + std::to_string(lines),
      .dials = {.data_type = "u64", .bytes_per_access = sizeof(const Line*)},
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = 32.0 * unrolled},
      .instructions = {{"LDG.64", 2 * unrolled}},  // untimed and timed laps
      .hot_loops = 2,
      .fixed_block_size = 32,
      .l2_before = L2::warm,
      .check_iterations = 8,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const Line* const* const first = chains_of(arena, lines);
            const auto* const region = reinterpret_cast<const Line*>(first) - region_lines;
            const std::int64_t steps = shape.iterations * unrolled;
            Problem problem;
            problem.set_parameters(SetParameters{.first = first,
                                                 .walks = arena.output<std::uint64_t>(),
                                                 .iterations = static_cast<int>(shape.iterations)});
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [&arena, shape] {
              arena.poison_output(static_cast<std::size_t>(shape.grid_size) * sizeof(Pair));
            };
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena]() -> std::optional<std::string> {
              const auto chains = groups_in(region, lines);
              for (std::size_t b = 0; b < static_cast<std::size_t>(shape.grid_size); ++b) {
                const auto walk = arena.output_value<Pair>(b);
                const auto& chain = chains[b % groups];
                const Line* const end =
                    region + chain[static_cast<std::size_t>(steps + 4 * unrolled) % chain.size()];
                if (walk.end != reinterpret_cast<std::uint64_t>(end))
                  return "wrong result: block " + std::to_string(b) + " ends at another line than the CPU";
              }
              return std::nullopt;
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              double sum = 0;
              for (std::size_t b = 0; b < static_cast<std::size_t>(shape.grid_size); ++b)
                sum += static_cast<double>(arena.output_value<Pair>(b).cycles);
              return sum / static_cast<double>(steps) / shape.grid_size;
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<SetChain>),
  });
}

template <bool whole>
void add_gather() {
  add_variant({
      .family = "probes",
      .name = whole ? "gather-whole" : "gather-parts",
      .dials = {.ilp = gathers, .bytes_per_access = 4},
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = 300, .pipe_cycles_per_warp = 8.0 * gathers},
      .instructions = {{"LDG.32", gathers}, {"FADD", gathers}},
      .l2_before = L2::warm,
      .check_iterations = 5,
      .prepare =
          [](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(GatherParameters{arena.input<float>(), arena.output<float>(),
                                                    static_cast<int>(shape.iterations)});
            const double loads = static_cast<double>(shape.threads() * shape.iterations) * gathers;
            problem.work = {.bytes = loads * 4, .flop = loads, .operations = loads};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto input = arena.reference_input<float>(std::size_t{set_lines} * 32);
              return arena.first_mismatch<float>(
                  static_cast<std::size_t>(shape.threads()), 1e-4, [&](std::size_t thread) {
                    double sum = 0;
                    for (unsigned iteration = 0; iteration < static_cast<unsigned>(shape.iterations);
                         ++iteration)
                      for (unsigned j = 0; j < gathers; ++j)
                        sum += input[Gather<whole>::element(static_cast<unsigned>(thread / 32), iteration, j,
                                                            thread % 32)];
                    return sum;
                  });
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<Gather<whole>>),
  });
}

const Registration memory_kernels{[] {
  add_wide_chain();
  add_begin();
  for (const int lines : {3, 4, 5, 6}) add_set(lines);
  add_gather<true>();
  add_gather<false>();
}};

}  // namespace

}  // namespace occbench::probes
