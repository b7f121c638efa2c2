// SPDX-License-Identifier: Apache-2.0
// Shows: a copy through shared memory: DRAM, two barriers per tile, and the cost of bank conflicts.
// Expected: without conflicts the DRAM bandwidth of a copy once enough tiles are in flight; with 32-way
//   conflicts shared memory is the limit at any number of warps; 8 rows per thread need half the warps of 4.
// Published: Ruetsch and Micikevicius, 'Optimizing Matrix Transpose in CUDA' (NVIDIA 2009).
#include "kernels/family.cuh"

namespace occbench::transpose {

constexpr int side = 32;  // elements; a tile row is one cache line

/// The blocks form a band of the matrix, `tiles_across` wide, that moves down by its height each iteration.
struct Parameters {
  const float* input;  ///< height x width, row-major
  float* output;       ///< width x height
  int width;
  int height;
  int tiles_across;
  int tiles_down;  ///< of the band
  int iterations;
};

/// A block transposes one tile per iteration, each thread `rows` elements. `stride`: words between the
/// tile's rows in shared memory. The tile is written by rows and read by columns, by lanes `stride` words
/// apart.
template <int stride, int rows>
struct Body {
  using Parameters = transpose::Parameters;
  static constexpr int threads = side * side / rows;

  static __device__ void run(const Parameters& p) {
    constexpr int step = side / rows;  // rows of the tile per access of the block
    __shared__ float tile[side * stride];
    const int x = static_cast<int>(threadIdx.x) % side;
    const int y = static_cast<int>(threadIdx.x) / side;
    const int column = static_cast<int>(blockIdx.x) % p.tiles_across * side;
    const int row = static_cast<int>(blockIdx.x) / p.tiles_across * side;
    const float* input = p.input + std::int64_t{row + y} * p.width + column + x;
    float* output = p.output + std::int64_t{column + y} * p.height + row + x;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float value[rows];
#pragma unroll
      for (int r = 0; r < rows; ++r) value[r] = input[std::int64_t{r} * step * p.width];
#pragma unroll
      for (int r = 0; r < rows; ++r) tile[(y + r * step) * stride + x] = value[r];
      __syncthreads();
#pragma unroll
      for (int r = 0; r < rows; ++r)
        output[std::int64_t{r} * step * p.height] = tile[x * stride + y + r * step];
      __syncthreads();
      input += std::int64_t{side} * p.tiles_down * p.width;
      output += side * p.tiles_down;
    }
  }
};

namespace {

/// Sizes of the most nearly square band that uses every block.
Parameters sizes_of(const Shape& shape) {
  int across = 1;
  for (int d = 1; d * d <= shape.grid_size; ++d)
    if (shape.grid_size % d == 0) across = d;
  const int down = shape.grid_size / across;
  const auto iterations = static_cast<int>(shape.iterations);
  return {.input = nullptr,
          .output = nullptr,
          .width = side * across,
          .height = side * down * iterations,
          .tiles_across = across,
          .tiles_down = down,
          .iterations = iterations};
}

/// Lanes of a warp that access one of the 32 four-byte banks if they are `stride` words apart.
constexpr int conflict_of(int stride) {
  int lanes = 1;
  while (lanes < 32 && stride % (2 * lanes) == 0) lanes *= 2;
  return lanes;
}

template <int stride, int rows>
void add() {
  using Kernel = Body<stride, rows>;
  constexpr int conflict = conflict_of(stride);
  constexpr std::size_t bytes_each_way = std::size_t{4} * rows;  // per thread and iteration
  add_variant({
      .family = "transpose",
      .name = "conflict" + std::to_string(conflict) + "-rows" + std::to_string(rows),
      .dials = {.ilp = rows, .bytes_per_access = 4, .tile_width = side, .bank_conflict = conflict},
      .ceiling = Ceiling::dram,
      // barriers, the shared-memory round trip, and waiting for the last loads of the tile
      .iteration = {.dram_bytes = 2.0 * bytes_each_way,
                    .latency_cycles = 120.0 + rows * (1 + conflict),
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = double(rows) * (1 + conflict)},
      .flow = {.layout = {.apart = true, .bank_conflict = double{conflict}}},
      .instructions = {{"LDG.32", rows}, {"STS.32", rows}, {"LDS.32", rows}, {"STG.32", rows}, {"BAR", 2}},
      .fixed_block_size = Kernel::threads,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(std::min(arena.input_bytes(), arena.output_bytes()) /
                                             bytes_each_way) /
                   shape.threads();
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            Parameters p = sizes_of(shape);
            p.input = arena.input<float>();
            p.output = arena.output<float>();
            const auto width = static_cast<std::size_t>(p.width);
            const auto height = static_cast<std::size_t>(p.height);
            return problem_of<float>(arena, p,
                                     {.bytes = 2.0 * sizeof(float) * static_cast<double>(width * height)},
                                     width * height, 0, [=](std::size_t i) -> double {
                                       constexpr RandomInput<float> input;
                                       return input[i % height * width + i / height];
                                     });
          },
      .entry = reinterpret_cast<const void*>(free_entry<Kernel>),
  });
}

// A transpose without a tile is not included: Flow cannot describe loads of one line and stores of 32.
const Registration registered{[] {
  for_each_value<4, 8>([]<int rows>(std::integral_constant<int, rows>) {
    add<side + 1, rows>();  // the usual padding: no conflict
    add<side + 4, rows>();  // 16-byte aligned rows: four lanes per bank
    add<side, rows>();      // no padding: 32 lanes per bank
  });
}};

}  // namespace

}  // namespace occbench::transpose
