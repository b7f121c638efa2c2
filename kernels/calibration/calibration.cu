// SPDX-License-Identifier: Apache-2.0
// Shows: what one SM's pipes cost and carry, one quantity a variant: what the model is told, by kernels that
//   it is never judged on (no experiment runs them; `occbench calibrate` runs nothing else).
// Expected: cc 9.0: logic instructions every 2 cycles, FMAs of three registers every 2, shared memory and L1
//   128 bytes a cycle, latencies of 23 and 32 cycles.
// Published: Wong et al. (ISPASS 2010), Jia et al. (2018, Volta) and Luo et al. (2024, Hopper) measure these
//   alike.
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/family.cuh"
#include "kernels/wgmma.cuh"

namespace occbench::calibration {

struct Parameters {
  const float* input;
  float* output;  ///< one per thread
  int passes;
};

// ---- Arithmetic ----

constexpr float drift = 1.8F;  // drift - x * x stays in [-2, 2] and never settles

/// From the index alone: no load stands at the beginning of a block whose turnover is timed.
__host__ __device__ inline float chain_start(std::int64_t thread, int chain) {
  return static_cast<float>(static_cast<int>(thread % 32) + 32 * chain) * 0x1p-8F;
}

/// `depth` dependent FMAs a pass in each of `ilp` chains.
template <int ilp, int depth>
struct Fma {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x[ilp];
#pragma unroll
    for (int j = 0; j < ilp; ++j) x[j] = chain_start(index, j);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
#pragma unroll
      for (int step = 0; step < depth; ++step) {
#pragma unroll
        for (int j = 0; j < ilp; ++j) x[j] = fmaf(-x[j], x[j], drift);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < ilp; ++j) sum += x[j];
    p.output[index] = sum;
  }
};

constexpr int ring = 6;  // words of a thread that the logic instructions run around

__host__ __device__ inline unsigned word_start(std::int64_t thread, int j) {
  return mix(static_cast<unsigned>(thread % 32 * ring + j));
}
/// word ^ (other | constant), which is invertible whatever `other` is: no word ever settles. One LOP3,
/// spelled out because the compiler would take the constants out and make it more.
__host__ __device__ inline unsigned logic(unsigned word, unsigned other) {
#ifdef __CUDA_ARCH__
  asm("lop3.b32 %0, %0, %1, 0x5A5A5A5A, 0x1E;" : "+r"(word) : "r"(other));
  return word;
#else
  return word ^ (other | 0x5A5A5A5AU);
#endif
}

/// `count` logic instructions a pass, each on two registers.
template <int count>
struct Logic {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned x[ring];
#pragma unroll
    for (int j = 0; j < ring; ++j) x[j] = word_start(index, j);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
#pragma unroll
      for (int i = 0; i < count; ++i) x[i % ring] = logic(x[i % ring], x[(i + 1) % ring]);
    }
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < ring; ++j) sum += x[j];
    p.output[index] = static_cast<float>(sum >> 8);
  }
};

constexpr int pairs = 4;

__host__ __device__ inline float coefficient(const float* input, int pair) {
  return 0.5F + 0.25F * input[pair];
}
__host__ __device__ inline float pair_start(const float* input, std::int64_t thread, int value) {
  return input[32 + thread % 32 * 2 * pairs + value];
}

/// `count` FMAs a pass on three different registers each: x += c y and y -= c x turn each pair (x, y) for
/// ever. Those that follow each other share no register, so that none can be kept from one to the next.
template <int count>
struct Operands {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x[pairs];
    float y[pairs];
    float c[pairs];
#pragma unroll
    for (int j = 0; j < pairs; ++j) {
      x[j] = pair_start(p.input, index, j);
      y[j] = pair_start(p.input, index, pairs + j);
      c[j] = coefficient(p.input, j);
    }
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
#pragma unroll
      for (int step = 0; step < count / (2 * pairs); ++step) {
#pragma unroll
        for (int j = 0; j < pairs; ++j) x[j] = fmaf(c[j], y[j], x[j]);
#pragma unroll
        for (int j = 0; j < pairs; ++j) y[j] = fmaf(-c[j], x[j], y[j]);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < pairs; ++j) sum += x[j] + y[j];
    p.output[index] = sum;
  }
};

// ---- Tensor cores ----

/// Exact in bf16, whose significand has 8 bits.
__host__ __device__ inline float coarse(unsigned index) {
  return static_cast<float>(static_cast<int>(mix(index) >> 24) * 2 - 255) * 0x1p-8F;
}
#ifdef __CUDACC__
/// This element and the next k's, in bf16.
__device__ __forceinline__ unsigned pack(unsigned at) {
  return __float_as_uint(coarse(at)) >> 16 | (__float_as_uint(coarse(at + 1)) & 0xFFFF0000U);
}
#endif
/// B's sign changes with the passes at random: the sums wander as those of a long product do.
__host__ __device__ constexpr bool flips(int pass) {
  return (mix(static_cast<unsigned>(pass) + 77) & 1) != 0;
}

// A warp's tile of 32 x 24 sums: every product of two fragments of A and three of B.
constexpr int a_fragments = 2;
constexpr int b_fragments = 3;
constexpr int mma_steps = 8;
constexpr int mma_per_pass = mma_steps * a_fragments * b_fragments;

__host__ __device__ constexpr unsigned a_at(int f, int row, int k) {
  return static_cast<unsigned>(f * 256 + row * 16 + k);
}
__host__ __device__ constexpr unsigned b_at(int f, int k, int column) {
  return static_cast<unsigned>(1024 + f * 128 + column * 16 + k);
}

struct Mma {
  using Parameters = calibration::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 800
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;  // of C; k of A and B
    const auto pack = [](unsigned at) {                        // this element and the next k's
      return __float_as_uint(coarse(at)) >> 16 | (__float_as_uint(coarse(at + 1)) & 0xFFFF0000U);
    };
    unsigned a[a_fragments][4];
    unsigned b[b_fragments][2];
    float d[a_fragments][b_fragments][4] = {};
#pragma unroll
    for (int f = 0; f < a_fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[f][i] = pack(a_at(f, row + i % 2 * 8, column + i / 2 * 8));
    }
#pragma unroll
    for (int f = 0; f < b_fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 2; ++i) b[f][i] = pack(b_at(f, column + i * 8, row));
    }
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const unsigned signs = flips(pass) ? 0x80008000U : 0;
#pragma unroll
      for (int f = 0; f < b_fragments; ++f) {
        b[f][0] ^= signs;
        b[f][1] ^= signs;
      }
#pragma unroll
      for (int step = 0; step < mma_steps; ++step) {
#pragma unroll
        for (int i = 0; i < a_fragments; ++i) {
#pragma unroll
          for (int j = 0; j < b_fragments; ++j)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
                : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
        }
      }
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < a_fragments; ++i) {
#pragma unroll
      for (int j = 0; j < b_fragments; ++j) sum += (d[i][j][0] + d[i][j][1]) + (d[i][j][2] + d[i][j][3]);
    }
    p.output[device::thread_index()] = sum;
#endif
  }
};

// Two warpgroups, each 64 x 256 sums over two slices of 64 k, which the block computes itself.
constexpr int warpgroups = 2;
constexpr int slices = 2;
constexpr int slice_k = 64;  // one row of the 128-byte swizzle
constexpr int wgmma_columns = 256;
constexpr int wgmma_per_pass = slices * slice_k / 16;
constexpr int a_tile_bytes = 64 * slice_k * 2;
constexpr int b_tile_bytes = wgmma_columns * slice_k * 2;
constexpr int a_tiles = warpgroups * slices;
constexpr std::size_t wgmma_smem_bytes = a_tiles * a_tile_bytes + 2 * slices * b_tile_bytes;

/// Element (row or column, k) of tile `tile` of A, or of B behind them.
__host__ __device__ constexpr unsigned wgmma_at(unsigned tile, unsigned row, unsigned k) {
  return (tile * wgmma_columns + row) * slice_k + k;
}

extern __shared__ __align__(1024) unsigned char tiles[];  // the swizzle repeats every 1,024 bytes

struct Wgmma {
  using Parameters = calibration::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr unsigned a_bytes = a_tiles * a_tile_bytes;
    constexpr unsigned row_bytes = slice_k * 2;
    // A's tiles, then B's with its own sign and with the other, two elements at a time.
#pragma unroll 1
    for (unsigned byte = threadIdx.x * 4; byte < wgmma_smem_bytes; byte += blockDim.x * 4) {
      const bool of_a = byte < a_bytes;
      const unsigned b_tile = (byte - a_bytes) / b_tile_bytes;
      const unsigned tile = of_a ? byte / a_tile_bytes : a_tiles + b_tile % slices;
      const unsigned row = byte / row_bytes % (of_a ? 64 : wgmma_columns);
      const unsigned chunk = byte % row_bytes / 16 ^ row % 8;  // the 128-byte swizzle
      const unsigned at = wgmma_at(tile, row, chunk * 8 + byte % 16 / 2);
      const unsigned sign = !of_a && b_tile >= slices ? 0x80008000U : 0;
      *reinterpret_cast<unsigned*>(tiles + byte) = pack(at) ^ sign;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    // In a form that the compiler sees to be the same for all lanes of a warp.
    const int w = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 128, 0);
    const unsigned a_shared = device::shared_address(tiles) + w * slices * a_tile_bytes;
    const unsigned b_shared = device::shared_address(tiles) + a_bytes;
    float d[wgmma_columns / 2] = {};
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const unsigned b_pass = b_shared + (flips(pass) ? slices * b_tile_bytes : 0);
      device::wgmma_fence();
#pragma unroll
      for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
        for (int k = 0; k < slice_k / 16; ++k)
          device::multiply<wgmma_columns>(
              d, device::descriptor(a_shared + slice * a_tile_bytes) + k * device::next_k16,
              device::descriptor(b_pass + slice * b_tile_bytes) + k * device::next_k16);
      }
      device::wgmma_commit();
      device::wgmma_wait<1>();
    }
    device::wgmma_wait<0>();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < wgmma_columns / 2; ++i) {
      asm volatile("" : "+f"(d[i]));  // not before the wait, which does not say that it is about d
      sum += d[i];
    }
    p.output[device::thread_index()] = sum;
#endif
  }
};

// ---- Barriers ----

/// One FMA and `count` barriers a pass. Nothing else stands between the barriers.
template <int count>
struct Barrier {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x = chain_start(index, 0);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      x = fmaf(-x, x, drift);
#pragma unroll
      for (int i = 0; i < count; ++i) asm volatile("bar.sync 0;" ::: "memory");
    }
    p.output[index] = x;
  }
};

/// The same, but for the number of threads, which comes in a register: all of the block's.
template <int count>
struct CountedBarrier {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const auto threads = static_cast<int>(blockDim.x);
    float x = chain_start(index, 0);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      x = fmaf(-x, x, drift);
#pragma unroll
      for (int i = 0; i < count; ++i) asm volatile("bar.sync 0, %0;" ::"r"(threads) : "memory");
    }
    p.output[index] = x;
  }
};

// ---- Local memory ----

constexpr int slots = 16;      // words of a thread's own
constexpr int kept_slots = 4;  // loaded, and others stored, in a pass

/// Far enough from slot to slot that no access takes two of them.
__host__ __device__ constexpr int slot_of(int pass, int i) { return (pass * kept_slots + i) * 5 % slots; }

/// What a spilled register does, without registers: its place in the array is known only at run time.
struct Spill {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned own[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) own[j] = word_start(index, j);
    unsigned x = word_start(index, slots);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
#pragma unroll
      for (int i = 0; i < kept_slots; ++i) {
        x = logic(x, own[slot_of(pass, i + 1)]);  // stored 15 steps ago
        own[slot_of(pass, i)] = x;
      }
    }
    p.output[index] = static_cast<float>(x >> 8);
  }
};

// ---- On-chip memory ----

constexpr unsigned rows = 16;  // of a table of 32 words each
constexpr unsigned row_bytes = 128;
constexpr int links = 12;  // loads of a pass

/// From row to row in an order that visits all: the multiplier is 1 modulo 4, the increment odd.
__host__ __device__ constexpr unsigned next_row(unsigned row) { return (5 * row + 3) % rows; }

/// All lanes follow chains of their own, each in its own bank.
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
    for (int pass = 0; pass < p.passes; ++pass) {
#pragma unroll
      for (int i = 0; i < links; ++i) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(at));
    }
    p.output[device::thread_index()] = static_cast<float>((at - first) / row_bytes);
  }
};

/// Where loads look: all find it on the SM.
enum class Space { shared, l1 };
constexpr int hits = 8;  // loads of a pass, independent of each other

/// Every warp reads `hits` rows of 32 x `width` bytes again and again.
template <Space space, int width>
struct Hits {
  using Parameters = calibration::Parameters;
  static constexpr int words = width / 4;  // of a lane
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
    unsigned first =
        lane;  // in the L1 now of one set, now of the other, or each value would be loaded once for all
    unsigned sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
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

/// What the variants differ in; all put out one value per thread.
struct Form {
  std::string name;
  Pass pass = {};
  Instructions instructions = {};
  int hot_loops = 1;
  bool may_spill = false;
  Ceiling ceiling = Ceiling::none;
  double bytes = 0;       ///< that a thread loads (Spill: stores) in a pass
  double operations = 0;  ///< of whatever is counted, of a thread in a pass
  int fixed_block_size = 0;
  int least_cc = 0;
  bool only_this_cc = false;
  std::size_t dynamic_smem_bytes = 0;
  /// Outputs after so many passes, which repeat from thread to thread; `input` is the arena's, 2,048 values
  /// of it.
  std::function<std::vector<double>(const float* input, int passes)> reference;
  std::function<double(int passes)> tolerance = [](int) { return 0.0; };
  const void* entry = nullptr;
};

void add(const Form& f) {
  Dials dials;  // built in place, g++ 12 warns of an uninitialised string in it
  add_variant({
      .family = "calibration",
      .name = f.name,
      .dials = dials,
      .ceiling = f.ceiling,
      .pass = f.pass,
      .instructions = f.instructions,
      .hot_loops = f.hot_loops,
      .may_spill = f.may_spill,
      .fixed_block_size = f.fixed_block_size,
      .least_cc = f.least_cc,
      .only_this_cc = f.only_this_cc,
      .l2_before = L2::warm,
      .check_iterations = 5,
      .dynamic_smem_bytes = [bytes = f.dynamic_smem_bytes](int) { return bytes; },
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            const int passes = static_cast<int>(shape.iterations);
            const double thread_passes = static_cast<double>(shape.threads()) * passes;
            Problem problem;
            problem.set_parameters(Parameters{arena.input<float>(), arena.output<float>(), passes});
            problem.work = {.bytes = thread_passes * f.bytes,
                            .flop = thread_passes * f.pass.flop,
                            .operations = thread_passes * f.operations};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto outputs = f.reference(arena.reference_input<float>(2048).data(), passes);
              return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()),
                                                 f.tolerance(passes),
                                                 [&](std::size_t i) { return outputs[i % outputs.size()]; });
            };
            return problem;
          },
      .entry = f.entry,
  });
}

/// The outputs of 32 threads, each `output_of(thread)`.
template <class Output>
std::vector<double> of_each_lane(const Output& output_of) {
  std::vector<double> outputs;
  for (int thread = 0; thread < 32; ++thread) outputs.push_back(static_cast<double>(output_of(thread)));
  return outputs;
}

/// What a chain is after so many steps, in exact float32 arithmetic.
float chain_after(int thread, int chain, std::int64_t steps) {
  float x = chain_start(thread, chain);
  for (std::int64_t step = 0; step < steps; ++step) x = std::fma(-x, x, drift);
  return x;
}

template <int ilp, int depth>
void add_fma(const std::string& name) {
  add({.name = name,
       .pass = {.flop = 2.0 * ilp * depth, .latency_cycles = 4.0 * depth + 10},
       .instructions = {{"FFMA", ilp * depth}},
       .operations = ilp * depth,
       .reference =
           [](const float*, int passes) {
             return of_each_lane([=](int thread) {
               float sum = 0;
               for (int j = 0; j < ilp; ++j) sum += chain_after(thread, j, std::int64_t{passes} * depth);
               return sum;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Fma<ilp, depth>>)});
}

template <int count>
void add_logic() {
  add({.name = "logic-" + std::to_string(count),
       .pass = {.latency_cycles = 5.0 * count, .pipe_cycles_per_warp = count / 2.0},
       .instructions = {{"LOP3", count}},
       .ceiling = Ceiling::issue,
       .operations = count,
       .reference =
           [](const float*, int passes) {
             return of_each_lane([=](int thread) {
               std::array<unsigned, ring> x{};
               for (std::size_t j = 0; j < ring; ++j) x[j] = word_start(thread, static_cast<int>(j));
               for (int pass = 0; pass < passes; ++pass)
                 for (std::size_t i = 0; i < count; ++i) x[i % ring] = logic(x[i % ring], x[(i + 1) % ring]);
               unsigned sum = 0;
               for (const unsigned word : x) sum += word;
               return sum >> 8;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Logic<count>>)});
}

template <int count>
void add_operands() {
  static_assert(count % (2 * pairs) == 0);
  add({.name = "operands-" + std::to_string(count),
       .pass = {.flop = 2.0 * count,
                .latency_cycles = 4.0 * count / pairs,
                .pipe_cycles_per_warp = count / 2.0},
       .instructions = {{"FFMA", count}},
       .ceiling = Ceiling::fp32,
       .operations = count,
       .reference =
           [](const float* input, int passes) {
             return of_each_lane([=](int thread) {
               float total = 0;
               for (int j = 0; j < pairs; ++j) {
                 float x = pair_start(input, thread, j);
                 float y = pair_start(input, thread, pairs + j);
                 const float c = coefficient(input, j);
                 for (int step = 0; step < passes * count / (2 * pairs); ++step) {
                   x = std::fma(c, y, x);
                   y = std::fma(-c, x, y);
                 }
                 total += x + y;
               }
               return total;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Operands<count>>)});
}

/// How often B has been added with its own sign less how often with the other. `turns`: a flip stays until
/// the next.
double walk(int passes, bool turns) {
  double walked = 0;
  double sign = 1;
  for (int pass = 0; pass < passes; ++pass) {
    if (!turns) sign = 1;
    if (flips(pass)) sign = -sign;
    walked += sign;
  }
  return walked;
}

void add_mma() {
  add({.name = "mma-2x3",
       .pass = {.flop = mma_per_pass * 2.0 * 16 * 8 * 16 / 32,
                .latency_cycles = 33.0 * mma_steps,
                .pipe_cycles_per_warp = 1.6 * mma_per_pass},
       .instructions = {{"HMMA", mma_per_pass}},
       .ceiling = Ceiling::tensor_bf16,
       .least_cc = 80,
       .reference =
           [](const float*, int passes) {
             const double times = mma_steps * walk(passes, true);
             return of_each_lane([=](int thread) {
               double sum = 0;
               for (int i = 0; i < 4 * a_fragments * b_fragments; ++i) {
                 const int row = thread / 4 + i % 4 / 2 * 8;
                 const int column = thread % 4 * 2 + i % 2;
                 for (int k = 0; k < 16; ++k)
                   sum += times * coarse(a_at(i / 4 / b_fragments, row, k)) *
                          coarse(b_at(i / 4 % b_fragments, k, column));
               }
               return sum;
             });
           },
       .tolerance = [](int passes) { return 4e-6 * 16 * 24 * mma_steps * passes; },
       .entry = reinterpret_cast<const void*>(free_entry<Mma>)});
}

std::vector<double> wgmma_reference(int passes) {
  const double times = walk(passes, false);
  std::vector<double> outputs(128 * warpgroups);
  for (unsigned w = 0; w < warpgroups; ++w)
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned column = 0; column < wgmma_columns; ++column) {
        double sum = 0;
        for (unsigned slice = 0; slice < slices; ++slice)
          for (unsigned k = 0; k < slice_k; ++k)
            sum += double{coarse(wgmma_at(w * slices + slice, row, k))} *
                   coarse(wgmma_at(a_tiles + slice, column, k));
        // The thread that holds it: warp v of the group has rows 16 v to 16 v + 15, in two halves.
        outputs[128 * w + row / 16 * 32 + row % 8 * 4 + column % 8 / 2] += times * sum;
      }
  return outputs;
}

void add_wgmma() {
  constexpr int block = 128 * warpgroups;
  add({.name = "wgmma",
       .pass = {.flop = 2.0 * warpgroups * 64 * wgmma_columns * slices * slice_k / block,
                .latency_cycles = 2.0 * wgmma_columns},
       .instructions = {{"FMUL", 2}, {"STS.32", 1}, {"HGMMA", wgmma_per_pass}},
       .hot_loops = 2,  // filling the tiles, and multiplying
       .ceiling = Ceiling::tensor_bf16,
       .fixed_block_size = block,
       .least_cc = 90,
       .only_this_cc = true,
       .dynamic_smem_bytes = wgmma_smem_bytes,
       .reference = [](const float*, int passes) { return wgmma_reference(passes); },
       .tolerance = [](int passes) { return 4e-6 * 128 * slices * slice_k * passes; },
       .entry = reinterpret_cast<const void*>(free_entry<Wgmma>)});
}

template <int count, bool counted>
void add_barrier() {
  using Body = std::conditional_t<counted, CountedBarrier<count>, Barrier<count>>;
  add({.name = (counted ? "barrier-counted-" : "barrier-") + std::to_string(count),
       .pass = {.latency_cycles = 15 + 20.0 * count, .pipe_cycles_per_warp = 2.0 * count},
       .instructions = {{"BAR", count}, {"FFMA", 1}},
       .operations = count,
       .reference =
           [](const float*, int passes) {
             return of_each_lane([=](int thread) { return chain_after(thread, 0, passes); });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

void add_spill() {
  add({.name = "spill",
       .pass = {.latency_cycles = 50.0 * kept_slots, .pipe_cycles_per_warp = 8.0 * kept_slots},
       .instructions = {{"LDL", kept_slots}, {"STL", kept_slots}},
       .may_spill = true,
       .bytes = sizeof(unsigned) * kept_slots,
       .operations = kept_slots,
       .reference =
           [](const float*, int passes) {
             return of_each_lane([=](int thread) {
               std::array<unsigned, slots> own{};
               for (int j = 0; j < slots; ++j) own[static_cast<std::size_t>(j)] = word_start(thread, j);
               unsigned x = word_start(thread, slots);
               for (int pass = 0; pass < passes; ++pass)
                 for (int i = 0; i < kept_slots; ++i) {
                   x = logic(x, own[static_cast<std::size_t>(slot_of(pass, i + 1))]);
                   own[static_cast<std::size_t>(slot_of(pass, i))] = x;
                 }
               return x >> 8;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Spill>)});
}

void add_shared_chain() {
  add({.name = "shared-chain",
       .pass = {.latency_cycles = 24.0 * links},
       .instructions = {{"STS.32", 1}, {"LDS.32", links}},
       .hot_loops = 2,  // linking, and following
       .operations = links,
       .fixed_block_size = 32,
       .reference =
           [](const float*, int passes) {
             return of_each_lane([=](int thread) {
               unsigned row = static_cast<unsigned>(thread) % rows;
               for (int step = 0; step < passes * links; ++step) row = next_row(row);
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
       .pass = {.latency_cycles = 50, .pipe_cycles_per_warp = hits * width / 4.0},
       .instructions = instructions,
       .hot_loops = shared ? 2 : 1,
       .ceiling = shared ? Ceiling::shared_memory : Ceiling::l1,
       .bytes = double(hits) * width,
       .operations = hits,
       .reference =
           [](const float* input, int passes) {
             return of_each_lane([=](int thread) {
               unsigned sum = 0;
               for (int pass = 0; pass < passes; ++pass)
                 for (int i = 0; i < hits * Body::words; ++i) {
                   const int set = shared ? 0 : pass % 2 * Body::set_words;
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
  add_fma<5, 80>("fma-clock");
  add_fma<1, 32>("fma-32");
  add_fma<1, 8>("fma-8");
  add_logic<120>();
  add_logic<480>();
  add_operands<128>();
  add_operands<512>();
  add_mma();
  add_wgmma();
  add_barrier<2, false>();
  add_barrier<8, false>();
  add_barrier<2, true>();
  add_barrier<8, true>();
  add_spill();
  add_shared_chain();
  add_hits<Space::shared, 4>();
  add_hits<Space::shared, 16>();
  add_hits<Space::l1, 4>();
  add_hits<Space::l1, 16>();
}};

}  // namespace

}  // namespace occbench::calibration
