// SPDX-License-Identifier: Apache-2.0
// Shows: divergent lanes of a warp run one after the other; divergent warps and blocks run concurrently.
// Expected: time(A) + time(B) for any split of the lanes, 2^D times for 2^D paths, at every occupancy; no
//   cost if whole warps or blocks diverge; a boundary test costs the lanes outside, not a second path.
// Published: PMPP 4.5 and its exercises (31 of 160 warps of a 62 x 76 picture in 16 x 16 blocks diverge).
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/family.cuh"

namespace occbench::divergence {

constexpr std::int64_t period = 128;  // threads with the same index modulo this start from the same value
constexpr int fma_per_path = 2048;    // per thread and iteration, to make the branches negligible
constexpr int fma_in_code = 64;       // per loop body: 32 paths fit the instruction caches

/// x * x + drift stays in [-2, 2] without fixed point, so a missing step shows. Each path has its own drift,
/// so the compiler cannot merge paths and a wrong path shows.
__host__ __device__ constexpr float drift_of(int path) { return -1.8F - 0.0048F * static_cast<float>(path); }

/// One path: fma_per_path FMAs in `ilp` chains.
template <int path, int ilp>
__device__ __forceinline__ void follow(float (&x)[ilp]) {
#pragma unroll 1
  for (int left = fma_per_path / fma_in_code; left > 0; --left) {
#pragma unroll
    for (int i = 0; i < fma_in_code; ++i) x[i % ilp] = fmaf(x[i % ilp], x[i % ilp], drift_of(path));
  }
}

/// What selects the path: the lane, the warp in the grid, or the block.
enum class By { lane, warp, block };

struct BranchParameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
  By by;
  unsigned mask;  ///< By::lane with two paths: bit l is the path of lane l
};

/// The path of a thread. Warps and blocks alternate in a Thue-Morse sequence, so each scheduler and SM has
/// both kinds at any stride.
__host__ __device__ inline unsigned path_of(By by, unsigned mask, int depth, std::int64_t index,
                                            std::int64_t block) {
  const auto lane = static_cast<unsigned>(index % 32);  // block sizes are multiples of 32
  if (by == By::lane) return depth == 1 ? mask >> lane & 1 : lane & ((1U << depth) - 1);
  auto parity = static_cast<unsigned>(by == By::warp ? index / 32 : block);
  for (int shift = 16; shift > 0; shift /= 2) parity ^= parity >> shift;
  return parity & 1;
}

/// `depth` nested branches to 2^depth paths; depth 0: one path without a branch.
template <int depth>
struct Branch {
  using Parameters = BranchParameters;

  template <int level, int path>
  static __device__ __forceinline__ void descend(unsigned wanted, float (&x)[1]) {
    if constexpr (level == 0) {
      follow<path>(x);
    } else if (wanted >> (level - 1) & 1) {
      descend<level - 1, 2 * path + 1>(wanted, x);
    } else {
      descend<level - 1, 2 * path>(wanted, x);
    }
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned wanted = path_of(p.by, p.mask, depth, index, blockIdx.x);
    float x[1] = {p.input[index % period]};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      // Opaque to the compiler: otherwise it might hoist the branch out of the loop.
      asm volatile("" : "+r"(wanted));
      descend<depth, 0>(wanted, x);
    }
    p.output[index] = x[0];
  }
};

/// An array of columns x rows under tiles that stick out of it; tile t is (t % across, t / across). A grid
/// holds as many copies of it as it has blocks for, the last perhaps in part.
struct Tiling {
  int columns, rows;
  int tile_width, tile_height;

  [[nodiscard]] __host__ __device__ int across() const { return (columns + tile_width - 1) / tile_width; }
  [[nodiscard]] __host__ __device__ int down() const { return (rows + tile_height - 1) / tile_height; }
  [[nodiscard]] __host__ __device__ int column(int block, int thread) const {
    return block % (across() * down()) % across() * tile_width + thread % tile_width;
  }
  [[nodiscard]] __host__ __device__ int row(int block, int thread) const {
    return block % (across() * down()) / across() * tile_height + thread / tile_width;
  }
};

constexpr int chains =
    4;  // enough for one warp to saturate a scheduler, so warps that end early leave no gap

struct BoundaryParameters {
  const float* input;
  float* output;  ///< one per thread, then per warp the iterations in which its lanes diverged
  int iterations;
  Tiling tiling;
};

/// Boundary: `if (column < columns && row < rows)` around the work, or the work alone.
template <bool tested>
struct Boundary {
  using Parameters = BoundaryParameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const int thread = static_cast<int>(threadIdx.x);
    int column = p.tiling.column(static_cast<int>(blockIdx.x), thread);
    int row = p.tiling.row(static_cast<int>(blockIdx.x), thread);
    float x[chains];
#pragma unroll
    for (int j = 0; j < chains; ++j) x[j] = p.input[index % period + j * period];
    int diverged = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      asm volatile("" : "+r"(column), "+r"(row));  // as above
      const bool inside = !tested || (column < p.tiling.columns && row < p.tiling.rows);
      const unsigned lanes = __ballot_sync(0xFFFFFFFFU, inside);
      diverged += lanes != 0 && lanes != 0xFFFFFFFFU;
      if (inside) follow<0>(x);
    }
    p.output[index] = x[0] + x[1] + x[2] + x[3];
    if (index % 32 == 0) p.output[device::thread_count() + index / 32] = static_cast<float>(diverged);
  }
};

namespace {

/// Start values after `steps` FMAs of a path, in exact float32 arithmetic.
float after(float x, int path, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) x = std::fma(x, x, drift_of(path));
  return x;
}

struct BranchForm {
  std::string name;
  std::string series = {};
  int depth = 0;
  By by = By::lane;
  unsigned mask = 0;
  int lanes_apart = 0;
};

std::optional<std::string> branch_mismatch(Arena& arena, const Shape& shape, const BranchForm& f) {
  const auto starts = arena.reference_input<float>(period);
  const int paths = 1 << f.depth;
  std::vector<std::vector<float>> ends(static_cast<std::size_t>(paths));
  for (int path = 0; path < paths; ++path)
    for (std::int64_t t = 0; t < period; ++t) {
      const bool taken = f.by != By::lane || static_cast<int>(path_of(f.by, f.mask, f.depth, t, 0)) == path;
      ends[static_cast<std::size_t>(path)].push_back(
          taken ? after(starts[static_cast<std::size_t>(t)], path, shape.iterations * fma_per_path)
                : std::numeric_limits<float>::quiet_NaN());
    }
  return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), 0, [&](std::size_t i) {
    const auto index = static_cast<std::int64_t>(i);
    return ends[path_of(f.by, f.mask, f.depth, index, index / shape.block_size)][i % period];
  });
}

template <int depth>
void add_branch(BranchForm f) {
  f.depth = depth;
  // Paths that a warp runs one after the other.
  const int serial = f.lanes_apart == 0 ? 1 : 1 << depth;
  Dials dials;
  dials.lanes_apart = f.lanes_apart;
  dials.divergent_warps = f.lanes_apart == 0 ? 0.0 : 1.0;
  std::vector<double> loop_trips(1 + (std::size_t{1} << depth), fma_per_path / fma_in_code);
  loop_trips.front() = 1;  // the iteration, then a loop per path
  if (f.lanes_apart == 0) std::fill(loop_trips.begin() + 2, loop_trips.end(), 0);
  add_variant({
      .family = "divergence",
      .name = f.name,
      .series = f.series,
      .form = f.series.empty() ? f.name : f.series,
      .baseline = "uniform",
      .dials = dials,
      .ceiling = Ceiling::fp32,
      .iteration = {.flop = 2.0 * fma_per_path,
                    .latency_cycles = 4.0 * fma_per_path * serial,
                    .pipe_cycles_per_warp = fma_per_path / 4.0 * serial},
      .instructions = {{"FFMA", fma_in_code << depth}},
      .hot_loops = 1 << depth,
      .loop_trips = loop_trips,
      .l2_before = L2::warm,
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(BranchParameters{arena.input<float>(), arena.output<float>(),
                                                    static_cast<int>(shape.iterations), f.by, f.mask});
            const auto threads = static_cast<double>(shape.threads());
            problem.work = {.bytes = threads * sizeof(float),
                            .flop = threads * static_cast<double>(shape.iterations) * 2 * fma_per_path};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [&arena, shape, f] { return branch_mismatch(arena, shape, f); };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Branch<depth>>),
  });
}

/// Lanes inside the image per warp of one copy, by geometry.
struct Copy {
  std::vector<std::uint32_t> lanes;  ///< [tile x warps per block + warp]: bit l is lane l
  [[nodiscard]] bool diverges(std::size_t warp) const {
    return lanes[warp % lanes.size()] != 0 && ~lanes[warp % lanes.size()] != 0;
  }
  [[nodiscard]] bool inside(std::size_t thread) const {
    return (lanes[thread / 32 % lanes.size()] >> thread % 32 & 1) != 0;
  }
};
Copy geometry(const Tiling& t, int block_size) {
  Copy copy;
  for (int tile = 0; tile < t.across() * t.down(); ++tile)
    for (int warp = 0; warp < block_size / 32; ++warp) {
      std::uint32_t lanes = 0;
      for (int lane = 0; lane < 32; ++lane) {
        const int thread = 32 * warp + lane;
        const bool inside = t.column(tile, thread) < t.columns && t.row(tile, thread) < t.rows;
        lanes |= static_cast<std::uint32_t>(inside) << lane;
      }
      copy.lanes.push_back(lanes);
    }
  return copy;
}

struct BoundaryForm {
  std::string name;
  std::string form;
  Tiling tiling;       ///< tile_width 0: a vector that fills one block
  int block_size = 0;  ///< 0: any
  bool tested = true;
};

Tiling tiling_of(const BoundaryForm& f, int block_size) {
  return f.tiling.tile_width > 0 ? f.tiling : Tiling{block_size, 1, block_size, 1};
}

std::optional<std::string> boundary_mismatch(Arena& arena, const Shape& shape, const BoundaryForm& f) {
  const Copy copy = geometry(tiling_of(f, shape.block_size), shape.block_size);
  const auto starts = arena.reference_input<float>(chains * period);
  std::vector<float> untouched(period);
  std::vector<float> ends(period);
  for (std::size_t t = 0; t < period; ++t)
    for (std::size_t j = 0; j < chains; ++j) {
      const float start = starts[t + j * period];
      untouched[t] += start;
      ends[t] += after(start, 0, shape.iterations * fma_per_path / chains);
    }
  const auto threads = static_cast<std::size_t>(shape.threads());
  return arena.first_mismatch<float>(threads + threads / 32, 0, [&](std::size_t i) -> double {
    if (i < threads) return copy.inside(i) ? ends[i % period] : untouched[i % period];
    return copy.diverges(i - threads) ? static_cast<double>(shape.iterations) : 0;
  });
}

void add_boundary(const BoundaryForm& f) {
  const int some_block = f.block_size > 0 ? f.block_size : 256;
  const Copy one_copy = geometry(tiling_of(f, some_block), some_block);
  std::size_t divergent = 0;
  std::size_t working = 0;
  for (std::size_t warp = 0; warp < one_copy.lanes.size(); ++warp) {
    divergent += one_copy.diverges(warp);
    working += one_copy.lanes[warp] != 0;
  }
  Dials dials;
  dials.ilp = chains;
  dials.divergent_warps = static_cast<double>(divergent) / static_cast<double>(one_copy.lanes.size());
  add_variant({
      .family = "divergence",
      .name = f.name,
      .form = f.form,
      .baseline = "full-untested",
      .dials = dials,
      .ceiling = Ceiling::fp32,
      .iteration = {.flop = 2.0 * fma_per_path, .latency_cycles = 4.0 * fma_per_path / chains},
      .flow = {.working_share = static_cast<double>(working) / static_cast<double>(one_copy.lanes.size())},
      .instructions = {{"FFMA", fma_in_code}},
      .loop_trips = {1, fma_per_path / fma_in_code},
      .fixed_block_size = f.block_size,
      .l2_before = L2::warm,
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            const Tiling tiling = tiling_of(f, shape.block_size);
            const Copy copy = geometry(tiling, shape.block_size);
            const auto warps = static_cast<std::size_t>(shape.threads() / 32);
            double lanes = 0;  // inside the image, which do useful work
            for (std::size_t w = 0; w < copy.lanes.size(); ++w) {
              const std::size_t copies = warps / copy.lanes.size() + (w < warps % copy.lanes.size());
              lanes += static_cast<double>(copies) * std::popcount(copy.lanes[w]);
            }
            Problem problem;
            problem.set_parameters(BoundaryParameters{arena.input<float>(), arena.output<float>(),
                                                      static_cast<int>(shape.iterations), tiling});
            const auto threads = static_cast<std::size_t>(shape.threads());
            problem.work = {.bytes = sizeof(float) * static_cast<double>(threads + warps),
                            .flop = lanes * static_cast<double>(shape.iterations) * 2 * fma_per_path};
            problem.poison = [&arena, threads, warps] {
              arena.poison_output((threads + warps) * sizeof(float));
            };
            problem.mismatch = [&arena, shape, f] { return boundary_mismatch(arena, shape, f); };
            return problem;
          },
      .entry = f.tested ? reinterpret_cast<const void*>(free_entry<Boundary<true>>)
                        : reinterpret_cast<const void*>(free_entry<Boundary<false>>),
  });
}

const Registration registered{[] {
  add_branch<0>({.name = "uniform"});
  for (const int lanes : {0, 1, 2, 4, 8, 16})
    add_branch<1>({.name = "split-lane-" + std::to_string(lanes),
                   .series = "split-lane",
                   .mask = (1U << lanes) - 1,
                   .lanes_apart = lanes});
  add_branch<1>({.name = "spread-lane-4", .series = "spread-lane", .mask = 0x01010101U, .lanes_apart = 4});
  add_branch<1>({.name = "branch-on-warp", .by = By::warp});
  add_branch<1>({.name = "branch-on-block", .by = By::block});
  add_branch<1>({.name = "nested-1", .series = "nested", .mask = 0xAAAAAAAAU, .lanes_apart = 16});
  for_each_value<2, 3, 4, 5>([]<int depth>(std::integral_constant<int, depth>) {
    add_branch<depth>(
        {.name = "nested-" + std::to_string(depth), .series = "nested", .lanes_apart = 32 - (32 >> depth)});
  });
  for (const int elements : {100, 1000, 10000})
    for (const int block_size : {64, 128, 256})
      add_boundary({.name = "vector-" + std::to_string(elements) + "-b" + std::to_string(block_size),
                    .form = "vector",
                    .tiling = {elements, 1, block_size, 1},
                    .block_size = block_size});
  add_boundary(
      {.name = "image-62-rows-76-columns", .form = "image", .tiling = {76, 62, 16, 16}, .block_size = 256});
  add_boundary({.name = "image-150-rows-200-columns",
                .form = "image",
                .tiling = {200, 150, 16, 16},
                .block_size = 256});
  add_boundary({.name = "full-tested", .form = "full-tested", .tiling = {}});
  add_boundary({.name = "full-untested", .form = "full-untested", .tiling = {}, .tested = false});
}};

}  // namespace

}  // namespace occbench::divergence
