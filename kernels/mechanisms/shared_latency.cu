// SPDX-License-Identifier: Apache-2.0
// Shows: the latency of shared-memory loads, the loads in flight that saturate the pipe, and the cost of
//   bank conflicts.
// Expected: min(warps x ILP x 128 B / latency, 128 B per cycle / conflict) with a latency of 23-33 cycles:
//   24 warps with one load or six with four suffice, and fewer under conflicts.
// Found: H200: 23 cycles; one load per thread reaches 99 % with 32 warps but 77 % with 64, for an unknown
//   reason.
// Published: PMPP 6; Wong et al. (ISPASS 2010), Mei and Chu (TPDS 2017); Volkov (2016) for the form of the
//   curve.
#include "kernels/chain.cuh"
#include "kernels/family.cuh"

namespace occbench::shared_latency {

// Each word holds the shared-memory address of the next, word map(x) mod words, so no address arithmetic is
// needed.
constexpr unsigned words = 2048;
constexpr unsigned word_bytes = 4;
constexpr int loads_per_iteration =
    16;  // per reading thread; the loop's three instructions only take issue slots

struct Parameters {
  float* output;
  AffineMap<unsigned> map;
  unsigned
      lane_stride;  ///< distance of adjacent lanes in words (or 16-byte units), which is the bank conflict
  int iterations;
};

/// Links the block's words; returns the address of the first.
__device__ __forceinline__ unsigned linked_words(const Parameters& p) {
  __shared__ __align__(16) unsigned table[words];
  const unsigned first = device::shared_address(table);
#pragma unroll 1
  for (unsigned x = threadIdx.x; x < words; x += blockDim.x)
    table[x] = first + word_bytes * (p.map(x) % words);
  __syncthreads();
  return first;
}

/// `at` = *`at`, `width` bytes of it. Volatile, since nvcc narrows loads with unused words.
template <int width = word_bytes>
__device__ __forceinline__ void follow(unsigned& at) {
  if constexpr (width == word_bytes) {
    asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at));
  } else {
    unsigned y, z, w;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%0];" : "+r"(at), "=r"(y), "=r"(z), "=r"(w));
  }
}

/// One lane of the block follows the chain, one load per iteration. Outputs its end and the cycles of all
/// iterations.
struct Chain {
  using Parameters = shared_latency::Parameters;

  static __device__ void run(const Parameters& p) {
    const unsigned first = linked_words(p);
    if (threadIdx.x != 0) return;
    unsigned at = first + word_bytes * (blockIdx.x % words);
    const long long cycles = device::chase(at, p.iterations, [](unsigned& word) { follow(word); });
    p.output[blockIdx.x] = static_cast<float>((at - first) / word_bytes);
    p.output[gridDim.x + blockIdx.x] = static_cast<float>(cycles);
  }
};

/// The second method.
struct TimedChain {
  using Parameters = shared_latency::Parameters;

  static __device__ void run(const Parameters& p) {
    const unsigned first = linked_words(p);
    if (threadIdx.x != 0) return;
    unsigned at = first + word_bytes * (blockIdx.x % words);
    constexpr unsigned never = 1;  // addresses are even
    long long cycles;
    const auto step = [](unsigned& word) { follow(word); };
    if (!device::timed_chase(at, p.iterations, never, step, cycles)) return;
    p.output[blockIdx.x] = static_cast<float>((at - first) / word_bytes);
    p.output[gridDim.x + blockIdx.x] = static_cast<float>(cycles);
  }
};

/// Start of chain `chain` of thread `thread`, in words or 16-byte units.
__host__ __device__ constexpr unsigned start_of(unsigned thread, unsigned chain, unsigned lane_stride) {
  return thread % 32 * lane_stride + thread / 32 * 37 + chain * 131;
}

/// Every lane follows `ilp` chains at once. All advance by the same number of words, so the lanes keep their
/// distance. Outputs the sum of the final words.
template <int ilp, int width>
struct Read {
  using Parameters = shared_latency::Parameters;

  static __device__ void run(const Parameters& p) {
    const unsigned first = linked_words(p);
    unsigned at[ilp];
#pragma unroll
    for (int j = 0; j < ilp; ++j)
      at[j] = first + width * start_of(threadIdx.x, j, p.lane_stride) % (words * word_bytes);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int step = 0; step < loads_per_iteration / ilp; ++step) {
#pragma unroll
        for (int j = 0; j < ilp; ++j) follow<width>(at[j]);
      }
    }
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < ilp; ++j) sum += (at[j] - first) / word_bytes;
    p.output[device::thread_index()] = static_cast<float>(sum);
  }
};

namespace {

constexpr double latency_cycles = 24;  // approximate; only sizes the work

constexpr unsigned stride = 611;  // odd, so that a chain visits all words

void add_chain(bool timed, const void* entry) {
  const int loads = timed ? device::timed_chase_loads : 1;  // per iteration
  constexpr double clock_read_cycles = 60;                  // cycles per iteration, about
  add_variant({
      .family = "shared_latency",
      .name = timed ? "chain-timed" : "chain",
      .form = timed ? "timed" : "chain",
      .baseline = timed ? "chain" : "",
      .dials = {.data_type = "u32", .working_set_bytes = words * word_bytes, .bank_conflict = 1},
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = loads * latency_cycles + (timed ? clock_read_cycles : 0)},
      .flow = {.working_warps = [](int) { return 1; }, .layout = {.lanes = 1}},
      // linking, and the chain: unless timed, by eight loads and by one
      .instructions = {{"STS.32", 1}, {"LDS.32", timed ? loads : device::chase_unrolled + 1}},
      .hot_loops = timed ? 2 : 3,
      .loop_trips =
          timed ? std::vector<double>{0, 1} : std::vector<double>{0, 1.0 / device::chase_unrolled, 0},
      .l2_before = L2::warm,
      .check_iterations = 100,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const auto blocks = static_cast<std::size_t>(shape.grid_size);
            const auto steps = static_cast<std::uint64_t>(shape.iterations * loads);
            Problem problem;
            problem.set_parameters(Parameters{.output = arena.output<float>(),
                                              .map = scattered<unsigned>(),
                                              .lane_stride = 1,
                                              .iterations = static_cast<int>(shape.iterations)});
            problem.work.operations = static_cast<double>(steps) * shape.grid_size;
            problem.poison = [=, &arena] { arena.poison_output(2 * blocks * sizeof(float)); };
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena] {
              return arena.first_mismatch<float>(blocks, 0, [=](std::size_t block) {
                return scattered<unsigned>().advance(static_cast<unsigned>(block), steps) % words;
              });
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              return arena.output_value<float>(blocks) / static_cast<double>(shape.iterations);
            };
            return problem;
          },
      .entry = entry,
  });
}

template <int ilp, int width>
void add_read(int conflict) {
  constexpr int depth = loads_per_iteration / ilp;
  const double pipe_cycles = double(conflict) * width / word_bytes;  // per load of a warp
  add_variant({
      .family = "shared_latency",
      .name = (width == word_bytes ? "read-ilp" : "read16B-ilp") + std::to_string(ilp) + "-conflict" +
              std::to_string(conflict),
      .form = "read",
      .dials = {.data_type = "u32",
                .ilp = ilp,
                .working_set_bytes = words * word_bytes,
                .bank_conflict = conflict},
      .ceiling = Ceiling::shared_memory,
      .iteration = {.latency_cycles = depth * (latency_cycles + ilp * pipe_cycles - 1),
                    .pipe_cycles_per_warp = loads_per_iteration * pipe_cycles},
      .flow = {.layout = {.bank_conflict = double(conflict), .store_conflict = double(conflict)}},
      .instructions = {{"STS.32", 1}, {"LDS." + std::to_string(8 * width), loads_per_iteration}},
      .hot_loops = 2,  // linking, and reading
      .loop_trips = {0, 1},
      .l2_before = L2::warm,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            // Units of `width` bytes: a wide load follows its first word.
            const AffineMap<unsigned> map{1, stride * width / word_bytes};
            Problem problem;
            problem.set_parameters(Parameters{.output = arena.output<float>(),
                                              .map = map,
                                              .lane_stride = static_cast<unsigned>(conflict),
                                              .iterations = static_cast<int>(shape.iterations)});
            const auto threads = static_cast<std::size_t>(shape.threads());
            problem.work.bytes = static_cast<double>(threads) * static_cast<double>(shape.iterations) *
                                 loads_per_iteration * width;
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena] {
              const auto block = static_cast<unsigned>(shape.block_size);
              std::vector<double> sums(block);  // of one block; all are equal
              for (unsigned thread = 0; thread < block; ++thread)
                for (unsigned chain = 0; chain < ilp; ++chain)
                  sums[thread] += map.advance(width / word_bytes *
                                                  start_of(thread, chain, static_cast<unsigned>(conflict)),
                                              static_cast<std::uint64_t>(shape.iterations * depth)) %
                                  words;
              return arena.first_mismatch<float>(threads, 0, [&](std::size_t i) { return sums[i % block]; });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Read<ilp, width>>),
  });
}

const Registration registered{[] {
  add_chain(false, reinterpret_cast<const void*>(free_entry<Chain>));
  add_chain(true, reinterpret_cast<const void*>(free_entry<TimedChain>));
  for_each_value<1, 2, 4, 8>([]<int ilp>(std::integral_constant<int, ilp>) {
    for (const int conflict : {1, 2, 4, 8, 16, 32}) add_read<ilp, word_bytes>(conflict);
    if constexpr (ilp <= 4) add_read<ilp, 16>(1);  // eight would need too many registers for full occupancy
  });
}};

}  // namespace

}  // namespace occbench::shared_latency
