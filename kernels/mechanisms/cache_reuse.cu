// SPDX-License-Identifier: Apache-2.0
// Shows: more resident blocks hide more latency, until together they ask for more L1 than there is.
// Expected: throughput rises with the warps to the L1's 128 bytes a cycle, and falls to the L2's rate where
//   blocks x working set pass the L1: an interior optimum. Loads in flight within a thread bring the rise
//   without the fall.
// Published: Guz et al., 'Many-core vs. many-thread machines: stay away from the valley' (CAL 2009); Rogers
//   et al., 'Cache-conscious wavefront scheduling' (MICRO 2012); Hayes et al., 'Orion' (Middleware 2016).
#include <algorithm>

#include "kernels/family.cuh"

namespace occbench::cache_reuse {

struct Parameters {
  const float* input;
  float* output;               ///< one per thread
  unsigned working_set_bytes;  ///< of a block: a multiple of the 512 bytes that a warp reads at once
  unsigned sets;               ///< working sets, side by side from the input's start
  int iterations;
};

/// A block sweeps its working set again and again: load l of thread t of T is at byte 16 (t + l T), modulo
/// the set. `ilp` loads are in flight at once, and `held` values are held across the loop, for the registers
/// that they take.
template <int ilp, int held = 0>
struct Body {
  using Parameters = cache_reuse::Parameters;

  static __device__ void run(const Parameters& p) {
    const unsigned bytes = p.working_set_bytes;
    const unsigned row = blockDim.x * unsigned{sizeof(float4)};
    const unsigned step = ilp * row % bytes;
    const unsigned first = blockIdx.x % p.sets * bytes;
    const unsigned end = first + bytes;
    const auto* const input = reinterpret_cast<const char*>(p.input);
    unsigned at[ilp];
#pragma unroll
    for (unsigned j = 0; j < ilp; ++j)
      at[j] = first + (threadIdx.x * unsigned{sizeof(float4)} + j * row) % bytes;
    [[maybe_unused]] float value[held > 0 ? held : 1];
    // volatile: a load that the compiler may neither repeat nor put off until after the loop
#pragma unroll
    for (int i = 0; i < held; ++i)
      value[i] = static_cast<const volatile float*>(p.input)[threadIdx.x + static_cast<unsigned>(i)];
    float4 sum{};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float4 x[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        x[j] = *reinterpret_cast<const float4*>(input + at[j]);
        at[j] += step;
        // if (at >= end) at -= bytes, as one predicated subtraction: left to itself the compiler keeps the
        // step in a register of x where registers are short, and so begins it only when the load has come.
        asm("{ .reg .pred wrap; setp.ge.u32 wrap, %0, %1; @wrap sub.u32 %0, %0, %2; }"
            : "+r"(at[j])
            : "r"(end), "r"(bytes));
      }
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        sum.x += x[j].x;
        sum.y += x[j].y;
        sum.z += x[j].z;
        sum.w += x[j].w;
      }
    }
    float result = (sum.x + sum.y) + (sum.z + sum.w);
    // One that only the loop's result can tell to be one: the held values cannot be summed before the loop.
    [[maybe_unused]] const float one = result == result ? 1.0F : 0.0F;
#pragma unroll
    for (int i = 0; i < held; ++i) result = fmaf(value[i], one, result);
    p.output[device::thread_index()] = result;
  }
};

namespace {

constexpr unsigned kibibyte = 1024;

/// How many working sets there are. Blocks take them in turn: all in a quarter of the L2, so that what the L1
/// misses is an L2 hit whatever the number of blocks, and a prime number of them, so that blocks an SM count
/// apart, which tend to meet on one SM, never share one.
unsigned sets_of(unsigned working_set_bytes) {
  static const auto l2_bytes = [] {
    int device = 0;
    int bytes = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device) != cudaSuccess)
      bytes = 0;
    return static_cast<unsigned>(bytes);
  }();
  const auto prime = [](unsigned n) {
    for (unsigned d = 2; d * d <= n; ++d)
      if (n % d == 0) return false;
    return true;
  };
  unsigned sets = std::clamp(l2_bytes, 4096 * kibibyte, 128 * 1024 * kibibyte) / 4 / working_set_bytes;
  while (!prime(sets)) --sets;
  return sets;
}

/// What the threads of as many blocks must put out; `input` is the arena's, on the CPU.
std::vector<double> reference(std::span<const float> input, const Shape& shape, std::size_t blocks,
                              std::size_t working_set_bytes, int ilp, int held) {
  const auto threads = static_cast<std::size_t>(shape.block_size);
  const auto loads = static_cast<std::size_t>(shape.iterations * ilp);
  const std::size_t quads = working_set_bytes / sizeof(float4);
  std::vector<double> outputs(blocks * threads);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t t = 0; t < threads; ++t) {
      double sum = 0;
      for (std::size_t l = 0; l < loads; ++l) {
        const float* const quad = &input[4 * (block * quads + (t + l * threads) % quads)];
        sum += double{quad[0]} + quad[1] + quad[2] + quad[3];
      }
      for (int i = 0; i < held; ++i) sum += input[t + static_cast<std::size_t>(i)];
      outputs[block * threads + t] = sum;
    }
  return outputs;
}

constexpr double tolerance = 5e-4;  // of float32 sums of some 10,000 values; a load too few shows by 0.5

struct Form {
  unsigned working_set_bytes;
  int ilp;
  int held = 0;
  int register_cap = 0;
};

void add(const Form& f, const void* entry) {
  const double bytes_per_iteration = double(sizeof(float4)) * f.ilp;
  // Larger sets are hits at few blocks and misses at many: in between, neither is wrong by much more than 2.
  const bool always_hits = f.working_set_bytes <= 4 * kibibyte;
  const std::string series =
      "ilp" + std::to_string(f.ilp) + "-" + std::to_string(f.working_set_bytes / kibibyte) + "KiB";
  const Dials dials{.ilp = f.ilp,
                    .bytes_per_access = sizeof(float4),
                    .route = f.register_cap > 0 ? RegisterRoute::maxnreg : RegisterRoute::free,
                    .register_cap = f.register_cap,
                    .live_values = f.held,
                    .working_set_bytes = f.working_set_bytes};
  add_variant({
      .family = "cache_reuse",
      .name = series + (f.register_cap > 0 ? "-maxnreg" + std::to_string(f.register_cap) : ""),
      .series = series,
      .dials = dials,
      .ceiling = Ceiling::l1,
      .iteration = {.latency_cycles = always_hits ? 60.0 : 130.0,
                    .idle_values = f.held,
                    .pipe_cycles_per_warp = (always_hits ? 4.0 : 8.0) * f.ilp},
      .flow = {.reused_bytes = bytes_per_iteration, .set_of = Sharer::block},
      .instructions = {{"LDG.128", f.ilp}, {"FADD", 4 * f.ilp}},
      .l2_before = L2::warm,
      // from 128 threads on more than one sweep, so that the way back to the set's start is checked
      .check_iterations = f.working_set_bytes / unsigned{128 * sizeof(float4)} + 2,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const unsigned sets = sets_of(f.working_set_bytes);
            Problem problem;
            problem.set_parameters(Parameters{arena.input<float>(), arena.output<float>(),
                                              f.working_set_bytes, sets, static_cast<int>(shape.iterations)});
            const double loads = static_cast<double>(shape.threads()) * static_cast<double>(shape.iterations);
            problem.work = {.bytes = loads * bytes_per_iteration, .flop = loads * 4 * f.ilp};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto blocks = std::min<std::size_t>(sets, static_cast<std::size_t>(shape.grid_size));
              const std::size_t values = std::max<std::size_t>(blocks * f.working_set_bytes / sizeof(float),
                                                               static_cast<std::size_t>(1024 + f.held));
              const auto outputs = reference(arena.reference_input<float>(values), shape, blocks,
                                             f.working_set_bytes, f.ilp, f.held);
              return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), tolerance,
                                                 [&](std::size_t i) { return outputs[i % outputs.size()]; });
            };
            return problem;
          },
      .entry = entry,
  });
}

/// Values to hold with which nvcc 13 fills `registers` or one less on sm_90, as read from the machine code.
constexpr int held_for(int registers) { return registers - 18; }

const Registration registered{[] {
  constexpr unsigned working_sets_kib[] = {1, 2, 4, 8, 16, 24, 32, 64};
  for_each_value<1, 4>([&]<int ilp>(std::integral_constant<int, ilp>) {
    for (const unsigned kib : working_sets_kib)
      add({.working_set_bytes = kib * kibibyte, .ilp = ilp},
          reinterpret_cast<const void*>(free_entry<Body<ilp>>));
  });
  // All, 3/4, 1/2, 3/8 and 1/4 of the warps of an SM with 65,536 registers for 2,048 threads; the first in
  // every working set, to go with every block size.
  for_each_value<24, 40, 64, 80, 128>([&]<int registers>(std::integral_constant<int, registers>) {
    constexpr int held = held_for(registers);
    for (const unsigned kib : working_sets_kib)
      if (registers == 24 || kib == 4)
        add({.working_set_bytes = kib * kibibyte, .ilp = 1, .held = held, .register_cap = registers},
            reinterpret_cast<const void*>(capped_entry<Body<1, held>, registers>));
  });
}};

}  // namespace

}  // namespace occbench::cache_reuse
