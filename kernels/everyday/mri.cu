// SPDX-License-Identifier: Apache-2.0
// Shows: a sum over samples that all threads share, with a sine and a cosine each, from tiles in shared
//   memory or from constant memory, for one or several image points per thread. nvcc loads constants once
//   per warp (ULDC) if all lanes use the same address; indexed variants hide that and load per lane (LDC).
// Expected: the special-function rate, 16 cycles of a scheduler per sample and point; the other 14
//   instructions nearly fill its issue slots. Several points share a sample's loads and need fewer warps.
// Published: Stone et al., J. Parallel Distrib. Comput. 68 (2008); Kirk, Hwu and El Hajj, PMPP,
// 4th ed. (2022), ch. 17.
#include <cmath>
#include <numbers>

#include "kernels/family.cuh"

namespace occbench::mri {

constexpr int chunk = 1024;      // samples in constant memory; longer launches repeat them
constexpr int chunk_tile = 128;  // samples per iteration
constexpr int unrolled = 4;      // samples per trip of the inner loop

// Sample coordinates are random in [-1, 1), those of image points scaled by this: phases of up to 48 turns.
constexpr float half_width = 16;

// Points with the same index modulo this are equal, which keeps the reference cheap.
constexpr std::int64_t period = 1024;

constexpr int flop_per_pair = 19;  // phase 5, its reduction 4, sine and cosine, two complex products 8

/// A sample is (k-space x, y, z, real part), with its imaginary part in another array. A launch sums over
/// the first iterations x tile samples.
struct Parameters {
  const float* x;  ///< of the points of one period, as y and z
  const float* y;
  const float* z;
  const float4* sample;
  const float* imaginary;
  float2* sums;  ///< real and imaginary part per point
  int iterations;
  unsigned lane_bits;  ///< always 0, unknown to the compiler: lane bits that a sample's address depends on
};

struct Chunk {
  float4 sample[chunk];
  float4 imaginary[chunk / 4];
};
__constant__ Chunk constant_chunk;

/// Rounds |x| < 2^22 to the nearest integer; rintf would use the special-function unit.
__device__ __forceinline__ float nearest(float x) {
  constexpr float no_fraction = 0x1.8p23F;  // its ulp is 1
  return __fsub_rn(__fadd_rn(x, no_fraction), no_fraction);
}

/// The points of one thread, and their sums.
template <int points>
struct Points {
  float x[points], y[points], z[points];
  float real[points] = {}, imaginary[points] = {};

  __device__ explicit Points(const Parameters& p) {
#pragma unroll
    for (int j = 0; j < points; ++j) {
      const std::int64_t point = (device::thread_index() + j * device::thread_count()) % period;
      x[j] = half_width * p.x[point];
      y[j] = half_width * p.y[point];
      z[j] = half_width * p.z[point];
    }
  }
  /// Adds `unrolled` samples with imaginary parts `i`.
  __device__ __forceinline__ void add(const float4* sample, float4 i) {
    const float imaginary_part[unrolled] = {i.x, i.y, i.z, i.w};
#pragma unroll
    for (int k = 0; k < unrolled; ++k) {
      const float4 s = sample[k];
#pragma unroll
      for (int j = 0; j < points; ++j) {
        const float turns = fmaf(s.x, x[j], fmaf(s.y, y[j], s.z * z[j]));
        // [-pi, pi], where the fast functions are accurate enough
        const float angle = static_cast<float>(2 * std::numbers::pi) * (turns - nearest(turns));
        const float cosine = __cosf(angle);
        const float sine = __sinf(angle);
        real[j] = fmaf(s.w, cosine, real[j]);
        real[j] = fmaf(-imaginary_part[k], sine, real[j]);
        imaginary[j] = fmaf(imaginary_part[k], cosine, imaginary[j]);
        imaginary[j] = fmaf(s.w, sine, imaginary[j]);
      }
    }
  }
  __device__ void store(const Parameters& p) const {
#pragma unroll
    for (int j = 0; j < points; ++j)
      p.sums[device::thread_index() + j * device::thread_count()] = make_float2(real[j], imaginary[j]);
  }
};

/// Each iteration a block copies as many samples as it has threads into shared memory.
template <int tile, int points>
struct SharedBody {
  using Parameters = mri::Parameters;

  static __device__ void run(const Parameters& p) {
    __shared__ float4 sample[tile];
    __shared__ float4 imaginary[tile / 4];
    Points<points> own(p);
    const float4* next = p.sample + threadIdx.x;
    const float* next_imaginary = p.imaginary + threadIdx.x;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, next += tile, next_imaginary += tile) {
      sample[threadIdx.x] = *next;
      reinterpret_cast<float*>(imaginary)[threadIdx.x] = *next_imaginary;
      __syncthreads();
#pragma unroll 1
      for (int first = 0; first < tile; first += unrolled) own.add(sample + first, imaginary[first / 4]);
      __syncthreads();
    }
    own.store(p);
  }
};

/// Each iteration uses the next samples in constant memory; `indexed`: with per-lane addresses.
template <int points, bool indexed>
struct ConstantBody {
  using Parameters = mri::Parameters;

  static __device__ void run(const Parameters& p) {
    Points<points> own(p);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      int begin = iteration % (chunk / chunk_tile) * chunk_tile;
      if constexpr (indexed) begin += static_cast<int>(threadIdx.x & p.lane_bits);
#pragma unroll 1
      for (int first = begin; first < begin + chunk_tile; first += unrolled)
        own.add(constant_chunk.sample + first, constant_chunk.imaginary[first / 4]);
    }
    own.store(p);
  }
};

namespace {

// Layout of the input: x, y and z of the points, the samples, their imaginary parts.
constexpr std::size_t first_sample = 3 * period;
constexpr std::size_t words_per_sample = 5;

/// Fills constant memory with the first samples of the input, which have the layout of Chunk.
void fill_constant_chunk(Arena& arena) {
  const float* const samples = arena.input<float>() + first_sample;
  arena.table<Chunk>("mri-chunk", 1, [samples](Chunk* table, std::size_t, cudaStream_t stream) {
    check(cudaMemcpyAsync(table, samples, sizeof(Chunk), cudaMemcpyDeviceToDevice, stream));
    check(cudaMemcpyToSymbolAsync(constant_chunk, table, sizeof(Chunk), 0, cudaMemcpyDeviceToDevice, stream),
          "filling constant memory");
  });
}

/// The real and imaginary sums of the points of one period over `summed` samples, which repeat after
/// `stored`; `input` is a CPU copy of the arena's.
std::vector<double> reference(std::span<const float> input, std::size_t stored, std::size_t summed) {
  std::vector<double> sums(2 * period);
  for (std::size_t point = 0; point < period; ++point)
    for (std::size_t i = 0; i < summed; ++i) {
      const float* const sample = &input[first_sample + 4 * (i % stored)];
      const double imaginary = input[first_sample + 4 * stored + i % stored];
      double turns = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
        turns += double{sample[axis]} * half_width * input[axis * period + point];
      const double cosine = std::cos(2 * std::numbers::pi * turns);
      const double sine = std::sin(2 * std::numbers::pi * turns);
      sums[2 * point] += sample[3] * cosine - imaginary * sine;
      sums[2 * point + 1] += imaginary * cosine + sample[3] * sine;
    }
  return sums;
}

/// Adds a variant with `points` per thread: over shared-memory tiles of the block's size, or over constant
/// memory (tile 0) at any block size.
void add(int tile, int points, const Entry& entry, bool indexed = false) {
  const bool shared = tile > 0;
  const int samples = shared ? tile : chunk_tile;  // per iteration
  const int trips = samples / unrolled;
  const int pairs = points * unrolled;  // per trip
  const double flop_per_iteration = double{flop_per_pair} * points * samples;
  // a scheduler issues a special function every eight cycles, and a pair takes two
  const double pipe_cycles = 16.0 * pairs;
  const std::string memory = shared ? "shared" : indexed ? "indexed" : "constant";
  Instructions instructions{
      {"FADD", 3 * pairs}, {"FFMA", 6 * pairs}, {"FMUL", 3 * pairs}, {"MUFU", 2 * pairs}};
  if (shared) instructions["LDS.128"] = unrolled + 1;
  const auto output_bytes = [=](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * points) * sizeof(float2);
  };
  const auto stored = [=](const Shape& shape) {
    return shared ? static_cast<std::size_t>(shape.iterations * tile) : std::size_t{chunk};
  };
  entry.add({
      .family = "mri",
      .name = memory + (shared ? std::to_string(tile) : "") + "-points" + std::to_string(points),
      .form = memory,
      .dials = {.ilp = points,
                .bytes_per_access = shared ? static_cast<int>(sizeof(float4)) : 0,
                .tile_width = samples},
      .ceiling = Ceiling::fp32,
      // the L2 and two barriers; a trip's dependent chain, after the warp's own instructions
      .iteration = {.flop = flop_per_iteration,
                    .latency_cycles = (shared ? 350.0 : 50.0) + trips * (100 + pipe_cycles),
                    .pipe_cycles_per_warp = trips * pipe_cycles / 4},
      // the tiles, a few hundred KB, are in the L2 since the previous launch
      .flow = {.l2_bytes = shared ? words_per_sample * sizeof(float) : 0.0,
               .layout = {.bank_conflict = shared ? 0.5 : 1}},
      .instructions = std::move(instructions),
      .loop_trips = {1, double(trips)},
      .may_spill = shared && entry.register_cap == 32,
      .fixed_block_size = tile,
      .l2_before = L2::warm,
      // includes the repetition of the constant samples
      .check_iterations = shared ? 2 : chunk / chunk_tile + 1,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            if (output_bytes(shape) > arena.output_bytes()) return std::int64_t{0};
            if (!shared) return std::int64_t{1} << 30;
            const std::size_t words = arena.input_bytes() / sizeof(float) - first_sample;
            return static_cast<std::int64_t>(words / words_per_sample) / tile;
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const float* const input = arena.input<float>();
            if (!shared) fill_constant_chunk(arena);
            const std::size_t bytes = output_bytes(shape);
            // tolerance: phases of 48 turns are accurate to 3e-5 rad, sines to 1e-6; a wrong sample is off
            // by 0.1
            const auto mismatch = [=, &arena] {
              const std::size_t count = stored(shape);
              const auto sums =
                  reference(arena.reference_input<float>(first_sample + words_per_sample * count), count,
                            static_cast<std::size_t>(shape.iterations * samples));
              return arena.first_mismatch<float>(bytes / sizeof(float), 1e-3,
                                                 [&](std::size_t i) { return sums[i % sums.size()]; });
            };
            return problem_of(arena,
                              Parameters{.x = input,
                                         .y = input + period,
                                         .z = input + 2 * period,
                                         .sample = reinterpret_cast<const float4*>(input + first_sample),
                                         .imaginary = input + first_sample + 4 * stored(shape),
                                         .sums = reinterpret_cast<float2*>(arena.output<float>()),
                                         .iterations = static_cast<int>(shape.iterations),
                                         .lane_bits = 0},
                              {.bytes = static_cast<double>(bytes),
                               .flop = static_cast<double>(shape.threads()) *
                                       static_cast<double>(shape.iterations) * flop_per_iteration},
                              bytes, mismatch);
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 4>([]<int points>(std::integral_constant<int, points>) {
    add(128, points, entry_of<SharedBody<128, points>>());
    add(0, points, entry_of<ConstantBody<points, false>>());
  });
  add(256, 1, entry_of<SharedBody<256, 1>>());
  add(256, 4, entry_of<SharedBody<256, 4>>());
  // Without a cap nvcc 13 uses 48 registers for four points in shared memory: 64 interleave more of them, 32
  // spill.
  add(128, 4, entry_of<SharedBody<128, 4>, 64>());
  add(128, 4, entry_of<SharedBody<128, 4>, 32>());
  // In constant memory it computes them one after the other in 32 registers: 48 interleave them.
  add(0, 4, entry_of<ConstantBody<4, false>, 48>());
  add(0, 1, entry_of<ConstantBody<1, true>>(), true);
  add(0, 4, entry_of<ConstantBody<4, true>>(), true);
}};

}  // namespace

}  // namespace occbench::mri
