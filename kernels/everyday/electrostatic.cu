// SPDX-License-Identifier: Apache-2.0
// Shows: thread coarsening against occupancy: several grid points per thread share an atom's load and dy^2 +
//   dz^2.
// Expected: one point per thread is bound by issue slots, more points by the square-root unit, up to a third
//   faster; more points need fewer warps, since their roots overlap.
// Published: Stone et al., J. Comput. Chem. 28 (2007); Kirk, Hwu and El Hajj, PMPP, 4th ed. (2022), ch. 18.
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::electrostatic {

constexpr int atoms = 128;   // in shared memory; the original has chunks of atoms in constant memory
constexpr int unrolled = 4;  // atoms per trip of the inner loop

// Atom positions are random in [-1, 1) and the planes of the grid are above all of them, so no distance is
// too small for float32.
constexpr float spacing = 1.0F / 128;
constexpr float lowest_plane = 1.25F;

// Blocks with the same index modulo this compute the same row, which keeps the reference cheap.
constexpr int rows = 4;

constexpr int flop_per_atom = 5;  // dy^2 + dz^2
constexpr int flop_per_pair = 6;  // dx, dx^2 added, root, charge / distance added

struct Parameters {
  const float4* atoms;  ///< x, y, z, charge
  float* potential;     ///< plane by plane, with a row of block x points per block
  int planes;
};

/// 1 / sqrt(x). Not rsqrtf, which handles denormals: `lowest_plane` keeps x normal.
__device__ __forceinline__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Each block computes a row of the grid, plane by plane; thread t its points t, t + block, t + 2 block ...,
/// so stores coalesce.
template <int block, int points>
struct Body {
  using Parameters = electrostatic::Parameters;

  static __device__ void run(const Parameters& p) {
    __shared__ float4 atom[atoms];
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int first = 0; first < atoms; first += block)
      if (block <= atoms || thread < atoms) atom[first + thread] = p.atoms[first + thread];
    __syncthreads();
    // __fmul_rn: otherwise nvcc recomputes these products per atom in an FFMA.
    const float x = __fmul_rn(static_cast<float>(thread), spacing);
    const float y = __fmul_rn(static_cast<float>(blockIdx.x % rows), spacing);
    float z = lowest_plane;
    float* output = p.potential + std::int64_t{blockIdx.x} * (block * points) + thread;
    const std::int64_t plane_points = std::int64_t{gridDim.x} * (block * points);
#pragma unroll 1
    for (int plane = 0; plane < p.planes; ++plane, z += spacing, output += plane_points) {
      float sum[points] = {};
#pragma unroll 1
      for (int first = 0; first < atoms; first += unrolled) {
#pragma unroll
        for (int i = 0; i < unrolled; ++i) {
          const float4 a = atom[first + i];
          const float dx = x - a.x;
          const float dy = y - a.y;
          const float dz = z - a.z;
          const float beside = fmaf(dz, dz, dy * dy);
#pragma unroll
          for (int j = 0; j < points; ++j) {
            const float along = j == 0 ? dx : dx + static_cast<float>(j * block) * spacing;
            sum[j] = fmaf(a.w, inverse_root(fmaf(along, along, beside)), sum[j]);
          }
        }
      }
#pragma unroll
      for (int j = 0; j < points; ++j) output[j * block] = sum[j];
    }
  }
};

namespace {

/// The potential at the points of all distinct rows, planes outermost; `input` is a CPU copy of the arena's.
std::vector<double> reference(std::span<const float> input, std::size_t planes, std::size_t row_points) {
  std::vector<double> potential;
  potential.reserve(planes * rows * row_points);
  for (std::size_t plane = 0; plane < planes; ++plane)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t point = 0; point < row_points; ++point) {
        double sum = 0;
        for (std::size_t atom = 0; atom < atoms; ++atom) {
          const float* const a = &input[4 * atom];
          const double dx = static_cast<double>(point) * spacing - a[0];
          const double dy = static_cast<double>(row) * spacing - a[1];
          const double dz = lowest_plane + static_cast<double>(plane) * spacing - a[2];
          sum += a[3] / std::sqrt(dx * dx + dy * dy + dz * dz);
        }
        potential.push_back(sum);
      }
  return potential;
}

std::optional<std::string> mismatch(Arena& arena, const Shape& shape, std::size_t row_points) {
  const auto blocks = static_cast<std::size_t>(shape.grid_size);
  const auto planes = static_cast<std::size_t>(shape.iterations);
  const auto potential = reference(arena.reference_input<float>(std::size_t{4} * atoms), planes, row_points);
  return arena.first_mismatch<float>(planes * blocks * row_points, 1e-4, [&](std::size_t i) {
    const std::size_t row = i / row_points % blocks % rows;
    return potential[(i / (row_points * blocks) * rows + row) * row_points + i % row_points];
  });
}

template <int block, int points, int cap = 0>
void add() {
  // Throughput counts atom-point pairs, so work saved by coarsening shows as speed. It has no ceiling in
  // FLOP/s: with the FLOPs of one point per thread, eight points would exceed the peak of an SM with 64
  // lanes.
  constexpr double pairs_per_iteration = double{atoms} * points;
  constexpr double flop_per_iteration = (flop_per_atom + flop_per_pair) * pairs_per_iteration;
  // a scheduler issues one instruction per cycle and a square root every eight
  constexpr double issue_cycles = atoms * std::max(6.0 + 4.0 * points, 8.0 * points);
  const auto output_bytes = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * points * sizeof(float);
  };
  entry_of<Body<block, points>, cap>().add({
      .family = "electrostatic",
      .name = "block" + std::to_string(block) + "-points" + std::to_string(points),
      .dials = {.ilp = points, .bytes_per_access = sizeof(float), .tile_width = atoms},
      .ceiling = Ceiling::none,
      // a trip's dependent chain, after the warp's own instructions
      .iteration = {.dram_bytes = double{sizeof(float)} * points,
                    .flop = flop_per_iteration,
                    .latency_cycles = atoms / unrolled * 90.0 + issue_cycles,
                    .pipe_cycles_per_warp = issue_cycles / 4},
      .flow = {.layout = {.bank_conflict = 0.5, .store_conflict = 0.5}},
      .instructions = {{"LDS.128", unrolled},
                       {"FADD", (2 + points) * unrolled},
                       {"FFMA", (1 + 2 * points) * unrolled},
                       {"FMUL", unrolled},
                       {"MUFU", points * unrolled}},
      .loop_trips = {1, double{atoms} / unrolled},
      .fixed_block_size = block,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const auto plane_bytes = static_cast<std::size_t>(shape.threads()) * points * sizeof(float);
            return static_cast<std::int64_t>(arena.output_bytes() / plane_bytes);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t bytes = output_bytes(shape);
            const auto iterations = static_cast<double>(shape.threads() * shape.iterations);
            return problem_of(arena,
                              Parameters{.atoms = reinterpret_cast<const float4*>(arena.input<float>()),
                                         .potential = arena.output<float>(),
                                         .planes = static_cast<int>(shape.iterations)},
                              {.bytes = static_cast<double>(bytes),
                               .flop = iterations * flop_per_iteration,
                               .operations = iterations * pairs_per_iteration},
                              bytes,
                              [=, &arena] { return mismatch(arena, shape, std::size_t{block} * points); });
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 4, 8>([]<int points>(std::integral_constant<int, points>) {
    add<128, points>();
    add<64, points>();
    add<256, points>();
  });
  // Without a cap nvcc 13 uses 31 registers for eight points: 40 allow more roots in flight, 24 fewer.
  add<128, 8, 40>();
  add<128, 8, 24>();
}};

}  // namespace

}  // namespace occbench::electrostatic
