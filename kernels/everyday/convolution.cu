// SPDX-License-Identifier: Apache-2.0
// Shows: outputs per thread against warps: a filter over a tile in shared memory, where several outputs
//   share reads.
// Expected: 3 x 3 runs at the DRAM bandwidth of a copy; with 5 x 5 and 7 x 7 one output per thread is bound
//   by shared memory, while two and four read less of it and come closer to DRAM bandwidth, with fewer
//   warps.
// Published: Kirk, Hwu and El Hajj, PMPP, 4th ed. (2022), ch. 7 (the tile with its halo, the filter in
//   constant memory) and ch. 6 (thread coarsening); Podlozhnyuk, 'Image Convolution with CUDA' (NVIDIA 2007).
#include "kernels/family.cuh"

namespace occbench::convolution {

constexpr int columns = 32;  // of a block's outputs: a warp stores one line
constexpr int largest_side = 7;

/// The blocks form a band of the image, `tiles_across` wide, that moves down by its height each iteration.
struct Parameters {
  const float* input;  ///< rows of `pitch`: the outputs' with a halo on both sides, padded to whole lines
  float* output;       ///< rows of `width`
  int pitch;
  int width;
  int tiles_across;
  int tiles_down;  ///< of the band
  int iterations;
  float filter[largest_side *
               largest_side];  ///< rows of 2 radius + 1; kernel parameters are in constant memory
};

/// A block of 32 x `rows` threads computes one tile of outputs per iteration, each thread `points` of them
/// in a column.
template <int radius, int points, int rows>
struct Body {
  using Parameters = convolution::Parameters;
  static constexpr int side = 2 * radius + 1;  // of the filter
  static constexpr int threads = columns * rows;
  static constexpr int tile_width = columns + 2 * radius;
  static constexpr int output_rows = rows * points;
  // All threads load, also beyond the halo (rows that the block below reads), so no load needs a bounds
  // check.
  static constexpr int loads = (tile_width * (output_rows + 2 * radius) + threads - 1) / threads;
  static constexpr int loaded_rows = (loads * threads + tile_width - 1) / tile_width;  // the last one in part
  static constexpr int shared_reads = (points + 2 * radius) * side;

  static __device__ void run(const Parameters& p) {
    __shared__ float tile[loads * threads];
    const int thread = static_cast<int>(threadIdx.x);
    const int x = thread % columns;
    const int y = thread / columns * points;
    const int column = static_cast<int>(blockIdx.x) % p.tiles_across * columns;
    const int row = static_cast<int>(blockIdx.x) / p.tiles_across * output_rows;
    const float* input = p.input + std::int64_t{row} * p.pitch + column;
    float* output = p.output + std::int64_t{row + y} * p.width + column + x;
    int from[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const int at = thread + l * threads;
      from[l] = at / tile_width * p.pitch + at % tile_width;
    }
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float value[loads];
#pragma unroll
      for (int l = 0; l < loads; ++l) value[l] = input[from[l]];
#pragma unroll
      for (int l = 0; l < loads; ++l) tile[thread + l * threads] = value[l];
      __syncthreads();
      float sum[points] = {};
#pragma unroll
      for (int r = 0; r < points + 2 * radius; ++r) {
#pragma unroll
        for (int c = 0; c < side; ++c) {
          const float pixel = tile[(y + r) * tile_width + x + c];
#pragma unroll
          for (int j = 0; j < points; ++j)
            if (r >= j && r - j < side) sum[j] = fmaf(pixel, p.filter[(r - j) * side + c], sum[j]);
        }
      }
#pragma unroll
      for (int j = 0; j < points; ++j) output[std::int64_t{j} * p.width] = sum[j];
      __syncthreads();
      input += std::int64_t{output_rows} * p.tiles_down * p.pitch;
      output += std::int64_t{output_rows} * p.tiles_down * p.width;
    }
  }

  /// 128-byte lines per warp load, on average.
  static constexpr double lines_per_load() {
    int lines = 0;
    for (int first = 0; first < loads * threads; first += columns) {
      int last = -1;
      for (int at = first; at < first + columns; ++at) {
        // a row of the tile starts at a line and ends in the next
        const int line = at / tile_width * 2 + at % tile_width / columns;
        lines += line != last;
        last = line;
      }
    }
    return static_cast<double>(lines) / (rows * loads);
  }
};

namespace {

/// Sizes of the most nearly square band that uses every block.
template <class Kernel>
Parameters sizes_of(const Shape& shape) {
  Parameters p{};
  p.tiles_across = 1;
  for (int d = 1; d * d <= shape.grid_size; ++d)
    if (shape.grid_size % d == 0) p.tiles_across = d;
  p.tiles_down = shape.grid_size / p.tiles_across;
  p.width = columns * p.tiles_across;
  p.pitch = p.width + columns;
  p.iterations = static_cast<int>(shape.iterations);
  for (int i = 0; i < Kernel::side * Kernel::side; ++i) p.filter[i] = random_value<float>(i);
  return p;
}

template <class Kernel>
std::optional<std::string> mismatch(Arena& arena, const Parameters& p) {
  const auto width = static_cast<std::size_t>(p.width);
  const auto pitch = static_cast<std::size_t>(p.pitch);
  const std::size_t height = std::size_t{Kernel::output_rows} * p.tiles_down * p.iterations;
  constexpr RandomInput<float> input;
  return arena.first_mismatch<float>(width * height, 1e-4, [&](std::size_t i) {
    const std::size_t corner = i / width * pitch + i % width;
    double sum = 0;
    for (std::size_t r = 0; r < Kernel::side; ++r)
      for (std::size_t c = 0; c < Kernel::side; ++c)
        sum += double{input[corner + r * pitch + c]} * p.filter[r * Kernel::side + c];
    return sum;
  });
}

template <int radius, int points, int rows, int cap = 0>
void add() {
  using Kernel = Body<radius, points, rows>;
  constexpr int loads = Kernel::loads;
  constexpr int reads = Kernel::shared_reads;
  constexpr int fma = Kernel::side * Kernel::side * points;
  entry_of<Body<radius, points, rows>, cap>().add({
      .family = "convolution",
      .name = "radius" + std::to_string(radius) + "-rows" + std::to_string(rows) + "-points" +
              std::to_string(points),
      .form = "radius" + std::to_string(radius),
      .dials = {.ilp = points, .bytes_per_access = sizeof(float), .tile_width = Kernel::tile_width},
      // for all three filters: even 7 x 7 has only 12 FLOP per byte
      .ceiling = Ceiling::dram,
      // waiting for the tile, two barriers, and the dependent FMAs of a sum
      .iteration = {.dram_bytes = 2.0 * sizeof(float) * points,
                    .flop = 2.0 * fma,
                    .latency_cycles = 120.0 + fma + reads,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = double(reads + loads)},
      // each pixel comes from DRAM once; neighbouring blocks load halos at the same time
      .flow = {.shared_bytes = double{sizeof(float)} * (loads - points),
               .layout = {.lines = Kernel::lines_per_load(), .apart = true}},
      .instructions = {{"LDG.32", loads},
                       {"STS.32", loads},
                       {"LDS.32", reads},
                       {"FFMA", fma},
                       {"STG.32", points},
                       {"BAR", 2}},
      .fixed_block_size = Kernel::threads,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const Parameters p = sizes_of<Kernel>(shape);
            const auto rows_in = static_cast<std::int64_t>(arena.input_bytes() / sizeof(float)) / p.pitch;
            const auto rows_out = static_cast<std::int64_t>(arena.output_bytes() / sizeof(float)) / p.width;
            const std::int64_t beyond = Kernel::loaded_rows - Kernel::output_rows;
            return std::max<std::int64_t>(
                0, std::min(rows_in - beyond, rows_out) / (Kernel::output_rows * p.tiles_down));
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            Parameters p = sizes_of<Kernel>(shape);
            p.input = arena.input<float>();
            p.output = arena.output<float>();
            const auto outputs = static_cast<std::size_t>(shape.threads() * shape.iterations) * points;
            // each pixel is read and written once; the image's halo and cache misses are not counted
            Problem problem =
                problem_of(arena, p,
                           {.bytes = 2.0 * sizeof(float) * static_cast<double>(outputs),
                            .flop = 2.0 * fma / points * static_cast<double>(outputs)},
                           outputs * sizeof(float), [=, &arena] { return mismatch<Kernel>(arena, p); });
            problem.reference_covers_timed = true;
            return problem;
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 3>([]<int radius>(std::integral_constant<int, radius>) {
    for_each_value<1, 2, 4>([]<int points>(std::integral_constant<int, points>) {
      add<radius, points, 4>();
      add<radius, points, 8>();
    });
  });
  // Without a cap nvcc 13 uses 32 registers; with 64 (60 used) it has more reads in flight, with 24 fewer.
  add<3, 4, 4, 64>();
  add<3, 4, 4, 24>();
}};

}  // namespace

}  // namespace occbench::convolution
