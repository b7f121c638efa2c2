// SPDX-License-Identifier: Apache-2.0
// Shows: the tensor cores' peak needs independent products in flight, and registers to sum them in, not many
//   warps.
// Expected: mma.sync saturates at about 60 % of cc 9.0's rate, by warps or by accumulators alike; wgmma
//   reaches the peak with 4 to 12 warps per SM (6 to 19 %), one producer warpgroup feeding two consumers
//   included.
// Found: H200: mma.sync saturates at 62-65.5 %; with 2 accumulators 12 warps (48 %) lie below 8 (61 %).
//   wgmma: 99 % of the ceiling at the SM's clock of the moment, which under these loads is about 1.7 GHz: why
// is not established. Published: Luo et al., 'Benchmarking and dissecting the NVIDIA Hopper GPU' (2024); Shah
//   et al., 'FlashAttention-3' (2024) for the warp-specialised form; PTX ISA, 'wgmma' and 'Warp-level matrix
//   fragments', for the layouts.
#include <array>
#include <cstring>

#include "kernels/async_copy.cuh"
#include "kernels/family.cuh"
#include "kernels/wgmma.cuh"

namespace occbench::tensor_core {

// Tiles are as deep as one row of the 128-byte swizzle: 64 bf16.
constexpr int depth = 64;
constexpr int a_rows = 64;
constexpr int b_columns = 256;
constexpr int a_elements = a_rows * depth;
constexpr int b_elements = b_columns * depth;
constexpr int a_bytes = 2 * a_elements;
constexpr int b_bytes = 2 * b_elements;
// B's table holds as many tiles again, negated: the sums then wander as those of a long product of random
// matrices do, where one tile added in every pass would leave the products far below the sum, in adders that
// hardly toggle.
constexpr int a_tiles = 8;
constexpr int b_tiles = 4;
constexpr int classes = 8;  // warps (mma) or blocks (wgmma) with the same index modulo this do the same sums

constexpr int mma_per_pass = 64;
constexpr int fragments = 2;  // of A, and of B, in registers
constexpr int wgmma_per_pass = depth / 16;

/// The bf16 nearest to x, ties to even; x is finite.
__host__ __device__ inline std::uint16_t bf16(float x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// ---- mma.sync: A, B and the accumulators in registers ----

struct Registers {
  const float* input;
  float* output;  ///< [warp][accumulator tile][16][8]
  int passes;
};

/// Where element (row, k) of A's fragment, (k, column) of B's, and (row, column) of a sum's start are in the
/// input.
__host__ __device__ constexpr int a_at(int c, int fragment, int row, int k) {
  return c * 1024 + fragment * 256 + row * 16 + k;
}
__host__ __device__ constexpr int b_at(int c, int fragment, int k, int column) {
  return c * 1024 + 512 + fragment * 128 + column * 16 + k;
}
__host__ __device__ constexpr int start_at(int c, int tile, int row, int column) {
  return classes * 1024 + (c * 16 + tile) * 128 + row * 8 + column;
}
/// The signs that a pass changes in B: of its even k in bit 15, of the odd ones in bit 31.
__host__ __device__ constexpr std::uint32_t sign_flips(int pass) {
  return mix(static_cast<std::uint32_t>(pass)) & 0x80008000U;
}

/// Each warp `tiles` independent 16 x 8 sums, to which every pass adds each product of a fragment of A and
/// one of B equally often.
template <int tiles>
struct Mma {
  using Parameters = Registers;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 800
    const std::int64_t warp = device::thread_index() / 32;
    const int c = static_cast<int>(warp % classes);
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;  // of C; k of A and B
    const auto pack = [&](int at) {
      return std::uint32_t{bf16(p.input[at])} | std::uint32_t{bf16(p.input[at + 1])} << 16;
    };
    std::uint32_t a[fragments][4];
    std::uint32_t b[fragments][2];
    float d[tiles][4];
#pragma unroll
    for (int f = 0; f < fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[f][i] = pack(a_at(c, f, row + i % 2 * 8, column + i / 2 * 8));
#pragma unroll
      for (int i = 0; i < 2; ++i) b[f][i] = pack(b_at(c, f, column + i * 8, row));
    }
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) d[j][i] = p.input[start_at(c, j, row + i / 2 * 8, column + i % 2)];
    }
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const std::uint32_t flips = sign_flips(pass);
#pragma unroll
      for (int f = 0; f < fragments; ++f) {
        b[f][0] ^= flips;
        b[f][1] ^= flips;
      }
#pragma unroll
      for (int step = 0; step < mma_per_pass / tiles; ++step) {
#pragma unroll
        for (int j = 0; j < tiles; ++j) {
          const auto& x = a[(step + j) % 2];
          const auto& y = b[(step / 2 + j / 2) % 2];
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
              "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
              : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
              : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
      }
    }
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
      float* const tile = p.output + (warp * tiles + j) * 128;
      *reinterpret_cast<float2*>(tile + row * 8 + column) = {d[j][0], d[j][1]};
      *reinterpret_cast<float2*>(tile + (row + 8) * 8 + column) = {d[j][2], d[j][3]};
    }
#endif
  }
};

// ---- wgmma: B, and mostly A, in shared memory ----

struct Tiles {
  const std::uint16_t* a;  ///< [a_tiles][64 rows][64 k], each tile in the swizzled layout
  const std::uint16_t* b;  ///< [2 b_tiles][256 columns][64 k], the second half negated
  float* output;           ///< [block][warpgroup that multiplies][64][columns]
  int passes;
};

/// Which (row, k) of a tile lies at its element `at`: rows of 128 bytes whose eight 16-byte chunks are
/// permuted by the row, so that no two of eight rows have one k in the same banks (PTX ISA, '128-byte
/// swizzling').
struct Place {
  int row, k;
};
__host__ __device__ constexpr Place swizzled(int at) {
  const int row = at / depth;
  const int chunk = at % depth / 8;
  return {row, (chunk ^ row % 8) * 8 + at % 8};
}
__host__ __device__ constexpr std::uint64_t a_index(int tile, int row, int k) {
  return static_cast<std::uint64_t>(tile * a_elements + row * depth + k);
}
__host__ __device__ constexpr std::uint64_t b_index(int tile, int column, int k) {
  return static_cast<std::uint64_t>(a_tiles * a_elements + tile * b_elements + column * depth + k);
}
/// Resident tiles: which of B's two signs a pass uses.
__host__ __device__ constexpr int sign_of(int pass) {
  return static_cast<int>(mix(static_cast<std::uint32_t>(pass)) & 1);
}
/// The ring's tiles of a block of class c, for its multiplying warpgroup w: where B stays, only its sign
/// changes.
__host__ __device__ constexpr int a_tile(int c, int w, int pass) { return (c + 2 * w + pass % 2) % a_tiles; }
__host__ __device__ constexpr int b_tile(int c, int pass, bool streamed) {
  if (!streamed) return c % b_tiles + sign_of(pass) * b_tiles;
  return static_cast<int>(mix(static_cast<std::uint32_t>(pass * classes + c)) % (2 * b_tiles));
}

extern __shared__ __align__(1024) unsigned char swizzled_tiles[];  // the swizzle repeats every 1,024 bytes

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// One pass over tiles in shared memory, left under way; the one before has ended when this returns.
template <int columns>
__device__ __forceinline__ void multiply_tiles(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b) {
  device::wgmma_fence();
#pragma unroll
  for (int k = 0; k < wgmma_per_pass; ++k)
    device::multiply<columns>(d, a + k * device::next_k16, b + k * device::next_k16);
  device::wgmma_commit();
  device::wgmma_wait<1>();
}

/// Writes a warpgroup's sums row by row.
template <int columns>
__device__ __forceinline__ void store(float* tile, const float (&d)[columns / 2]) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  const int row = thread / 32 * 16 + thread % 32 / 4;
  const int column = thread % 4 * 2;
#pragma unroll
  for (int i = 0; i < columns / 2; i += 2)
    *reinterpret_cast<float2*>(tile + (row + i / 2 % 2 * 8) * columns + i / 4 * 8 + column) = {d[i],
                                                                                               d[i + 1]};
}

/// The thread's warp and warpgroup, in a form that the compiler sees to be the same for all lanes of a warp.
__device__ __forceinline__ int warp() {
  return __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0);
}
__device__ __forceinline__ int warpgroup() { return warp() / 4; }

#endif

/// Every warpgroup its own 64 x `columns` sums over tiles that stay in shared memory: A's its own, B's the
/// block's.
template <int columns, bool a_in_registers>
struct Resident {
  using Parameters = Tiles;
  static constexpr int b_tile_bytes = columns * depth * 2;
  /// Two signs of B, the warpgroups' tiles of A, and one barrier.
  static constexpr std::size_t smem_bytes(int warpgroups) {
    return 2 * b_tile_bytes + (a_in_registers ? 0 : warpgroups * a_bytes) + 8;
  }

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const int warpgroups = static_cast<int>(blockDim.x) / 128;
    const int w = warpgroup();
    const int c = static_cast<int>(blockIdx.x) % classes;
    const std::uint16_t* const a = p.a + (c + w) % a_tiles * a_elements;
    const std::uint32_t b_shared = device::shared_address(swizzled_tiles);
    const std::uint32_t a_shared = b_shared + 2 * b_tile_bytes + w * a_bytes;
    const std::uint32_t arrived = b_shared + 2 * b_tile_bytes + (a_in_registers ? 0 : warpgroups * a_bytes);
    if (threadIdx.x == 0) {
      device::barrier_init(arrived, warpgroups);
      device::fence_async_proxy();
    }
    __syncthreads();
    if (warp() % 4 == 0 && device::elected()) {
      device::barrier_expect(arrived, (w == 0 ? 2 * b_tile_bytes : 0) + (a_in_registers ? 0 : a_bytes));
      if (!a_in_registers) device::copy_async(a_shared, a, a_bytes, arrived);
      if (w == 0) {
        const std::uint16_t* const b = p.b + c % b_tiles * b_elements;
        device::copy_async(b_shared, b, b_tile_bytes, arrived);
        device::copy_async(b_shared + b_tile_bytes, b + b_tiles * b_elements, b_tile_bytes, arrived);
      }
    }
    [[maybe_unused]] std::uint32_t fragment[wgmma_per_pass][4];
    if constexpr (a_in_registers) {
      const int row = static_cast<int>(threadIdx.x) % 128 / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
      for (int k = 0; k < wgmma_per_pass; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int chunk = (2 * k + i / 2) ^ row % 8;
          fragment[k][i] = *reinterpret_cast<const std::uint32_t*>(a + (row + i % 2 * 8) * depth + chunk * 8 +
                                                                   static_cast<int>(threadIdx.x) % 4 * 2);
        }
      }
    }
    device::barrier_wait(arrived, 0);
    float d[columns / 2] = {};
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      const std::uint64_t b_tile = device::descriptor(b_shared + sign_of(pass) * b_tile_bytes);
      if constexpr (a_in_registers) {
        device::wgmma_fence();
#pragma unroll
        for (int k = 0; k < wgmma_per_pass; ++k)
          device::multiply<columns>(d, fragment[k], b_tile + k * device::next_k16);
        device::wgmma_commit();
        device::wgmma_wait<1>();
      } else {
        multiply_tiles<columns>(d, device::descriptor(a_shared), b_tile);
      }
    }
    device::wgmma_wait<0>();
    store<columns>(p.output + (std::int64_t{blockIdx.x} * warpgroups + w) * a_rows * columns, d);
#endif
  }
};

constexpr int consumers = 2;  // warpgroups that multiply: 128 x 256 sums, half of the SM's registers

/// What streams through shared memory, per stage of a ring: a tile of B, or the consumers' tiles of A, or
/// both, with a barrier that says full and one that says empty. What does not stream stays: two tiles of A
/// each, or B in both signs.
template <bool streams_a, bool streams_b>
struct Ring {
  static constexpr int stages = 4;
  static constexpr int copies = (streams_a ? consumers : 0) + (streams_b ? 1 : 0);
  static constexpr int stage_bytes = (streams_a ? consumers * a_bytes : 0) + (streams_b ? b_bytes : 0);
  static constexpr int resident_at = stages * stage_bytes;
  static constexpr int resident_bytes =
      (streams_a ? 0 : 2 * consumers * a_bytes) + (streams_b ? 0 : 2 * b_bytes);
  static constexpr int barriers_at = resident_at + resident_bytes;
  static constexpr std::size_t smem_bytes = barriers_at + (2 * stages + 1) * 8;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static __device__ __forceinline__ std::uint32_t base() { return device::shared_address(swizzled_tiles); }
  static __device__ __forceinline__ std::uint32_t full(int stage) { return base() + barriers_at + stage * 8; }
  static __device__ __forceinline__ std::uint32_t empty(int stage) { return full(stages + stage); }
  static __device__ __forceinline__ std::uint32_t resident() { return full(2 * stages); }
  static __device__ __forceinline__ std::uint32_t a_shared(int w, int pass) {
    if constexpr (!streams_a) return base() + resident_at + (2 * w + pass % 2) * a_bytes;
    return base() + pass % stages * stage_bytes + w * a_bytes;
  }
  static __device__ __forceinline__ std::uint32_t b_shared(int pass) {
    if constexpr (!streams_b) return base() + resident_at + sign_of(pass) * b_bytes;
    return base() + pass % stages * stage_bytes + (streams_a ? consumers * a_bytes : 0);
  }

  /// Readies the barriers, and starts the copies of what stays.
  static __device__ __forceinline__ void init(const Tiles& p, int c) {
    if (warp() == 0 && device::elected()) {
#pragma unroll
      for (int stage = 0; stage < stages; ++stage) {
        device::barrier_init(full(stage), 1);
        device::barrier_init(empty(stage), 4 * consumers);  // one lane of each warp
      }
      device::barrier_init(resident(), 1);
      device::fence_async_proxy();
      device::barrier_expect(resident(), resident_bytes);
      const auto keep = [&](int at, const std::uint16_t* tile, int bytes) {
        device::copy_async(base() + resident_at + at, tile, bytes, resident());
      };
      if constexpr (!streams_a) {
#pragma unroll
        for (int i = 0; i < 2 * consumers; ++i)
          keep(i * a_bytes, p.a + a_tile(c, i / 2, i % 2) * a_elements, a_bytes);
      }
      if constexpr (!streams_b) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
          keep(i * b_bytes, p.b + (c % b_tiles + i * b_tiles) * b_elements, b_bytes);
      }
    }
    __syncthreads();
  }
  static __device__ __forceinline__ void wait_resident() {
    if constexpr (resident_bytes > 0) device::barrier_wait(resident(), 0);
  }
  /// Starts the copies of one pass, into a stage that is empty.
  static __device__ __forceinline__ void fill(const Tiles& p, int c, int pass) {
    const std::uint32_t barrier = full(pass % stages);
    device::barrier_expect(barrier, stage_bytes);
    if constexpr (streams_b)
      device::copy_async(b_shared(pass), p.b + b_tile(c, pass, true) * b_elements, b_bytes, barrier);
    if constexpr (streams_a) {
#pragma unroll
      for (int w = 0; w < consumers; ++w)
        device::copy_async(a_shared(w, pass), p.a + a_tile(c, w, pass) * a_elements, a_bytes, barrier);
    }
  }
  static __device__ __forceinline__ void wait_full(int pass) {
    device::barrier_wait(full(pass % stages), pass / stages % 2);
  }
  static __device__ __forceinline__ void wait_empty(int pass) {
    device::barrier_wait(empty(pass % stages), pass / stages % 2 ^ 1);  // at once in the first round
  }
#endif
};

/// Warpgroup 0 copies, the consumers multiply, and setmaxnreg hands them the registers that copying does not
/// need.
template <class Stream>
struct Specialised {
  using Parameters = Tiles;
  static constexpr int threads = 128 * (1 + consumers);
  // 65,536 registers are 512 for each thread of a warpgroup, to be shared out in multiples of 8.
  static constexpr int producer_registers = 40;
  static constexpr int consumer_registers = 232;
  static_assert(producer_registers + consumers * consumer_registers <= 512);

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const int c = static_cast<int>(blockIdx.x) % classes;
    Stream::init(p, c);
    if (warpgroup() == 0) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer_registers));
      if (warp() == 0 && device::elected()) {
#pragma unroll 1
        for (int pass = 0; pass < p.passes; ++pass) {
          Stream::wait_empty(pass);
          Stream::fill(p, c, pass);
        }
      }
    } else {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers));
      const int w = warpgroup() - 1;
      float d[b_columns / 2] = {};
      Stream::wait_resident();
#pragma unroll 1
      for (int pass = 0; pass < p.passes; ++pass) {
        Stream::wait_full(pass);
        multiply_tiles<b_columns>(d, device::descriptor(Stream::a_shared(w, pass)),
                                  device::descriptor(Stream::b_shared(pass)));
        if (pass > 0 && threadIdx.x % 32 == 0)
          device::barrier_arrive(Stream::empty((pass - 1) % Stream::stages));
      }
      device::wgmma_wait<0>();
      store<b_columns>(p.output + (std::int64_t{blockIdx.x} * consumers + w) * a_rows * b_columns, d);
    }
    __syncthreads();  // thread 0 attests the block's end: not before its consumers'
#endif
  }
};

/// The same work without a producer: a barrier of the whole block says that a stage may be filled again.
template <class Stream>
struct Pipelined {
  using Parameters = Tiles;
  static constexpr int threads = 128 * consumers;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const int c = static_cast<int>(blockIdx.x) % classes;
    const int w = warpgroup();
    Stream::init(p, c);
    if (warp() == 0 && device::elected()) {
#pragma unroll
      for (int pass = 0; pass < Stream::stages; ++pass)
        if (pass < p.passes) Stream::fill(p, c, pass);
    }
    float d[b_columns / 2] = {};
    Stream::wait_resident();
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
      Stream::wait_full(pass);
      multiply_tiles<b_columns>(d, device::descriptor(Stream::a_shared(w, pass)),
                                device::descriptor(Stream::b_shared(pass)));
      __syncthreads();  // nobody reads the last pass's stage any more
      const int next = pass - 1 + Stream::stages;
      if (warp() == 0 && pass > 0 && next < p.passes && device::elected()) Stream::fill(p, c, next);
    }
    device::wgmma_wait<0>();
    store<b_columns>(p.output + (std::int64_t{blockIdx.x} * consumers + w) * a_rows * b_columns, d);
#endif
  }
};

namespace {

__global__ void fill_tiles(std::uint16_t* table, int count) {
  const int at = static_cast<int>(device::thread_index());
  if (at >= count) return;
  if (at < a_tiles * a_elements) {
    const Place place = swizzled(at % a_elements);
    table[at] = bf16(random_value<float>(a_index(at / a_elements, place.row, place.k)));
  } else {
    const int b = at - a_tiles * a_elements;
    const int tile = b / b_elements;
    const Place place = swizzled(b % b_elements);
    const float value = random_value<float>(b_index(tile % b_tiles, place.row, place.k));
    table[at] = bf16(tile < b_tiles ? value : -value);
  }
}

const std::uint16_t* tiles(Arena& arena) {
  constexpr int count = a_tiles * a_elements + 2 * b_tiles * b_elements;
  return arena.table<std::uint16_t>("tensor_core tiles", count,
                                    [](std::uint16_t* table, std::size_t, cudaStream_t stream) {
                                      fill_tiles<<<(count + 255) / 256, 256, 0, stream>>>(table, count);
                                      check(cudaGetLastError(), "filling tiles of A and B");
                                    });
}

double rounded(float x) {
  const std::uint32_t bits = std::uint32_t{bf16(x)} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A float32 sum of so many products below 1: each rounding is under 2^-23 of a running sum that stays far
/// below their number. One product too few or too many would stray by about 0.3.
double tolerance(double products) { return 4e-6 * products; }

std::vector<double> mma_reference(std::span<const float> input, int accumulators, int passes) {
  double even = 0;  // how often each half of k has been added, signs counted
  double odd = 0;
  std::uint32_t signs = 0;
  for (int pass = 0; pass < passes; ++pass) {
    signs ^= sign_flips(pass);
    even += (signs & 0x8000U) != 0 ? -1 : 1;
    odd += (signs & 0x80000000U) != 0 ? -1 : 1;
  }
  const double times = double(mma_per_pass) / accumulators / (fragments * fragments);
  const auto value = [&](int at) { return rounded(input[static_cast<std::size_t>(at)]); };
  std::vector<double> sums;
  for (int c = 0; c < classes; ++c)
    for (int tile = 0; tile < accumulators; ++tile)
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          double sum = input[static_cast<std::size_t>(start_at(c, tile, row, column))];
          for (int k = 0; k < 16; ++k)
            sum += times * (k % 2 == 0 ? even : odd) *
                   (value(a_at(c, 0, row, k)) + value(a_at(c, 1, row, k))) *
                   (value(b_at(c, 0, k, column)) + value(b_at(c, 1, k, column)));
          sums.push_back(sum);
        }
  return sums;
}

/// Tile a of A times tile b of B, 64 x 256 row-major; kept, since every reference is made of these 32.
const std::vector<double>& product(int a, int b) {
  static std::array<std::array<std::vector<double>, b_tiles>, a_tiles> kept;
  std::vector<double>& c = kept[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  if (!c.empty()) return c;
  c.resize(a_rows * b_columns);
  for (int k = 0; k < depth; ++k) {
    std::array<double, b_columns> b_row;
    for (int column = 0; column < b_columns; ++column)
      b_row[static_cast<std::size_t>(column)] = rounded(random_value<float>(b_index(b, column, k)));
    for (int row = 0; row < a_rows; ++row) {
      const double factor = rounded(random_value<float>(a_index(a, row, k)));
      double* const sums = c.data() + row * b_columns;
      for (int column = 0; column < b_columns; ++column)
        sums[column] += factor * b_row[static_cast<std::size_t>(column)];
    }
  }
  return c;
}

/// The sums of the blocks of all classes when each of `warpgroups` adds `times(c, w, a, b)` products of tiles
/// a and b.
template <class Times>
std::vector<double> wgmma_reference(int warpgroups, int columns, const Times& times) {
  std::vector<double> sums(static_cast<std::size_t>(classes * warpgroups * a_rows * columns));
  double* tile = sums.data();
  for (int c = 0; c < classes; ++c)
    for (int w = 0; w < warpgroups; ++w, tile += a_rows * columns)
      for (int a = 0; a < a_tiles; ++a)
        for (int b = 0; b < b_tiles; ++b) {
          const double n = times(c, w, a, b);
          if (n == 0) continue;
          const std::vector<double>& c_tile = product(a, b);
          for (int row = 0; row < a_rows; ++row)
            for (int column = 0; column < columns; ++column)
              tile[row * columns + column] += n * c_tile[static_cast<std::size_t>(row * b_columns + column)];
        }
  return sums;
}

std::vector<double> resident_reference(int warpgroups, int columns, int passes) {
  double walk = 0;
  for (int pass = 0; pass < passes; ++pass) walk += 1 - 2 * sign_of(pass);
  return wgmma_reference(warpgroups, columns, [=](int c, int w, int a, int b) {
    return a == (c + w) % a_tiles && b == c % b_tiles ? walk : 0;
  });
}

std::vector<double> ring_reference(bool streams_b, int passes) {
  return wgmma_reference(consumers, b_columns, [=](int c, int w, int a, int b) {
    double n = 0;
    for (int pass = 0; pass < passes; ++pass) {
      const int of_b = b_tile(c, pass, streams_b);
      if (a == a_tile(c, w, pass) && b == of_b % b_tiles) n += of_b < b_tiles ? 1 : -1;
    }
    return n;
  });
}

/// What all variants share: outputs that repeat with the reference, and flop that are counted per block and
/// pass.
Problem problem_of(Arena& arena, const Shape& shape, std::size_t outputs, double flop_per_block,
                   double products, std::function<std::vector<double>()> reference) {
  Problem problem;
  problem.work = {.bytes = static_cast<double>(outputs) * sizeof(float),
                  .flop = double(shape.grid_size) * static_cast<double>(shape.iterations) * flop_per_block};
  problem.poison = [=, &arena] { arena.poison_output(outputs * sizeof(float)); };
  problem.mismatch = [=, &arena] {
    const std::vector<double> sums = reference();
    return arena.first_mismatch<float>(outputs, tolerance(products),
                                       [&](std::size_t i) { return sums[i % sums.size()]; });
  };
  return problem;
}

void add_mma(int accumulators, const void* entry) {
  constexpr double flop_per_warp = mma_per_pass * 2.0 * 16 * 8 * 16;
  Dials dials;
  dials.data_type = "bf16";
  dials.ilp = accumulators;
  add_variant({
      .family = "tensor_core",
      .name = "mma-acc" + std::to_string(accumulators),
      .form = "mma",
      .dials = dials,
      .ceiling = Ceiling::tensor_bf16,
      .pass = {.flop = flop_per_warp / 32,
               .latency_cycles = 33.0 * mma_per_pass / accumulators,
               .pipe_cycles_per_warp = 1.6 * mma_per_pass},
      .instructions = {{"HMMA", mma_per_pass}},
      .least_cc = 80,
      .l2_before = L2::warm,
      .check_iterations = 3,  // odd, so that the signs cannot cancel
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const int passes = static_cast<int>(shape.iterations);
            const int warps = shape.block_size / 32;
            Problem problem = problem_of(
                arena, shape, static_cast<std::size_t>(shape.grid_size) * warps * accumulators * 128,
                warps * flop_per_warp, double(mma_per_pass) / accumulators * 16 * passes, [=, &arena] {
                  return mma_reference(arena.reference_input<float>(start_at(classes, 0, 0, 0)), accumulators,
                                       passes);
                });
            problem.set_parameters(Registers{arena.input<float>(), arena.output<float>(), passes});
            return problem;
          },
      .entry = entry,
  });
}

/// A form of wgmma: `warpgroups` of a block multiply, each 64 x `columns`.
struct Form {
  std::string name = {};
  std::string series = {};
  std::string form = {};
  int stages = 0;
  int bytes_in_flight = 0;
  int block_size = 0;
  int warpgroups = 0;
  int columns = 0;
  Instructions instructions = {};
  int hot_loops = 1;
  std::vector<double> loop_trips = {};
  std::function<int(int)> working_warps = {};  ///< as Flow has it
  int promised_threads = 0;
  std::int64_t check_iterations = 0;  ///< odd, so that the signs cannot cancel
  std::size_t smem_bytes = 0;
  std::function<std::vector<double>(int passes)> reference = nullptr;
  const void* entry = nullptr;
};

void add_wgmma(const Form& f) {
  const double flop_per_block = 2.0 * f.warpgroups * a_rows * f.columns * depth;
  Dials dials;
  dials.data_type = "bf16";
  dials.tile_width = f.columns;
  dials.stages = f.stages;
  dials.bytes_in_flight = static_cast<std::size_t>(f.bytes_in_flight);
  if (f.promised_threads != 0) {
    dials.route = RegisterRoute::launch_bounds;
    dials.register_cap = 65536 / f.promised_threads / 8 * 8;
  }
  add_variant({
      .family = "tensor_core",
      .name = f.name,
      .series = f.series,
      .form = f.form,
      .dials = dials,
      .ceiling = Ceiling::tensor_bf16,
      .pass = {.flop = flop_per_block / f.block_size, .latency_cycles = 2.0 * f.columns},
      .flow = {.working_warps = f.working_warps},
      .instructions = f.instructions,
      .hot_loops = f.hot_loops,
      .loop_trips = f.loop_trips,
      .promised_threads = f.promised_threads,
      .fixed_block_size = f.block_size,
      .least_cc = 90,
      .only_this_cc = true,
      .l2_before = L2::warm,
      .check_iterations = f.check_iterations,
      .dynamic_smem_bytes = [bytes = f.smem_bytes](int) { return bytes; },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const int passes = static_cast<int>(shape.iterations);
            const std::uint16_t* const table = tiles(arena);
            Problem problem = problem_of(
                arena, shape, static_cast<std::size_t>(shape.grid_size) * f.warpgroups * a_rows * f.columns,
                flop_per_block, double(depth) * passes, [=] { return f.reference(passes); });
            problem.set_parameters(Tiles{table, table + a_tiles * a_elements, arena.output<float>(), passes});
            return problem;
          },
      .entry = f.entry,
  });
}

template <int columns, bool a_in_registers>
void add_resident() {
  using Body = Resident<columns, a_in_registers>;
  const std::string form = "wgmma-n" + std::to_string(columns) + (a_in_registers ? "-rs" : "-ss");
  constexpr int most = columns == 256 ? 3 : 4;  // 128 accumulators: no 512 threads have the registers
  for (int warpgroups = 1; warpgroups <= (a_in_registers ? 1 : most); ++warpgroups)
    add_wgmma({.name = form + std::to_string(warpgroups),
               .series = form,
               .form = a_in_registers ? "wgmma-registers" : "wgmma",
               .block_size = 128 * warpgroups,
               .warpgroups = warpgroups,
               .columns = columns,
               .instructions = {{"HGMMA", wgmma_per_pass}},
               .check_iterations = 5,
               .smem_bytes = Body::smem_bytes(warpgroups),
               .reference = [=](int passes) { return resident_reference(warpgroups, columns, passes); },
               .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

template <bool streams_a, bool streams_b>
void add_streamed() {
  using Stream = Ring<streams_a, streams_b>;
  const std::string form = std::string("-") + (streams_a ? "a" : "") + (streams_b ? "b" : "");
  const auto add = [&](Form f) {
    f.name += form;
    f.stages = Stream::stages;
    f.bytes_in_flight = Stream::stages * Stream::stage_bytes;
    f.warpgroups = consumers;
    f.columns = b_columns;
    f.check_iterations = 2 * Stream::stages + 3;  // every stage more than twice
    f.smem_bytes = Stream::smem_bytes;
    f.reference = [](int passes) { return ring_reference(streams_b, passes); };
    add_wgmma(f);
  };
  using Producer = Specialised<Stream>;
  add({.name = "wgmma-specialised",
       .form = "wgmma-specialised",
       .block_size = Producer::threads,
       .instructions = {{"HGMMA", wgmma_per_pass}, {"UBLKCP", Stream::copies}},
       .hot_loops = 2,
       .loop_trips = streams_a && streams_b ? std::vector<double>{0, 1, 0, 0, 0}
                                            : std::vector<double>{0, 1, 0, 0, 0, 0},  // the consumers'
       .working_warps = [](int) { return 4 * consumers; },
       .promised_threads = Producer::threads,
       .entry = reinterpret_cast<const void*>(bounded_entry<Producer, Producer::threads, 1>)});
  using Everyone = Pipelined<Stream>;
  add({.name = "wgmma-pipelined",
       .form = "wgmma-pipelined",
       .block_size = Everyone::threads,
       .instructions = {{"HGMMA", wgmma_per_pass}, {"UBLKCP", Stream::copies}, {"BAR", 1}},
       .entry = reinterpret_cast<const void*>(free_entry<Everyone>)});
}

const Registration registered{[] {
  for_each_value<1, 2, 4, 8, 16>([]<int tiles>(std::integral_constant<int, tiles>) {
    add_mma(tiles, reinterpret_cast<const void*>(free_entry<Mma<tiles>>));
  });
  for_each_value<64, 128, 256>([]<int columns>(std::integral_constant<int, columns>) {
    add_resident<columns, false>();
    add_resident<columns, true>();
  });
  add_streamed<true, false>();
  add_streamed<false, true>();
  add_streamed<true, true>();
}};

}  // namespace

}  // namespace occbench::tensor_core
