// SPDX-License-Identifier: Apache-2.0
// Shows: prefix sums of segments, a block to each: a barrier at every step, or shuffles, or elements of a
//   thread's own.
// Expected: DRAM's rate if enough warps reside: most for Kogge and Stone's steps, whose barriers hold a block
//   up seven to ten times a segment, fewer for shuffles, fewest for several elements per thread, which have
// more under way. Published: Hwu, Kirk and El Hajj, PMPP, 4th ed. (2022), ch. 11; Merrill and Garland,
// NVR-2016-002; Volkov 2010.
#include <bit>

#include "kernels/family.cuh"

namespace occbench::scan {

struct Parameters {
  const float* input;  ///< segments, one after the other
  float* output;       ///< likewise
  int iterations;
};

constexpr int log2_of(int power_of_2) { return std::countr_zero(static_cast<unsigned>(power_of_2)); }

/// Scans the segment of a block, a value of each thread, by Kogge and Stone: at step s each thread adds what
/// the one 2^s threads before it has.
template <int block>
struct KoggeStone {
  using Parameters = scan::Parameters;
  static constexpr int steps = log2_of(block);
  // Two that take turns, so that a step needs one barrier and not two. After an odd number of steps the next
  // segment would begin with the one that is still read: the last step then has a third.
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

/// Scans `value` over groups of `lanes` neighbours.
template <int lanes>
__device__ __forceinline__ float over_lanes(float value, int lane) {
#pragma unroll
  for (int apart = 1; apart < lanes; apart *= 2) {
    const float before = __shfl_up_sync(0xFFFFFFFF, value, apart);
    if (lane >= apart) value += before;
  }
  return value;
}

/// Scans the segment of a block, `elements` side by side of each thread: in its registers, then the threads'
/// sums in each warp by shuffles, then the warps' sums in the first warp.
template <int block, int elements>
struct Shuffles {
  using Parameters = scan::Parameters;
  static constexpr int warps = block / 32;
  static constexpr int lanes = std::min(elements, 4);  // of an access
  static constexpr int loads = elements / lanes;

  struct alignas(sizeof(float) * lanes) Pack {
    float lane[lanes];
  };

  static __device__ void run(const Parameters& p) {
    // two arrays: warps may write the next segment's sums while others have yet to read what came before
    // theirs
    __shared__ float sums[warps], scanned[warps];
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    // the first lane's, whom all follow: else nvcc provides for lanes of a warp that part ways at its
    // comparisons
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

/// What the two ways of scanning differ in.
struct Form {
  std::string way;
  int block;
  int elements = 1;  ///< of a thread
  int register_cap = 0;
  double latency_cycles;        ///< of an iteration
  double pipe_cycles_per_warp;  ///< of shared memory, shuffles and barriers
  Instructions instructions;
  const void* entry;
};

/// Random elements have both signs, so that sums stay within some hundreds, of which float32 knows 1e-5 or
/// so.
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

void add(const Form& form) {
  const int lanes = std::min(form.elements, 4);
  const int loads = form.elements / lanes;
  const int width = lanes * static_cast<int>(sizeof(float));
  const std::size_t segment = static_cast<std::size_t>(form.block) * static_cast<std::size_t>(form.elements);
  const std::string series =
      form.way + "-block" + std::to_string(form.block) + "-elements" + std::to_string(form.elements);
  Instructions instructions = form.instructions;
  instructions["LDG." + std::to_string(8 * width)] = loads;
  instructions["STG." + std::to_string(8 * width)] = loads;
  add_variant({
      .family = "scan",
      .name = series + (form.register_cap > 0 ? "-maxnreg" + std::to_string(form.register_cap) : ""),
      .series = series,
      .form = form.way,
      .dials = {.ilp = loads,
                .bytes_per_access = width,
                .route = form.register_cap > 0 ? RegisterRoute::maxnreg : RegisterRoute::free,
                .register_cap = form.register_cap,
                .tile_width = static_cast<int>(segment)},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = 2.0 * sizeof(float) * form.elements,
                    .latency_cycles = form.latency_cycles,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = form.pipe_cycles_per_warp},
      // of eight elements each load takes every other 16 bytes
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
            Problem problem;
            problem.set_parameters(
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work = {.bytes = 2.0 * static_cast<double>(bytes)};
            problem.poison = [=, &arena] { arena.poison_output(bytes); };
            problem.reference_reaches = true;
            problem.mismatch = [=, &arena] { return mismatch(arena, elements, segment); };
            return problem;
          },
      .entry = form.entry,
  });
}

template <int block>
void add_kogge_stone() {
  using Body = KoggeStone<block>;
  add({.way = "kogge_stone",
       .block = block,
       // shared memory there and back, a barrier and an addition a step
       .latency_cycles = 80.0 * Body::steps,
       .pipe_cycles_per_warp = 4.0 * Body::steps,
       .instructions =
           {{"STS.32", Body::steps}, {"LDS.32", Body::steps}, {"BAR", Body::steps}, {"FADD", Body::steps}},
       .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

template <int block, int elements>
void add_shuffles(const void* entry, int register_cap = 0) {
  constexpr int of_warps = log2_of(block / 32);  // shuffles of the first warp
  constexpr int of_thread = elements == 1 ? 1 : 2 * elements + 1;
  add({.way = "shuffles",
       .block = block,
       .elements = elements,
       .register_cap = register_cap,
       // the chains of a thread's sum, of both scans by shuffles; twice a barrier and shared memory
       .latency_cycles = 4.0 * elements + 30.0 * (5 + of_warps) + 120.0,
       .pipe_cycles_per_warp = 2.0 * 5 + 8.0,
       .instructions = {{"STS.32", 2}, {"LDS.32", 2}, {"BAR", 2}, {"FADD", 5 + of_warps + of_thread}},
       .entry = entry});
}
template <int block, int elements>
void add_free() {
  add_shuffles<block, elements>(reinterpret_cast<const void*>(free_entry<Shuffles<block, elements>>));
}
template <int block, int elements, int cap>
void add_capped() {
  add_shuffles<block, elements>(reinterpret_cast<const void*>(capped_entry<Shuffles<block, elements>, cap>),
                                cap);
}

const Registration registered{[] {
  for_each_value<128, 256, 1024>([]<int block>(std::integral_constant<int, block>) {
    add_kogge_stone<block>();
    add_free<block, 1>();
    add_free<block, 4>();
    add_free<block, 8>();
  });
  // left free, nvcc 13 takes 28 registers, with which all warps reside that can: 24 should change nothing
  add_capped<256, 8, 24>();
}};

}  // namespace

}  // namespace occbench::scan
