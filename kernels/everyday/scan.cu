// SPDX-License-Identifier: Apache-2.0
// Shows: prefix sums of segments, one per block: a barrier per step, shuffles, or several elements per
//   thread.
// Expected: DRAM bandwidth with enough resident warps: the most for Kogge-Stone, whose barriers stall a
//   block 7 to 10 times per segment, fewer for shuffles, the fewest for several elements per thread, which
//   have more bytes in flight.
// Published: Hwu, Kirk and El Hajj, PMPP, 4th ed. (2022), ch. 11; Merrill and Garland,
// NVR-2016-002; Volkov 2010.
#include <bit>

#include "kernels/family.cuh"

namespace occbench::scan {

struct Parameters {
  const float* input;  ///< segment by segment
  float* output;       ///< segment by segment
  int iterations;
};

constexpr int log2_of(int power_of_2) { return std::countr_zero(static_cast<unsigned>(power_of_2)); }

/// Scans a block's segment, one value per thread, by Kogge-Stone: at step s each thread adds the value of
/// the thread 2^s before it.
template <int block>
struct KoggeStone {
  using Parameters = scan::Parameters;
  static constexpr int steps = log2_of(block);
  // Two alternating buffers, so that a step needs only one barrier. After an odd number of steps the next
  // segment would start with the buffer that is still read: the last step then uses a third.
  static constexpr int buffers = 2 + steps % 2;

  static __device__ void run(const Parameters& p) {
    __shared__ float buffer[buffers][block];
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t step = device::thread_count();
    const float* input = p.input + device::thread_index();
    float* output = p.output + device::thread_index();
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, input += step, output += step) {
      float x = *input;
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        float* const values = buffer[s == 2 * (steps / 2) ? 2 : s % 2];
        values[thread] = x;
        __syncthreads();
        if (thread >= 1 << s) x += values[thread - (1 << s)];
      }
      *output = x;
    }
  }
};

/// Scans `value` over groups of `lanes` adjacent lanes.
template <int lanes>
__device__ __forceinline__ float over_lanes(float value, int lane) {
#pragma unroll
  for (int apart = 1; apart < lanes; apart *= 2) {
    const float before = __shfl_up_sync(0xFFFFFFFF, value, apart);
    if (lane >= apart) value += before;
  }
  return value;
}

/// Scans a block's segment with `elements` adjacent values per thread: in registers, then over the warp by
/// shuffles, then the warps' sums in the first warp.
template <int block, int elements>
struct Shuffles {
  using Parameters = scan::Parameters;
  static constexpr int warps = block / 32;
  static constexpr int lanes = std::min(elements, 4);  // per access
  static constexpr int loads = elements / lanes;

  struct alignas(sizeof(float) * lanes) Pack {
    float lane[lanes];
  };

  static __device__ void run(const Parameters& p) {
    // Two arrays, since warps may write the next segment's sums while others still read.
    __shared__ float sums[warps], scanned[warps];
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    // Broadcast from the first lane, so that nvcc knows comparisons to be uniform in the warp.
    const int warp = __shfl_sync(0xFFFFFFFF, thread / 32, 0);
    const std::int64_t step = device::thread_count() * loads;
    const auto* input = reinterpret_cast<const Pack*>(p.input) + device::thread_index() * loads;
    auto* output = reinterpret_cast<Pack*>(p.output) + device::thread_index() * loads;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, input += step, output += step) {
      Pack x[loads];
#pragma unroll
      for (int j = 0; j < loads; ++j) x[j] = input[j];
#pragma unroll
      for (int i = 1; i < elements; ++i)
        x[i / lanes].lane[i % lanes] += x[(i - 1) / lanes].lane[(i - 1) % lanes];
      const float own = x[loads - 1].lane[lanes - 1];
      const float to_here = over_lanes<32>(own, lane);
      if (lane == 31) sums[warp] = to_here;
      __syncthreads();
      if (warp == 0) {
        const float to_warp = over_lanes<warps>(sums[lane % warps], lane);
        if (lane < warps) scanned[lane] = to_warp;
      }
      __syncthreads();
      const float before_warp = warp > 0 ? scanned[warp - 1] : 0.0F;
      if constexpr (elements == 1) {
        x[0].lane[0] = to_here + before_warp;
      } else {
        const float before = to_here - own + before_warp;
#pragma unroll
        for (int i = 0; i < elements; ++i) x[i / lanes].lane[i % lanes] += before;
      }
#pragma unroll
      for (int j = 0; j < loads; ++j) output[j] = x[j];
    }
  }
};

namespace {

/// The differences between the two algorithms.
struct Form {
  std::string algorithm;
  int block;
  int elements = 1;             ///< per thread
  double latency_cycles;        ///< per iteration
  double pipe_cycles_per_warp;  ///< of shared memory, shuffles and barriers
  Instructions instructions;
};

/// Elements have random signs, so sums stay below some hundreds, where float32 resolves about 1e-5.
std::optional<std::string> mismatch(Arena& arena, std::size_t elements, std::size_t segment) {
  const OncePerRow sums_of([=](std::size_t s) {
    std::vector<double> sums;
    for (std::size_t i = s * segment; i < (s + 1) * segment; ++i)
      sums.push_back((sums.empty() ? 0.0 : sums.back()) + RandomInput<float>{}[i]);
    return sums;
  });
  return arena.first_mismatch<float>(elements, 1e-4,
                                     [&](std::size_t i) { return sums_of(i / segment)[i % segment]; });
}

void add(const Form& form, const Entry& entry) {
  const int lanes = std::min(form.elements, 4);
  const int loads = form.elements / lanes;
  const int width = lanes * static_cast<int>(sizeof(float));
  const std::size_t segment = static_cast<std::size_t>(form.block) * static_cast<std::size_t>(form.elements);
  Instructions instructions = form.instructions;
  instructions["LDG." + std::to_string(8 * width)] = loads;
  instructions["STG." + std::to_string(8 * width)] = loads;
  entry.add({
      .family = "scan",
      .name = form.algorithm + "-block" + std::to_string(form.block) + "-elements" +
              std::to_string(form.elements),
      .form = form.algorithm,
      .dials = {.ilp = loads, .bytes_per_access = width, .tile_width = static_cast<int>(segment)},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = 2.0 * sizeof(float) * form.elements,
                    .latency_cycles = form.latency_cycles,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = form.pipe_cycles_per_warp},
      // with eight elements each load touches every other 16 bytes
      .flow = {.layout = {.lines = static_cast<double>(loads)}},
      .instructions = instructions,
      .fixed_block_size = form.block,
      .l2_before = L2::dirty,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            const std::size_t room = std::min(arena.input_bytes(), arena.output_bytes());
            return static_cast<std::int64_t>(room / (segment * sizeof(float))) / shape.grid_size;
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t elements = static_cast<std::size_t>(shape.grid_size) *
                                         static_cast<std::size_t>(shape.iterations) * segment;
            const std::size_t bytes = elements * sizeof(float);
            Problem problem = problem_of(
                arena,
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)},
                {.bytes = 2.0 * static_cast<double>(bytes)}, bytes,
                [=, &arena] { return mismatch(arena, elements, segment); });
            problem.reference_covers_timed = true;
            return problem;
          },
  });
}

template <int block>
void add_kogge_stone() {
  using Body = KoggeStone<block>;
  add({.algorithm = "kogge_stone",
       .block = block,
       // per step a shared-memory round trip, a barrier and an addition
       .latency_cycles = 80.0 * Body::steps,
       .pipe_cycles_per_warp = 4.0 * Body::steps,
       .instructions =
           {{"STS.32", Body::steps}, {"LDS.32", Body::steps}, {"BAR", Body::steps}, {"FADD", Body::steps}}},
      entry_of<Body>());
}

template <int block, int elements, int cap = 0>
void add_shuffles() {
  constexpr int of_warps = log2_of(block / 32);  // shuffles for the warps' sums
  constexpr int of_thread = elements == 1 ? 1 : 2 * elements + 1;
  add({.algorithm = "shuffles",
       .block = block,
       .elements = elements,
       // a thread's sum and two scans by shuffles, dependent; twice a barrier and shared memory
       .latency_cycles = 4.0 * elements + 30.0 * (5 + of_warps) + 120.0,
       .pipe_cycles_per_warp = 2.0 * 5 + 8.0,
       .instructions = {{"STS.32", 2}, {"LDS.32", 2}, {"BAR", 2}, {"FADD", 5 + of_warps + of_thread}}},
      entry_of<Shuffles<block, elements>, cap>());
}
const Registration registered{[] {
  for_each_value<128, 256, 1024>([]<int block>(std::integral_constant<int, block>) {
    add_kogge_stone<block>();
    add_shuffles<block, 1>();
    add_shuffles<block, 4>();
    add_shuffles<block, 8>();
  });
  // Without a cap nvcc 13 uses 28 registers, which allow full occupancy: 24 should change nothing.
  add_shuffles<256, 8, 24>();
}};

}  // namespace

}  // namespace occbench::scan
