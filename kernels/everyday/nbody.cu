// SPDX-License-Identifier: Apache-2.0
// Shows: arithmetic with a special function in it, fed by broadcasts from shared memory: warps or bodies per
//   thread.
// Expected: 12 FP32 instructions and one MUFU a pair, and so the issue slots as the limit; more bodies per
//   thread get there with fewer warps, for each read of a body then serves several pairs, until registers run
// out. Published: Nyland, Harris and Prins, 'Fast N-Body Simulation with CUDA' (GPU Gems 3, 2007, ch. 31).
#include <array>
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::nbody {

constexpr float softening = 0.0625F;  // squared: no pair is too close for float32, nor a body to itself

// Threads with the same index modulo this sum for the same bodies, so that the reference takes moments.
constexpr std::int64_t period = 4096;

constexpr int unrolled = 4;        // bodies of the tile per trip of the inner loop
constexpr int flop_per_pair = 19;  // 6 FFMA, 3 FADD, 3 FMUL and the square root

/// Bodies are (x, y, z, mass). A launch sums over the first iterations x tile of them: as much of all pairs
/// as it has time for.
struct Parameters {
  const float4* bodies;
  float* accelerations;  ///< x, y, z of each body that is summed for
  int iterations;
};

/// 1 / sqrt(x). Not rsqrtf, which handles denormals: `softening` keeps x from them.
__device__ __forceinline__ float inverse_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Each thread sums the accelerations of `own` bodies, each pass over one tile of as many bodies as the block
/// has threads.
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

/// Accelerations of the bodies of one period, each the sum over the first `others` bodies of `input`.
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

template <int tile, int own>
void add(const void* entry, int register_cap = 0) {
  constexpr double flop_per_iteration = double(flop_per_pair) * tile * own;
  constexpr double issue_cycles = 13.0 * own * unrolled;  // of a trip
  const std::string series = "tile" + std::to_string(tile) + "-bodies" + std::to_string(own);
  const auto output_bytes = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads()) * own * 3 * sizeof(float);
  };
  add_variant({
      .family = "nbody",
      .name = series + (register_cap > 0 ? "-maxnreg" + std::to_string(register_cap) : ""),
      .series = series,
      .dials = {.ilp = own,
                .bytes_per_access = sizeof(float4),
                .route = register_cap > 0 ? RegisterRoute::maxnreg : RegisterRoute::free,
                .register_cap = register_cap,
                .tile_width = tile},
      .ceiling = Ceiling::fp32,
      // the L2 and two barriers; a trip's dependent chain behind the warp's own instructions
      .iteration = {.flop = flop_per_iteration,
                    .latency_cycles = 350.0 + tile / unrolled * (100 + issue_cycles),
                    .pipe_cycles_per_warp = tile / unrolled * issue_cycles / 4},
      // the few hundred KB of the tiles are in the L2 since the launch before
      .flow = {.l2_bytes = sizeof(float4), .layout = {.bank_conflict = 0.5, .store_conflict = 0.5}},
      .instructions = {{"LDS.128", unrolled},
                       {"FADD", 3 * own * unrolled},
                       {"FFMA", 6 * own * unrolled},
                       {"FMUL", 3 * own * unrolled},
                       {"MUFU", own * unrolled}},
      .loop_trips = {1, double(tile) / unrolled},
      .may_spill = register_cap == 32,
      .fixed_block_size = tile,
      .l2_before = L2::warm,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (output_bytes(shape) > arena.output_bytes()) return std::int64_t{0};
            return static_cast<std::int64_t>(arena.input_bytes() / (tile * sizeof(float4)));
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(Parameters{.bodies = reinterpret_cast<const float4*>(arena.input<float>()),
                                              .accelerations = arena.output<float>(),
                                              .iterations = static_cast<int>(shape.iterations)});
            const std::size_t bytes = output_bytes(shape);
            problem.work = {.bytes = static_cast<double>(bytes),
                            .flop = static_cast<double>(shape.threads()) *
                                    static_cast<double>(shape.iterations) * flop_per_iteration};
            problem.poison = [=, &arena] { arena.poison_output(bytes); };
            problem.mismatch = [=, &arena] {
              const std::size_t others = static_cast<std::size_t>(shape.iterations) * tile;
              const auto sums = reference(
                  arena.reference_input<float>(4 * std::max(others, static_cast<std::size_t>(period))),
                  others);
              return arena.first_mismatch<float>(bytes / sizeof(float), 1e-4,
                                                 [&](std::size_t i) { return sums[i % sums.size()]; });
            };
            return problem;
          },
      .entry = entry,
  });
}

template <int tile, int own>
void add_free() {
  add<tile, own>(reinterpret_cast<const void*>(free_entry<Body<tile, own>>));
}
template <int tile, int own, int cap>
void add_capped() {
  add<tile, own>(reinterpret_cast<const void*>(capped_entry<Body<tile, own>, cap>), cap);
}

const Registration registered{[] {
  add_free<128, 1>();
  add_free<128, 2>();
  add_free<128, 4>();
  add_free<64, 2>();
  add_free<256, 2>();
  // nvcc 13 takes 47 registers for four bodies: 40 it can do without a spill, 32 not
  add_capped<128, 4, 40>();
  add_capped<128, 4, 32>();
}};

}  // namespace

}  // namespace occbench::nbody
