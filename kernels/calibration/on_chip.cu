// SPDX-License-Identifier: Apache-2.0
// Shows: latency and bandwidth of shared memory and L1, and the bandwidth of spills.
// Expected: cc 9.0: 128 bytes per cycle from either, shared-memory latency of 23 cycles.
// Published: Wong et al. (ISPASS 2010), Jia et al. (2018, Volta), Luo et al. (2024, Hopper).
#include <array>
#include <cstring>

#include "kernels/calibration/calibration.cuh"

namespace occbench::calibration {

constexpr int slots = 16;      // words per thread
constexpr int kept_slots = 4;  // loaded, and as many others stored, per iteration

/// Slots are far enough apart that no access covers two.
__host__ __device__ constexpr int slot_of(int iteration, int i) {
  return (iteration * kept_slots + i) * 5 % slots;
}

/// Accesses of spilled registers, forced by an array index known only at run time.
struct Spill {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned own[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) own[j] = word_start(index, j);
    unsigned x = word_start(index, slots);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < kept_slots; ++i) {
        x = logic(x, own[slot_of(iteration, i + 1)]);  // stored 15 steps ago
        own[slot_of(iteration, i)] = x;
      }
    }
    p.output[index] = static_cast<float>(x >> 8);
  }
};

constexpr unsigned rows = 16;  // of a table, of 32 words each
constexpr unsigned row_bytes = 128;
constexpr int links = 12;  // loads per iteration

/// The map from a row to the next visits all: multiplier 1 modulo 4, increment odd.
__host__ __device__ constexpr unsigned next_row(unsigned row) { return (5 * row + 3) % rows; }

/// Each lane follows its own chain in its own bank.
struct SharedChain {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    __shared__ unsigned table[rows * 32];
    const unsigned first = device::shared_address(table);
#pragma unroll 1
    for (unsigned x = threadIdx.x; x < rows * 32; x += blockDim.x)
      table[x] = first + next_row(x / 32) * row_bytes + x % 32 * 4;
    __syncthreads();
    unsigned at = first + (threadIdx.x / 32 + threadIdx.x) % rows * row_bytes + threadIdx.x % 32 * 4;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < links; ++i) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at));
    }
    p.output[device::thread_index()] = static_cast<float>((at - first) / row_bytes);
  }
};

/// Where loads hit: all are on the SM.
enum class Space { shared, l1 };
constexpr int hits = 8;  // loads per iteration, independent of each other

/// Every warp repeatedly reads `hits` rows of 32 x `width` bytes.
template <Space space, int width>
struct Hits {
  using Parameters = calibration::Parameters;
  static constexpr int words = width / 4;  // per lane
  static constexpr int set_words = hits * 32 * words;

  static __device__ __forceinline__ void load(unsigned (&x)[words], const unsigned* at, unsigned shared_at) {
    if constexpr (space == Space::shared && words == 1)
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x[0]) : "r"(shared_at));
    else if constexpr (space == Space::shared)
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(shared_at));
    else if constexpr (words == 1)
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(x[0]) : "l"(at));
    else
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "l"(at));
  }

  static __device__ void run(const Parameters& p) {
    const auto* const input = reinterpret_cast<const unsigned*>(p.input);
    [[maybe_unused]] __shared__ __align__(16) unsigned table[space == Space::shared ? set_words : 1];
    unsigned shared_at = 0;
    const unsigned lane = threadIdx.x % 32 * words;
    if constexpr (space == Space::shared) {
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < set_words; i += blockDim.x) table[i] = input[i];
      __syncthreads();
      shared_at = device::shared_address(table) + lane * 4;
    }
    unsigned first = lane;  // alternates between two sets in the L1, otherwise loads would be hoisted
    unsigned sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const unsigned* const at = input + first;
      if constexpr (space == Space::l1) first ^= set_words;
      unsigned x[hits][words];
#pragma unroll
      for (int i = 0; i < hits; ++i) load(x[i], at + i * 32 * words, shared_at + i * 32 * width);
#pragma unroll
      for (int i = 0; i < hits; ++i) {
#pragma unroll
        for (int w = 0; w < words; ++w) sum += x[i][w];
      }
    }
    p.output[device::thread_index()] = static_cast<float>(sum >> 8);
  }
};

namespace {

void add_spill() {
  add({.name = "spill",
       .iteration = {.latency_cycles = 50.0 * kept_slots, .pipe_cycles_per_warp = 8.0 * kept_slots},
       .instructions = {{"LDL", kept_slots}, {"STL", kept_slots}},
       .may_spill = true,
       .bytes = sizeof(unsigned) * kept_slots,
       .operations = kept_slots,
       .reference =
           [](const float*, int iterations) {
             return of_each_lane([=](int thread) {
               std::array<unsigned, slots> own{};
               for (int j = 0; j < slots; ++j) own[static_cast<std::size_t>(j)] = word_start(thread, j);
               unsigned x = word_start(thread, slots);
               for (int iteration = 0; iteration < iterations; ++iteration)
                 for (int i = 0; i < kept_slots; ++i) {
                   x = logic(x, own[static_cast<std::size_t>(slot_of(iteration, i + 1))]);
                   own[static_cast<std::size_t>(slot_of(iteration, i))] = x;
                 }
               return x >> 8;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Spill>)});
}

void add_shared_chain() {
  add({.name = "shared-chain",
       .iteration = {.latency_cycles = 24.0 * links},
       .instructions = {{"STS.32", 1}, {"LDS.32", links}},
       .hot_loops = 2,  // linking, and following
       .operations = links,
       .fixed_block_size = 32,
       .reference =
           [](const float*, int iterations) {
             return of_each_lane([=](int thread) {
               unsigned row = static_cast<unsigned>(thread) % rows;
               for (int step = 0; step < iterations * links; ++step) row = next_row(row);
               return row;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<SharedChain>)});
}

template <Space space, int width>
void add_hits() {
  using Body = Hits<space, width>;
  constexpr bool shared = space == Space::shared;
  Instructions instructions{{(shared ? "LDS." : "LDG.") + std::to_string(8 * width), hits}};
  if (shared) instructions.insert({{"LDG.32", 1}, {"STS.32", 1}});
  add({.name = std::string(shared ? "shared" : "l1") + "-hits-" + std::to_string(width) + "B",
       .iteration = {.latency_cycles = 50, .pipe_cycles_per_warp = hits * width / 4.0},
       .instructions = instructions,
       .hot_loops = shared ? 2 : 1,
       .ceiling = shared ? Ceiling::shared_memory : Ceiling::l1,
       .bytes = double(hits) * width,
       .operations = hits,
       .reference =
           [](const float* input, int iterations) {
             return of_each_lane([=](int thread) {
               unsigned sum = 0;
               for (int iteration = 0; iteration < iterations; ++iteration)
                 for (int i = 0; i < hits * Body::words; ++i) {
                   const int set = shared ? 0 : iteration % 2 * Body::set_words;
                   unsigned word = 0;
                   std::memcpy(&word,
                               input + set + i / Body::words * 32 * Body::words + thread * Body::words +
                                   i % Body::words,
                               sizeof word);
                   sum += word;
                 }
               return sum >> 8;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

const Registration registered{[] {
  add_spill();
  add_shared_chain();
  add_hits<Space::shared, 4>();
  add_hits<Space::shared, 16>();
  add_hits<Space::l1, 4>();
  add_hits<Space::l1, 16>();
}};

}  // namespace

}  // namespace occbench::calibration
