// SPDX-License-Identifier: Apache-2.0
// Shows: arithmetic with a special function, fed by broadcasts from shared memory: warps or bodies per
//   thread.
// Expected: 12 FP32 instructions and one MUFU per pair, so issue slots are the limit. More bodies per thread
//   need fewer warps, since each load of a body serves several pairs, until registers run out.
// Published: Nyland, Harris and Prins, 'Fast N-Body Simulation with CUDA' (GPU Gems 3, 2007, ch. 31).
#include <array>
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::nbody {

constexpr float softening =
    0.0625F;  // squared; keeps float32 finite for close pairs and for a body with itself

// Threads with the same index modulo this have the same bodies, which keeps the reference cheap.
constexpr std::int64_t period = 4096;

constexpr int unrolled = 4;        // bodies of the tile per trip of the inner loop
constexpr int flop_per_pair = 19;  // 6 FFMA, 3 FADD, 3 FMUL and the square root

/// Bodies are (x, y, z, mass). A launch sums over the first iterations x tile of them.
struct Parameters {
  const float4* bodies;
  float* accelerations;  ///< x, y, z per body
  int iterations;
};

/// 1 / sqrt(x). Not rsqrtf, which handles denormals: `softening` keeps x normal.
__device__ __forceinline__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Each thread sums the accelerations of `own` bodies, per iteration over one tile of as many bodies as the
/// block has threads.
template <int tile, int own>
struct Body {
  using Parameters = nbody::Parameters;

  static __device__ void run(const Parameters& p) {
    __shared__ float4 other[tile];
    const std::int64_t index = device::thread_index();
    const std::int64_t n = device::thread_count();
    float x[own], y[own], z[own];
    float ax[own] = {}, ay[own] = {}, az[own] = {};
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const float4 body = p.bodies[(index + j * n) % period];
      x[j] = body.x;
      y[j] = body.y;
      z[j] = body.z;
    }
    const float4* next = p.bodies + threadIdx.x;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, next += tile) {
      other[threadIdx.x] = *next;
      __syncthreads();
#pragma unroll 1
      for (int first = 0; first < tile; first += unrolled) {
#pragma unroll
        for (int i = 0; i < unrolled; ++i) {
          const float4 b = other[first + i];
#pragma unroll
          for (int j = 0; j < own; ++j) {
            const float dx = b.x - x[j];
            const float dy = b.y - y[j];
            const float dz = b.z - z[j];
            const float inverse = inverse_root(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
            const float pull = inverse * inverse * inverse * b.w;
            ax[j] = fmaf(dx, pull, ax[j]);
            ay[j] = fmaf(dy, pull, ay[j]);
            az[j] = fmaf(dz, pull, az[j]);
          }
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < own; ++j) {
      float* const output = p.accelerations + 3 * (index + j * n);
      output[0] = ax[j];
      output[1] = ay[j];
      output[2] = az[j];
    }
  }
};

namespace {

/// Accelerations of the bodies of one period by the first `others` bodies of `input`.
std::vector<double> reference(std::span<const float> input, std::size_t others) {
  std::vector<double> sums(3 * period);
  for (std::size_t body = 0; body < period; ++body)
    for (std::size_t other = 0; other < others; ++other) {
      std::array<double, 3> d;
      double squares = softening;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        d[axis] = double{input[4 * other + axis]} - input[4 * body + axis];
        squares += d[axis] * d[axis];
      }
      const double pull = input[4 * other + 3] / (squares * std::sqrt(squares));
      for (std::size_t axis = 0; axis < 3; ++axis) sums[3 * body + axis] += d[axis] * pull;
    }
  return sums;
}

template <int tile, int own, int cap = 0>
void add() {
  constexpr double flop_per_iteration = double(flop_per_pair) * tile * own;
  constexpr double issue_cycles = 13.0 * own * unrolled;  // per trip
  const auto output_bytes = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads()) * own * 3 * sizeof(float);
  };
  entry_of<Body<tile, own>, cap>().add({
      .family = "nbody",
      .name = "tile" + std::to_string(tile) + "-bodies" + std::to_string(own),
      .dials = {.ilp = own, .bytes_per_access = sizeof(float4), .tile_width = tile},
      .ceiling = Ceiling::fp32,
      // the L2 and two barriers; a trip's dependent chain, after the warp's own instructions
      .iteration = {.flop = flop_per_iteration,
                    .latency_cycles = 350.0 + tile / unrolled * (100 + issue_cycles),
                    .pipe_cycles_per_warp = tile / unrolled * issue_cycles / 4},
      // the tiles, a few hundred KB, are in the L2 since the previous launch
      .flow = {.l2_bytes = sizeof(float4), .layout = {.bank_conflict = 0.5, .store_conflict = 0.5}},
      .instructions = {{"LDS.128", unrolled},
                       {"FADD", 3 * own * unrolled},
                       {"FFMA", 6 * own * unrolled},
                       {"FMUL", 3 * own * unrolled},
                       {"MUFU", own * unrolled}},
      .loop_trips = {1, double(tile) / unrolled},
      .may_spill = cap == 32,
      .fixed_block_size = tile,
      .l2_before = L2::warm,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (output_bytes(shape) > arena.output_bytes()) return std::int64_t{0};
            return static_cast<std::int64_t>(arena.input_bytes() / (tile * sizeof(float4)));
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t bytes = output_bytes(shape);
            const auto mismatch = [=, &arena] {
              const std::size_t others = static_cast<std::size_t>(shape.iterations) * tile;
              const auto sums = reference(
                  arena.reference_input<float>(4 * std::max(others, static_cast<std::size_t>(period))),
                  others);
              return arena.first_mismatch<float>(bytes / sizeof(float), 1e-4,
                                                 [&](std::size_t i) { return sums[i % sums.size()]; });
            };
            return problem_of(arena,
                              Parameters{.bodies = reinterpret_cast<const float4*>(arena.input<float>()),
                                         .accelerations = arena.output<float>(),
                                         .iterations = static_cast<int>(shape.iterations)},
                              {.bytes = static_cast<double>(bytes),
                               .flop = static_cast<double>(shape.threads()) *
                                       static_cast<double>(shape.iterations) * flop_per_iteration},
                              bytes, mismatch);
          },
  });
}

const Registration registered{[] {
  add<128, 1>();
  add<128, 2>();
  add<128, 4>();
  add<64, 2>();
  add<256, 2>();
  // Without a cap nvcc 13 uses 47 registers for four bodies: 40 do not spill, 32 do.
  add<128, 4, 40>();
  add<128, 4, 32>();
}};

}  // namespace

}  // namespace occbench::nbody
