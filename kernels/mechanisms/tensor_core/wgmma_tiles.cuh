// SPDX-License-Identifier: Apache-2.0
// wgmma operands: tiles in shared memory with the 128-byte swizzle, and the description and check of
// variants that use them.
#pragma once

#include <array>
#include <mutex>

#include "kernels/mechanisms/tensor_core/tensor_core.cuh"
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
// B's table also has all tiles negated: the sums then do a random walk as in a long product of random
// matrices. Adding one tile repeatedly would make products negligible against the sum, with hardly any
// toggling.
constexpr int a_tiles = 8;
constexpr int b_tiles = 4;
constexpr int wgmma_per_iteration = depth / 16;

struct Tiles {
  const std::uint16_t* a;  ///< [a_tiles][64 rows][64 k], each tile in the swizzled layout
  const std::uint16_t* b;  ///< [2 b_tiles][256 columns][64 k], the second half negated
  float* output;           ///< [block][warpgroup that multiplies][64][columns]
  int iterations;
};

/// The (row, k) at element `at` of a tile: rows of 128 bytes whose eight 16-byte chunks are permuted by the
/// row, so that one k of eight rows is in different banks (PTX ISA, '128-byte
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
/// Resident tiles: the sign of B in an iteration.
__host__ __device__ constexpr int sign_of(int iteration) {
  return static_cast<int>(mix(static_cast<std::uint32_t>(iteration)) & 1);
}
extern __shared__ __align__(1024) unsigned char swizzled_tiles[];  // the swizzle repeats every 1,024 bytes

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Issues one iteration over tiles in shared memory; returns when the previous one has completed.
template <int columns>
__device__ __forceinline__ void multiply_tiles(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b) {
  device::wgmma_fence();
#pragma unroll
  for (int k = 0; k < wgmma_per_iteration; ++k)
    device::multiply<columns>(d, a + k * device::next_k16, b + k * device::next_k16);
  device::wgmma_commit();
  device::wgmma_wait<1>();
}

/// Writes a warpgroup's accumulators row by row.
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

/// The thread's warp and warpgroup, in a form that the compiler recognises as warp-uniform.
__device__ __forceinline__ int warp() {
  return __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0);
}
__device__ __forceinline__ int warpgroup() { return warp() / 4; }

#endif

static __global__ void fill_tiles(std::uint16_t* table, int count) {
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

inline const std::uint16_t* tiles(Arena& arena) {
  constexpr int count = a_tiles * a_elements + 2 * b_tiles * b_elements;
  return arena.table<std::uint16_t>("tensor_core tiles", count,
                                    [](std::uint16_t* table, std::size_t, cudaStream_t stream) {
                                      fill_tiles<<<(count + 255) / 256, 256, 0, stream>>>(table, count);
                                      check(cudaGetLastError(), "filling tiles of A and B");
                                    });
}

/// Tile a of A times tile b of B, 64 x 256 row-major; cached, since every reference is a combination of
/// these 32.
inline const std::vector<double>& product(int a, int b) {
  static std::array<std::array<std::vector<double>, b_tiles>, a_tiles> kept;
  static std::mutex making;
  const std::scoped_lock lock(making);
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

/// The accumulators of all block classes, if each of `warpgroups` adds `times(c, w, a, b)` products of tiles
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

/// A wgmma variant: `warpgroups` of a block multiply, 64 x `columns` each.
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
  std::function<int(int)> working_warps = {};  ///< see Flow
  int launch_bounds_threads = 0;
  int consumer_registers = 0;         ///< that setmaxnreg gives a consumer's thread: spills are expected
  std::int64_t check_iterations = 0;  ///< odd, so that the signs cannot cancel
  std::size_t smem_bytes = 0;
  std::function<std::vector<double>(int iterations)> reference = nullptr;
  const void* entry = nullptr;
};

inline void add_wgmma(const Form& f) {
  const double flop_per_block = 2.0 * f.warpgroups * a_rows * f.columns * depth;
  Dials dials;
  dials.data_type = "bf16";
  dials.tile_width = f.columns;
  dials.stages = f.stages;
  dials.bytes_in_flight = static_cast<std::size_t>(f.bytes_in_flight);
  if (f.launch_bounds_threads != 0) {
    dials.route = RegisterRoute::launch_bounds;
    dials.register_cap =
        f.consumer_registers != 0 ? f.consumer_registers : 65536 / f.launch_bounds_threads / 8 * 8;
  }
  add_variant({
      .family = "tensor_core",
      .name = f.name,
      .series = f.series,
      .form = f.form,
      .dials = dials,
      .ceiling = Ceiling::tensor_bf16,
      .iteration = {.flop = flop_per_block / f.block_size, .latency_cycles = 2.0 * f.columns},
      .flow = {.working_warps = f.working_warps},
      .instructions = f.instructions,
      .hot_loops = f.hot_loops,
      .loop_trips = f.loop_trips,
      .may_spill = f.consumer_registers > 0,
      .launch_bounds_threads = f.launch_bounds_threads,
      .fixed_block_size = f.block_size,
      .min_cc = 90,
      .only_this_cc = true,
      .l2_before = L2::warm,
      .check_iterations = f.check_iterations,
      .dynamic_smem_bytes = [bytes = f.smem_bytes](int) { return bytes; },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const int iterations = static_cast<int>(shape.iterations);
            const std::uint16_t* const table = tiles(arena);
            Problem problem = problem_of(
                arena, shape, static_cast<std::size_t>(shape.grid_size) * f.warpgroups * a_rows * f.columns,
                flop_per_block, double(depth) * iterations, [=] { return f.reference(iterations); });
            problem.set_parameters(
                Tiles{table, table + a_tiles * a_elements, arena.output<float>(), iterations});
            return problem;
          },
      .entry = f.entry,
  });
}

}  // namespace occbench::tensor_core
