// SPDX-License-Identifier: Apache-2.0
// Shows: more resident blocks hide more latency until their working sets exceed the L1.
// Expected: throughput rises with warps to the L1's 128 bytes per cycle, and falls to L2 bandwidth once
//   blocks x working set exceed the L1: an interior optimum. Loads in flight per thread bring the rise
//   without the fall.
// Published: Guz et al., 'Many-core vs. many-thread machines: stay away from the valley' (CAL 2009); Rogers
//   et al., 'Cache-conscious wavefront scheduling' (MICRO 2012); Hayes et al., 'Orion' (Middleware 2016).
#include <algorithm>

#include "kernels/family.cuh"

namespace occbench::cache_reuse {

struct Parameters {
  const float* input;
  float* output;               ///< one per thread
  unsigned working_set_bytes;  ///< per block, a multiple of 512 bytes
  unsigned sets;               ///< adjacent working sets, from the start of the input
  int iterations;
};

/// A block sweeps its working set repeatedly: load l of thread t of T is at byte 16 (t + l T) modulo the
/// set. `ilp` loads are in flight, and `held` values are kept across the loop to take registers.
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
    // volatile: the compiler may neither repeat the load nor delay it past the loop
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
        // if (at >= end) at -= bytes, as one predicated subtraction. Otherwise, if registers are short, the
        // compiler reuses a register of x for the step and delays it until the load has returned.
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
    // 1, but only known after the loop, so the held values cannot be summed before it.
    [[maybe_unused]] const float one = result == result ? 1.0F : 0.0F;
#pragma unroll
    for (int i = 0; i < held; ++i) result = fmaf(value[i], one, result);
    p.output[device::thread_index()] = result;
  }
};

namespace {

constexpr unsigned kibibyte = 1024;

/// Number of working sets, which blocks use round robin. They take a quarter of the L2, so L1 misses always
/// hit the L2. The number is prime, so that blocks one SM count apart, which tend to share an SM, do not
/// share a set.
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

/// The outputs of the threads of `sets` blocks; `input` is a CPU copy of the arena's.
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

constexpr double tolerance = 5e-4;  // of float32 sums of about 10,000 values; a missing load is off by 0.5

struct Form {
  unsigned working_set_bytes;
  int ilp;
  int held = 0;
  int register_cap = 0;
};

void add(const Form& f, const void* entry) {
  const double bytes_per_iteration = double(sizeof(float4)) * f.ilp;
  // Larger sets hit at few blocks and miss at many; the estimate is off by about a factor of 2 at most.
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
      // with 128 threads or more, more than one sweep, which checks the wrap-around
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

/// Held values with which nvcc 13 uses `registers` or one less on sm_90, read from the machine code.
constexpr int held_for(int registers) { return registers - 18; }

const Registration registered{[] {
  constexpr unsigned working_sets_kib[] = {1, 2, 4, 8, 16, 24, 32, 64};
  for_each_value<1, 4>([&]<int ilp>(std::integral_constant<int, ilp>) {
    for (const unsigned kib : working_sets_kib)
      add({.working_set_bytes = kib * kibibyte, .ilp = ilp},
          reinterpret_cast<const void*>(free_entry<Body<ilp>>));
  });
  // All, 3/4, 1/2, 3/8 and 1/4 of the warps of an SM with 65,536 registers and 2,048 threads; the first with
  // every working set, for all block sizes.
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
