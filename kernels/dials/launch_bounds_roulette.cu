// SPDX-License-Identifier: Apache-2.0
// Shows: three kernels of everyday shape under every register dial that CUDA has; most caps make them spill.
// Expected: a cap just below need may pay where loads are left to hide; each step further drags more spills
//   through every pass: most through the gemm's, whose sums are all in use at every step, least through the
//   hash's, which leaves the memory pipe idle.
// Found: H200: no cap below need pays the stencil (41 % of DRAM's rate with 76 registers, 30-38 % with 64, 6
//   % with 40), more registers and fewer warps do (57 % with 96, 20 warps); the gemm falls from 80 % of
//   FP32's to 1.4 % at 32, the hash from 59 % of the issue rate to 53 %.
// Published: CUDA C++ Programming Guide, 'Launch Bounds'; Micikevicius, '3D finite difference computation on
//   GPUs' (2009), for the stencil; O'Connor et al., 'BLAKE3' (2020), for the hash; Volkov and Demmel,
//   'Benchmarking GPUs to tune dense linear algebra' (SC 2008), for the gemm; PTX ISA 9.0, .pragma
//   "enable_smem_spilling".
#include <bit>

#include "kernels/family.cuh"

namespace occbench::launch_bounds_roulette {

template <class T>
struct Arguments {
  const T* input;
  T* output;
  int passes;
};

/// 25-point star, eighth order in space, marching along z with the column's nine values in a queue. A warp
/// owns a row of 128 points, a thread four of them; neighbouring warps own neighbouring rows. Planes are
/// `pitch` wide and have `reach` rows more at each edge, so that no point needs a branch. A plane has a row
/// for each warp of the grid, so that its extent follows the occupancy: no warp's own work does, and of the
/// plane the edges are 8 rows in thousands. Planes of one size, with warps shared out over z as well, cost
/// the pass loop registers: at a cap of 64 the spills of each thread grow from 24 bytes to 48.
struct Stencil {
  using Parameters = Arguments<float>;
  static constexpr int reach = 4;
  static constexpr int points = 4;  // per thread and pass
  static constexpr int row = 32 * points;
  static constexpr int pitch = row + 2 * reach;

  static __host__ __device__ constexpr std::int64_t plane(std::int64_t threads) {
    return (threads / 32 + 2 * reach) * pitch;
  }
  /// Weight of the neighbours at this distance along each axis.
  static __host__ __device__ constexpr float weight(int distance) {
    switch (distance) {
      case 0:
        return -3 * 205.0F / 72;
      case 1:
        return 8.0F / 5;
      case 2:
        return -1.0F / 5;
      case 3:
        return 8.0F / 315;
      default:
        return -1.0F / 560;
    }
  }

  struct alignas(16) Points {
    float at[points];
  };
  static __device__ Points load(const float* from) { return *reinterpret_cast<const Points*>(from); }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const std::int64_t n = device::thread_count();
    const std::int64_t step = plane(n);
    const float* front = p.input + (index / 32 + reach) * pitch + reach + index % 32 * points;
    const float* center = front + reach * step;
    float* output = p.output + index * points;
    Points queue[2 * reach + 1];
#pragma unroll
    for (int z = 0; z < 2 * reach; ++z, front += step) queue[z] = load(front);
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      queue[2 * reach] = load(front);
      const Points left = load(center - points);
      const Points right = load(center + points);
      Points below[reach];
      Points above[reach];
#pragma unroll
      for (int d = 0; d < reach; ++d) {
        below[d] = load(center - (d + 1) * pitch);
        above[d] = load(center + (d + 1) * pitch);
      }
      Points sum;
#pragma unroll
      for (int i = 0; i < points; ++i) {
        sum.at[i] = weight(0) * queue[reach].at[i];
#pragma unroll
        for (int d = 1; d <= reach; ++d) {
          const float before = i < d ? left.at[i - d + points] : queue[reach].at[i - d];
          const float after = i + d < points ? queue[reach].at[i + d] : right.at[i + d - points];
          sum.at[i] = fmaf(queue[reach - d].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(before, weight(d), sum.at[i]);
          sum.at[i] = fmaf(after, weight(d), sum.at[i]);
          sum.at[i] = fmaf(below[d - 1].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(above[d - 1].at[i], weight(d), sum.at[i]);
          sum.at[i] = fmaf(queue[reach + d].at[i], weight(d), sum.at[i]);
        }
      }
      *reinterpret_cast<Points*>(output) = sum;
      output += n * points;
      front += step;
      center += step;
#pragma unroll
      for (int z = 0; z < 2 * reach; ++z) queue[z] = queue[z + 1];
    }
  }
};

/// BLAKE3's compression, of one block again and again: each chaining value is the next one's, as when a
/// password is stretched. Every thread has `chains` of them under way.
struct Hash {
  using Parameters = Arguments<std::uint32_t>;
  static constexpr int chains = 2;
  static constexpr int rounds = 7;
  static constexpr std::int64_t period =
      1024;  // threads with the same index modulo this hash the same blocks

  struct Block {
    std::uint32_t word[16];
  };
  struct Digest {
    std::uint32_t word[8];
  };
  static constexpr Digest start = {
      {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};

  static OCCBENCH_HOST_DEVICE constexpr std::uint32_t rotate(std::uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
  }
  static OCCBENCH_HOST_DEVICE constexpr void mix_in(Block& v, int a, int b, int c, int d, std::uint32_t x,
                                                    std::uint32_t y) {
    v.word[a] += v.word[b] + x;
    v.word[d] = rotate(v.word[d] ^ v.word[a], 16);
    v.word[c] += v.word[d];
    v.word[b] = rotate(v.word[b] ^ v.word[c], 12);
    v.word[a] += v.word[b] + y;
    v.word[d] = rotate(v.word[d] ^ v.word[a], 8);
    v.word[c] += v.word[d];
    v.word[b] = rotate(v.word[b] ^ v.word[c], 7);
  }
  static OCCBENCH_HOST_DEVICE constexpr void mix_all(Block& v, Block& m) {
    mix_in(v, 0, 4, 8, 12, m.word[0], m.word[1]);
    mix_in(v, 1, 5, 9, 13, m.word[2], m.word[3]);
    mix_in(v, 2, 6, 10, 14, m.word[4], m.word[5]);
    mix_in(v, 3, 7, 11, 15, m.word[6], m.word[7]);
    mix_in(v, 0, 5, 10, 15, m.word[8], m.word[9]);
    mix_in(v, 1, 6, 11, 12, m.word[10], m.word[11]);
    mix_in(v, 2, 7, 8, 13, m.word[12], m.word[13]);
    mix_in(v, 3, 4, 9, 14, m.word[14], m.word[15]);
    const Block old = m;
    const int from[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    for (int i = 0; i < 16; ++i) m.word[i] = old.word[from[i]];
  }
  static OCCBENCH_HOST_DEVICE constexpr Block state(const Digest& h, std::uint32_t counter,
                                                    std::uint32_t bytes) {
    constexpr std::uint32_t only_chunk_and_root = 1 | 2 | 8;
    return {{h.word[0], h.word[1], h.word[2], h.word[3], h.word[4], h.word[5], h.word[6], h.word[7],
             0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, counter, 0, bytes, only_chunk_and_root}};
  }
  static OCCBENCH_HOST_DEVICE constexpr Digest digest(const Block& v) {
    Digest h{};
    for (int i = 0; i < 8; ++i) h.word[i] = v.word[i] ^ v.word[i + 8];
    return h;
  }
  static constexpr Digest compress(const Digest& h, Block m, std::uint32_t counter, std::uint32_t bytes) {
    Block v = state(h, counter, bytes);
    for (int round = 0; round < rounds; ++round) mix_all(v, m);
    return digest(v);
  }
  /// The one word that a thread puts out, of all words of all its chains.
  static OCCBENCH_HOST_DEVICE constexpr std::uint32_t fold(const Digest* h) {
    std::uint32_t sum = 0;
    for (int c = 0; c < chains; ++c)
      for (int i = 0; i < 8; ++i) sum = rotate(sum, 1) ^ h[c].word[i];
    return sum;
  }
  /// Where word `i` of a chain's block stands in the input.
  static OCCBENCH_HOST_DEVICE constexpr std::int64_t place(std::int64_t index, int chain, int i) {
    return (chain * 16 + i) * period + index % period;
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const volatile std::uint32_t* const input = p.input;  // volatile: not to be loaded again in the loop
    Block m[chains];
    Digest h[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) {
      h[c] = start;
#pragma unroll
      for (int i = 0; i < 16; ++i) m[c].word[i] = input[place(index, c, i)];
    }
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      Block v[chains];
      Block words[chains];
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        v[c] = state(h[c], static_cast<std::uint32_t>(pass), sizeof(Block));
        words[c] = m[c];
      }
#pragma unroll
      for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int c = 0; c < chains; ++c) mix_all(v[c], words[c]);
      }
#pragma unroll
      for (int c = 0; c < chains; ++c) h[c] = digest(v[c]);
    }
    p.output[index] = fold(h);
  }
};
// The published hash of nothing (af1349b9 f5f9a1a6 ...): device and CPU share the code above, so it must be
// BLAKE3.
static_assert(Hash::compress(Hash::start, {}, 0, 0).word[0] == 0xb94913af);
static_assert(Hash::compress(Hash::start, {}, 0, 0).word[1] == 0xa6a1f9f5);

/// The inner loop of a matrix product: `side` x `side` sums a thread, operands in shared memory. A block's
/// tile is threads / 2 x 128; each pass adds the product of its two panels, `depth` deep, once more.
template <int threads>
struct Gemm {
  using Parameters = Arguments<float>;
  static constexpr int side = 8;
  static constexpr int depth = 8;
  static constexpr int rows = threads / 2;
  static constexpr int columns = 128;
  static constexpr int panel = (rows + columns) * depth;  // elements of both operands
  static constexpr int sums = side * side;
  // Blocks with the same index modulo this multiply the same panels.
  static constexpr int period = 4096 / threads;

  /// Where the thread's row or column i stands in the tile: two groups of four, so that the lanes of a warp,
  /// four down and eight across, read whole 16-byte words side by side.
  static __host__ __device__ constexpr int row_of(int thread, int i) {
    return thread / 64 * 32 + i / 4 * 16 + thread % 32 / 8 * 4 + i % 4;
  }
  static __host__ __device__ constexpr int column_of(int thread, int i) {
    return thread / 32 % 2 * 64 + i / 4 * 32 + thread % 8 * 4 + i % 4;
  }

  static __device__ void run(const Parameters& p) {
    __shared__ __align__(16) float a[depth * rows];
    __shared__ __align__(16) float b[depth * columns];
    const int t = static_cast<int>(threadIdx.x);
    const float* const input = p.input + static_cast<int>(blockIdx.x) % period * panel;
#pragma unroll
    for (int i = 0; i < depth * rows; i += threads) a[i + t] = input[i + t];
#pragma unroll
    for (int i = 0; i < depth * columns; i += threads) b[i + t] = input[depth * rows + i + t];
    __syncthreads();
    float sum[side][side] = {};
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      asm volatile("" ::: "memory");  // the next panels, as far as the compiler can know
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        float va[side];
        float vb[side];
#pragma unroll
        for (int i = 0; i < side; i += 4) {
          *reinterpret_cast<float4*>(va + i) = *reinterpret_cast<const float4*>(&a[k * rows + row_of(t, i)]);
          *reinterpret_cast<float4*>(vb + i) =
              *reinterpret_cast<const float4*>(&b[k * columns + column_of(t, i)]);
        }
#pragma unroll
        for (int i = 0; i < side; ++i) {
#pragma unroll
          for (int j = 0; j < side; ++j) sum[i][j] = fmaf(va[i], vb[j], sum[i][j]);
        }
      }
    }
    // Tile after tile, in each the threads' 16-byte words side by side: how C is laid out is not the subject.
    float* const output = p.output + std::int64_t{blockIdx.x} * (threads * sums) + t * 4;
#pragma unroll
    for (int i = 0; i < side; ++i) {
#pragma unroll
      for (int j = 0; j < side; j += 4)
        *reinterpret_cast<float4*>(output + (i * side + j) * threads) =
            *reinterpret_cast<const float4*>(&sum[i][j]);
    }
  }
};

/// The same with spills to shared memory first, local memory second: CUDA 13's, which needs launch bounds to
/// know how many threads of a block share it.
template <class Body>
struct SpillToShared {
  using Parameters = typename Body::Parameters;
  static __device__ void run(const Parameters& p) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    Body::run(p);
  }
};

namespace {

/// The input, read as T, and the output of a launch of so many passes.
template <class T>
Arguments<T> arguments(Arena& arena, std::int64_t passes) {
  return {reinterpret_cast<const T*>(arena.input<float>()), arena.output<T>(), static_cast<int>(passes)};
}

// What each kernel is, whatever its registers. `touches`: how often a pass loads and stores a value that it
// has no register for; sizes the work, and nothing else.

struct StencilKernel {
  template <int threads>
  using Body = Stencil;
  static constexpr int touches = 1;

  template <int threads>
  static Variant describe() {
    constexpr std::size_t written = Stencil::points * sizeof(float);  // by one thread in one pass
    constexpr int neighbours = 6 * Stencil::reach;
    return {
        .series = "stencil",
        .dials = {.ilp = Stencil::points, .bytes_per_access = written, .live_values = 80},
        .ceiling = Ceiling::dram,
        .pass = {.dram_bytes = 2.0 * written,
                 .flop = Stencil::points * (1.0 + 2 * neighbours),
                 .latency_cycles = 300,
                 .dram_waits = 1,
                 .pipe_cycles_per_warp = 4.0 * (3 + 2 * Stencil::reach + 1)},  // the L1's, 128 bytes a cycle
        // the plane in the middle was loaded `reach` passes before
        .flow = {.reused_bytes = (2.0 + 2 * Stencil::reach) * written,
                 .neighbour_bytes = 2.0 * Stencil::reach * written,
                 .set_of = Sharer::warp,
                 .set_bytes = (Stencil::reach + 1) * Stencil::pitch * sizeof(float),
                 .layout = {.lines = 2}},  // rows of 544 bytes: each 8 lanes' 128 bytes lie in two lines
        .instructions = {{"LDG.128", 3 + 2 * Stencil::reach},
                         {"FMUL", Stencil::points},
                         {"FFMA", Stencil::points * neighbours},
                         {"STG.128", 1}},
        .l2_before = L2::dirty,
        .max_iterations =
            [](const Arena& arena, const Shape& shape) {
              const auto planes = static_cast<std::int64_t>(arena.input_bytes() / sizeof(float)) /
                                  Stencil::plane(shape.threads());
              const auto most = static_cast<std::int64_t>(arena.output_bytes() / written) / shape.threads();
              return std::max<std::int64_t>(0, std::min(most, planes - 2 * Stencil::reach));
            },
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<float>(arena, shape.iterations));
              const auto points =
                  static_cast<std::size_t>(shape.threads() * shape.iterations * Stencil::points);
              // Each point read once and written once. The edges, 8 of 136 columns and as many rows and
              // planes, and what the caches lose come on top.
              problem.work = {.bytes = 2.0 * sizeof(float) * static_cast<double>(points),
                              .flop = (1.0 + 2 * neighbours) * static_cast<double>(points)};
              problem.poison = [&arena, points] { arena.poison_output(points * sizeof(float)); };
              problem.reference_reaches = true;
              problem.mismatch = [&arena, shape, points] {
                const auto step = static_cast<std::size_t>(Stencil::plane(shape.threads()));
                constexpr RandomInput<float> input;
                const auto plane_points = static_cast<std::size_t>(shape.threads() * Stencil::points);
                return arena.first_mismatch<float>(points, 5e-6, [&](std::size_t i) {
                  const std::size_t z = i / plane_points + Stencil::reach;
                  const std::size_t y = i % plane_points / Stencil::row + Stencil::reach;
                  const std::size_t x = i % Stencil::row + Stencil::reach;
                  const std::size_t at = z * step + y * Stencil::pitch + x;
                  double sum = double{Stencil::weight(0)} * input[at];
                  for (std::size_t d = 1; d <= Stencil::reach; ++d)
                    for (const std::size_t along : {std::size_t{1}, std::size_t{Stencil::pitch}, step})
                      sum += Stencil::weight(static_cast<int>(d)) *
                             (double{input[at + d * along]} + double{input[at - d * along]});
                  return sum;
                });
              };
              return problem;
            },
    };
  }
};

struct HashKernel {
  template <int threads>
  using Body = Hash;
  static constexpr int touches = 1;

  template <int threads>
  static Variant describe() {
    // A compression by the algorithm's count: in each round eight mixings of two additions of three terms,
    // two of two, four exclusive ors and four rotations, and at its end eight exclusive ors. Each is one
    // thread instruction. Most of them go to the integer pipe, which until Hopper is half as wide as the
    // issue.
    constexpr int per_pass = Hash::chains * (Hash::rounds * 8 * (2 + 2 + 4 + 4) + 8);
    return {
        .series = "hash",
        .dials = {.data_type = "u32", .ilp = 4 * Hash::chains, .live_values = Hash::chains * (16 + 16)},
        .ceiling = Ceiling::issue,
        .pass = {.latency_cycles = 900, .pipe_cycles_per_warp = 570},
        // 56 mixings by 8 and a digest's 8, less what the constants of the first round save
        .instructions = {{"LOP3", 462}, {"SHF", 444}},
        .l2_before = L2::warm,
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<std::uint32_t>(arena, shape.iterations));
              const auto threads_in_all = static_cast<std::size_t>(shape.threads());
              problem.work = {.bytes = static_cast<double>(threads_in_all) * sizeof(std::uint32_t),
                              .operations = static_cast<double>(threads_in_all) *
                                            static_cast<double>(shape.iterations) * per_pass};
              problem.poison = poison_one_per_thread<std::uint32_t>(arena, shape);
              problem.mismatch = [=, &arena] {
                const auto input = arena.reference_input<float>(Hash::chains * 16 * Hash::period);
                std::vector<double> words;
                for (std::int64_t index = 0; index < Hash::period; ++index) {
                  Hash::Digest h[Hash::chains];
                  for (int c = 0; c < Hash::chains; ++c) {
                    Hash::Block m;
                    for (int i = 0; i < 16; ++i)
                      m.word[i] = std::bit_cast<std::uint32_t>(
                          input[static_cast<std::size_t>(Hash::place(index, c, i))]);
                    h[c] = Hash::start;
                    for (std::int64_t pass = 0; pass < shape.iterations; ++pass)
                      h[c] = Hash::compress(h[c], m, static_cast<std::uint32_t>(pass), sizeof m);
                  }
                  words.push_back(Hash::fold(h));
                }
                return arena.first_mismatch<std::uint32_t>(
                    threads_in_all, 0, [&](std::size_t i) { return words[i % Hash::period]; });
              };
              return problem;
            },
    };
  }
};

struct GemmKernel {
  template <int threads>
  using Body = Gemm<threads>;
  static constexpr int touches = 11;

  /// One pass's sums, in the order of the output, of the blocks of one period.
  template <int threads>
  static std::vector<double> reference(Arena& arena) {
    using B = Gemm<threads>;
    const auto input = arena.reference_input<float>(std::size_t{B::period} * B::panel);
    std::vector<double> sums(std::size_t{B::period} * threads * B::sums);
    auto sum = sums.begin();
    for (int block = 0; block < B::period; ++block) {
      const float* const a = &input[static_cast<std::size_t>(block) * B::panel];
      const float* const b = a + B::depth * B::rows;
      for (int quad = 0; quad < B::sums / 4; ++quad)
        for (int t = 0; t < threads; ++t)
          for (int lane = 0; lane < 4; ++lane, ++sum)
            for (int k = 0; k < B::depth; ++k)
              *sum += double{a[k * B::rows + B::row_of(t, quad / 2)]} *
                      b[k * B::columns + B::column_of(t, quad % 2 * 4 + lane)];
    }
    return sums;
  }

  template <int threads>
  static Variant describe() {
    using B = Gemm<threads>;
    return {
        .series = "gemm",
        .dials = {.ilp = B::sums, .live_values = B::sums + 2 * B::side},
        .ceiling = Ceiling::fp32,
        .pass = {.flop = 2.0 * B::depth * B::sums,
                 .latency_cycles = 1.1 * B::depth * B::sums,
                 .pipe_cycles_per_warp = B::depth * 4 * 4.0},

        .instructions = {{"FFMA", B::depth * B::sums}, {"LDS.128", B::depth * 2 * B::side / 4}},
        .fixed_block_size = threads,
        .l2_before = L2::warm,
        .max_iterations =
            [](const Arena& arena, const Shape& shape) {
              const auto most = static_cast<std::int64_t>(arena.output_bytes() / (B::sums * sizeof(float)));
              return 2 * shape.threads() <= most ? std::int64_t{1} << 30 : 0;  // twice: the census's grid
            },
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<float>(arena, shape.iterations));
              const auto elements = static_cast<std::size_t>(shape.threads() * B::sums);
              problem.work = {.bytes = static_cast<double>(elements) * sizeof(float),
                              .flop = 2.0 * B::depth * static_cast<double>(elements) *
                                      static_cast<double>(shape.iterations)};
              problem.poison = [&arena, elements] { arena.poison_output(elements * sizeof(float)); };
              problem.mismatch = [&arena, elements, passes = static_cast<double>(shape.iterations)] {
                const auto sums = reference<threads>(arena);
                return arena.first_mismatch<float>(
                    elements, 1e-5, [&](std::size_t i) { return passes * sums[i % sums.size()]; });
              };
              return problem;
            },
    };
  }
};

constexpr int usual_block = 256;

template <class Kernel, int threads>
Variant variant(const std::string& dial, RegisterRoute route, int cap, const void* entry) {
  Variant v = Kernel::template describe<threads>();
  v.family = "launch_bounds_roulette";
  v.name = v.series + "-" + dial;
  v.form = v.series;
  v.dials.route = route;
  v.dials.register_cap = cap;
  v.may_spill = cap != 0;
  if (cap != 0)
    v.pass.pipe_cycles_per_warp += 4.0 * (Kernel::touches - 1) * std::max(0, v.dials.live_values - cap);
  v.entry = entry;
  return v;
}

template <class Kernel, class Body, int threads, int blocks>
Variant bounded(const std::string& suffix = "") {
  Variant v = variant<Kernel, threads>(
      "bounds" + std::to_string(threads) + "x" + std::to_string(blocks) + suffix,
      RegisterRoute::launch_bounds, std::min(255, 65536 / (threads * blocks) / 8 * 8),
      reinterpret_cast<const void*>(bounded_entry<Body, threads, blocks>));
  v.promised_threads = threads * blocks;
  v.fixed_block_size = threads;
  return v;
}

template <class Kernel, int threads, int... blocks>
void add_bounded() {
  (add_variant(bounded<Kernel, typename Kernel::template Body<threads>, threads, blocks>()), ...);
}

/// Spilling to shared memory first. How much of it goes there is ptxas's own decision.
template <class Kernel, int blocks>
void add_spilling_to_shared() {
#if __CUDACC_VER_MAJOR__ >= 13
  using Body = typename Kernel::template Body<usual_block>;
  Variant v = bounded<Kernel, SpillToShared<Body>, usual_block, blocks>("-smemspill");
  v.form += "-smemspill";
  v.baseline = v.name.substr(0, v.name.rfind('-'));
  v.spills_to_shared = true;
  add_variant(std::move(v));
#endif
}

template <class Kernel, int compiled_cap>
void add_every_dial() {
  using Body = typename Kernel::template Body<usual_block>;
  if constexpr (compiled_cap != 0) {
    add_variant(variant<Kernel, usual_block>("maxrregcount" + std::to_string(compiled_cap),
                                             RegisterRoute::maxrregcount, compiled_cap,
                                             reinterpret_cast<const void*>(free_entry<Body>)));
  } else {
    add_variant(variant<Kernel, usual_block>("free", RegisterRoute::free, 0,
                                             reinterpret_cast<const void*>(free_entry<Body>)));
    for_each_value<32, 40, 48, 56, 64, 72, 80, 96, 128>([]<int cap>(std::integral_constant<int, cap>) {
      add_variant(variant<Kernel, usual_block>("maxnreg" + std::to_string(cap), RegisterRoute::maxnreg, cap,
                                               reinterpret_cast<const void*>(capped_entry<Body, cap>)));
    });
    add_bounded<Kernel, 128, 4, 8, 16>();
    add_bounded<Kernel, 256, 1, 2, 3, 4, 5, 6, 8>();
    add_bounded<Kernel, 512, 2, 4>();
    add_bounded<Kernel, 1024, 1, 2>();
  }
}

/// A template, so that the objects compiled again under a cap hold their own three kernels and nothing else.
template <int compiled_cap>
void define() {
  add_every_dial<StencilKernel, compiled_cap>();
  add_every_dial<HashKernel, compiled_cap>();
  add_every_dial<GemmKernel, compiled_cap>();
  if constexpr (compiled_cap == 0) {
    add_spilling_to_shared<StencilKernel, 4>();
    add_spilling_to_shared<StencilKernel, 5>();
    add_spilling_to_shared<StencilKernel, 8>();
    add_spilling_to_shared<HashKernel, 5>();
    add_spilling_to_shared<HashKernel, 8>();
    add_spilling_to_shared<GemmKernel, 3>();
    add_spilling_to_shared<GemmKernel, 4>();
    add_spilling_to_shared<GemmKernel, 8>();
  }
}

const Registration registered{define<compiled_register_cap>};

}  // namespace

}  // namespace occbench::launch_bounds_roulette
