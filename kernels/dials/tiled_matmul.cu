// SPDX-License-Identifier: Apache-2.0
// Shows: shared memory per block as an occupancy limiter, for the textbook's tiled matrix product.
// Expected: wider tiles load less and are faster until fewer blocks fit; the register-tiled form is fastest
//   at lower occupancy.
// Published: PMPP 5.4 (the kernel) and 5.6 (one extern __shared__ array in two parts, sized at launch);
//   Volkov and Demmel, 'Benchmarking GPUs to tune dense linear algebra' (SC 2008) for register tiling.
#include "kernels/family.cuh"

namespace occbench::tiled_matmul {

/// C (m x n) = A (m x k) B (k x n), row-major. One block per C tile, `tiles_across` tiles in a row of them.
struct Parameters {
  const float* a;
  const float* b;
  float* c;
  int n;
  int k;
  int tiles_across;
  int tile_width;         ///< elements; known at compile time in the variants with a fixed tile
  unsigned a_tile_bytes;  ///< offset of the second half of the shared array (PMPP 5.6)
  int iterations;         ///< k over the depth of one tile
};

extern __shared__ __align__(16) unsigned char shared_array[];

/// The textbook's kernel, one element of C per thread. `tile` 0: the width is read at run time.
template <int tile>
struct Textbook {
  using Parameters = tiled_matmul::Parameters;

  static __device__ void run(const Parameters& p) {
    const int width = tile == 0 ? p.tile_width : tile;
    auto* const a_tile = reinterpret_cast<float*>(shared_array);
    auto* const b_tile = reinterpret_cast<float*>(shared_array + p.a_tile_bytes);
    const int tx = static_cast<int>(threadIdx.x) % width;
    const int ty = static_cast<int>(threadIdx.x) / width;
    const int row = static_cast<int>(blockIdx.x) / p.tiles_across * width + ty;
    const int column = static_cast<int>(blockIdx.x) % p.tiles_across * width + tx;
    const float* a = p.a + std::int64_t{row} * p.k + tx;
    const float* b = p.b + std::int64_t{ty} * p.n + column;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      a_tile[ty * width + tx] = *a;
      b_tile[ty * width + tx] = *b;
      a += width;
      b += std::int64_t{width} * p.n;
      __syncthreads();
      if constexpr (tile == 0) {
#pragma unroll 1
        for (int i = 0; i < width; ++i) sum = fmaf(a_tile[ty * width + i], b_tile[i * width + tx], sum);
      } else {
#pragma unroll
        for (int i = 0; i < tile; ++i) sum = fmaf(a_tile[ty * tile + i], b_tile[i * tile + tx], sum);
      }
      __syncthreads();
    }
    p.c[std::int64_t{row} * p.n + column] = sum;
  }
};

/// `span` x `span` elements per thread of a 16 span x 16 span tile: 2 span shared loads feed span squared
/// FMAs.
template <int span>
struct RegisterTiled {
  using Parameters = tiled_matmul::Parameters;
  static constexpr int side = 16;           // threads along each edge of the block
  static constexpr int tile = side * span;  // elements along each edge of C's tile
  static constexpr int depth = 16;          // of A's and B's tiles
  static constexpr int threads = side * side;
  static constexpr int loads = tile * depth / 4 / threads;  // 16-byte loads per thread and matrix
  static_assert(loads >= 1 && span % 4 == 0);

  static __device__ void run(const Parameters& p) {
    auto* const a_tile = reinterpret_cast<float*>(shared_array);  // [depth][tile]: transposed on loading
    auto* const b_tile = reinterpret_cast<float*>(shared_array + p.a_tile_bytes);  // [depth][tile]
    const int t = static_cast<int>(threadIdx.x);
    const int tx = t % side;
    const int ty = t / side;
    const int row = static_cast<int>(blockIdx.x) / p.tiles_across * tile;
    const int column = static_cast<int>(blockIdx.x) % p.tiles_across * tile;
    const float* a = p.a + std::int64_t{row + t / 4} * p.k + t % 4 * 4;
    const float* b = p.b + std::int64_t{t / (tile / 4)} * p.n + column + t % (tile / 4) * 4;
    float sum[span][span] = {};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const int m = t / 4 + l * (threads / 4);
        const auto va = *reinterpret_cast<const float4*>(a + std::int64_t{l} * (threads / 4) * p.k);
        a_tile[(t % 4 * 4 + 0) * tile + m] = va.x;
        a_tile[(t % 4 * 4 + 1) * tile + m] = va.y;
        a_tile[(t % 4 * 4 + 2) * tile + m] = va.z;
        a_tile[(t % 4 * 4 + 3) * tile + m] = va.w;
        const int k = l * (threads / (tile / 4));
        *reinterpret_cast<float4*>(&b_tile[(t / (tile / 4) + k) * tile + t % (tile / 4) * 4]) =
            *reinterpret_cast<const float4*>(b + std::int64_t{k} * p.n);
      }
      a += depth;
      b += std::int64_t{depth} * p.n;
      __syncthreads();
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        float va[span];
        float vb[span];
#pragma unroll
        for (int i = 0; i < span; i += 4) {  // 16-byte groups `side` groups apart, without bank conflicts
          *reinterpret_cast<float4*>(va + i) =
              *reinterpret_cast<const float4*>(&a_tile[k * tile + i * side + ty * 4]);
          *reinterpret_cast<float4*>(vb + i) =
              *reinterpret_cast<const float4*>(&b_tile[k * tile + i * side + tx * 4]);
        }
#pragma unroll
        for (int i = 0; i < span; ++i) {
#pragma unroll
          for (int j = 0; j < span; ++j) sum[i][j] = fmaf(va[i], vb[j], sum[i][j]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < span; ++i) {
#pragma unroll
      for (int j = 0; j < span; j += 4)
        *reinterpret_cast<float4*>(p.c + std::int64_t{row + i / 4 * 4 * side + ty * 4 + i % 4} * p.n +
                                   column + j * side + tx * 4) = *reinterpret_cast<float4*>(&sum[i][j]);
    }
  }
};

namespace {

/// Sizes of the most nearly square product that uses all `blocks` tiles.
struct Sizes {
  int m, n, k, tiles_across;
};
Sizes sizes_of(int blocks, int tile, int depth, std::int64_t iterations) {
  int across = 1;
  for (int d = 1; d * d <= blocks; ++d)
    if (blocks % d == 0) across = d;
  return {blocks / across * tile, across * tile, static_cast<int>(iterations) * depth, across};
}

std::vector<double> reference(Arena& arena, const Sizes& s) {
  const std::size_t half = arena.input_bytes() / 2 / sizeof(float);
  const auto n = static_cast<std::size_t>(s.n);
  const auto k = static_cast<std::size_t>(s.k);
  const auto a = arena.reference_input<float>(static_cast<std::size_t>(s.m) * k);
  std::vector<double> b(k * n);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = random_value<float>(half + i);
  std::vector<double> c(static_cast<std::size_t>(s.m) * n);
  for (std::size_t row = 0; row < static_cast<std::size_t>(s.m); ++row)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t column = 0; column < n; ++column)
        c[row * n + column] += a[row * k + i] * b[i * n + column];
  return c;
}

struct Form {
  std::string name;
  std::string form;
  int tile;
  int depth;
  int threads;
  int elements;  ///< of C per thread
  Instructions instructions;
  double pipe_cycles_per_warp;
  double bytes_per_iteration;  ///< that a thread loads
  double lines;                ///< per warp load: its rows of the tile
  double bank_conflict = 1;
  double store_conflict = 1;
  std::vector<double> loop_trips = {};
  const void* entry = nullptr;
};

void add(const Form& f) {
  const std::size_t tile_bytes = std::size_t{4} * f.tile * f.depth;  // of A's tile, and of B's
  const double flop_per_iteration = 2.0 * f.depth * f.elements;
  // Half of the loads are of A, whose tile rows are part of a line: later iterations use the rest. B has
  // other rows in every iteration.
  const double new_lines = (1 + std::min(1.0, 4.0 * f.depth / 128)) / 2;
  add_variant({
      .family = "tiled_matmul",
      .name = f.name,
      .form = f.form,
      .dials = {.bytes_per_access = f.elements > 1 ? 16 : 4, .tile_width = f.tile},
      .ceiling = Ceiling::fp32,
      // L2 latency, two barriers and the dependent sum; only sizes the work
      .iteration = {.flop = flop_per_iteration,
                    .latency_cycles = 800.0 + 8 * f.depth,
                    .pipe_cycles_per_warp = f.pipe_cycles_per_warp},
      .flow = {.l2_bytes = (1 - new_lines) * f.bytes_per_iteration,
               .shared_bytes = new_lines * f.bytes_per_iteration,
               .layout = {.lines = f.lines,
                          .bank_conflict = f.bank_conflict,
                          .store_conflict = f.store_conflict}},
      .instructions = f.instructions,
      .loop_trips = f.loop_trips,
      .fixed_block_size = f.threads,
      .l2_before = L2::clean,
      .dynamic_smem_bytes = [tile_bytes](int) { return 2 * tile_bytes; },
      .max_iterations =
          [f](const Arena& arena, const Shape& shape) {
            const Sizes s = sizes_of(shape.grid_size, f.tile, f.depth, 1);
            const auto half = static_cast<std::int64_t>(arena.input_bytes() / 2 / sizeof(float));
            return half / (std::int64_t{std::max(s.m, s.n)} * f.depth);
          },
      .prepare =
          [f, tile_bytes, flop_per_iteration](Arena& arena, const Shape& shape) {
            const Sizes s = sizes_of(shape.grid_size, f.tile, f.depth, shape.iterations);
            const float* input = arena.input<float>();
            Problem problem;
            problem.set_parameters(Parameters{.a = input,
                                              .b = input + arena.input_bytes() / 2 / sizeof(float),
                                              .c = arena.output<float>(),
                                              .n = s.n,
                                              .k = s.k,
                                              .tiles_across = s.tiles_across,
                                              .tile_width = f.tile,
                                              .a_tile_bytes = static_cast<unsigned>(tile_bytes),
                                              .iterations = static_cast<int>(shape.iterations)});
            const double elements = double(s.m) * s.n;
            problem.work = {.bytes = 4 * (elements + double(s.m) * s.k + double(s.k) * s.n),
                            .flop = static_cast<double>(shape.threads()) *
                                    static_cast<double>(shape.iterations) * flop_per_iteration};
            problem.poison = [&arena, s] { arena.poison_output(std::size_t{4} * s.m * s.n); };
            problem.mismatch = [&arena, s] {
              const auto c = reference(arena, s);
              return arena.first_mismatch<float>(c.size(), 1e-4, [&](std::size_t i) { return c[i]; });
            };
            return problem;
          },
      .entry = f.entry,
  });
}

template <int tile>
void add_textbook() {
  add({.name = "textbook-tile" + std::to_string(tile),
       .form = "textbook",
       .tile = tile,
       .depth = tile,
       .threads = tile * tile,
       .elements = 1,
       .instructions = {{"LDG.32", 2},
                        {"STS.32", 2},
                        {"LDS.32", tile},
                        {"LDS.128", tile / 4},
                        {"FFMA", tile},
                        {"BAR", 2}},
       .pipe_cycles_per_warp = 1.5 * tile,
       .bytes_per_iteration = 8,
       .lines = 32.0 / tile,
       // A 16-byte load of at most 256 distinct bytes per warp takes two cycles instead of four.
       .bank_conflict = 0.75,
       .store_conflict = 1,
       .entry = reinterpret_cast<const void*>(free_entry<Textbook<tile>>)});
}

const Registration registered{[] {
  for_each_value<8, 16, 32>([]<int tile>(std::integral_constant<int, tile>) {
    add_textbook<tile>();
    add({.name = "runtime-tile" + std::to_string(tile),
         .form = "runtime",
         .tile = tile,
         .depth = tile,
         .threads = tile * tile,
         .elements = 1,
         .instructions = {{"LDS.32", 2}, {"FFMA", 1}},
         .pipe_cycles_per_warp = 2.0 * tile,
         .bytes_per_iteration = 8,
         .lines = 32.0 / tile,
         .loop_trips = {1, tile},
         .entry = reinterpret_cast<const void*>(free_entry<Textbook<0>>)});
  });
  for_each_value<4, 8>([]<int span>(std::integral_constant<int, span>) {
    using Body = RegisterTiled<span>;
    add({.name = "register-" + std::to_string(span) + "x" + std::to_string(span),
         .form = "register",
         .tile = Body::tile,
         .depth = Body::depth,
         .threads = Body::threads,
         .elements = span * span,
         .instructions = {{"LDG.128", 2 * Body::loads},
                          {"STS.32", 4 * Body::loads},
                          {"STS.128", Body::loads},
                          {"LDS.128", Body::depth * span / 2},
                          {"FFMA", Body::depth * span * span},
                          {"BAR", 2}},
         .pipe_cycles_per_warp = Body::depth * span / 2 * 2.0,
         .bytes_per_iteration = 32.0 * Body::loads,
         .lines = 1.5,  // B fills its lines, A half of them
         // Half of the loads as above, the others 128 bytes per cycle; stores to A's tile have a 4-way bank
         // conflict.
         .bank_conflict = 0.75,
         .store_conflict = 2.5,
         .entry = reinterpret_cast<const void*>(free_entry<Body>)});
  });
}};

}  // namespace

}  // namespace occbench::tiled_matmul
