// SPDX-License-Identifier: Apache-2.0
// Shows: registers per thread limit the warps of an SM in steps; a cap below need gains warps at the price
//   of spills.
// Expected: steps every 8 registers and a cliff from 31 to 33 (64 -> 48 warps) if throughput needs the
//   warps, no effect if not; spilling is best at the cap where only idle values spill.
// Published: PMPP 4.7; Ryoo et al., 'Optimization principles ... using CUDA' (PPoPP 2008).
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::register_pressure {

/// The work while the registers are live.
enum class Loop {
  load,    ///< one 4-byte load per iteration: throughput is resident warps over DRAM latency
  fma,     ///< one dependent FMA chain: 16 warps per SM fill the pipe
  update,  ///< one 4-byte load per iteration updates the hot values: spilling those causes traffic in the
           ///< loop
};
constexpr const char* name_of(Loop loop) {
  return loop == Loop::load ? "load" : loop == Loop::fma ? "fma" : "update";
}

constexpr int fma_per_iteration = 512;
// x * x + drift stays in [-2, 2] and is chaotic, so operands toggle and a missing step shows. The drift is
// an immediate: two registers in one bank would halve the rate.
constexpr float drift = -1.8F;
constexpr float decay = 0.5F;  // keeps `update` bounded: every value tends to 2 x

// Threads with the same index modulo this hold the same values, which therefore hit the L1.
constexpr std::int64_t period = 4096;

struct Parameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
};

/// Holds `live` 4-byte values across the loop; Loop::update works on the first `hot` of them.
template <Loop loop, int live, int hot = live>
struct Body {
  using Parameters = register_pressure::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const std::int64_t n = device::thread_count();
    float value[live];
    const volatile float* const first = p.input + index % period;
    // volatile: the compiler may neither repeat the load nor delay it past the loop
#pragma unroll
    for (int i = 0; i < live; ++i) value[i] = first[i];
    float x = value[0];
    const float* next = p.input + index;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      if constexpr (loop == Loop::fma) {
#pragma unroll
        for (int step = 0; step < fma_per_iteration; ++step) x = fmaf(x, x, drift);
      } else {
        const float loaded = *next;
        next += n;
        if constexpr (loop == Loop::load) {
          x += loaded;
        } else {
#pragma unroll
          for (int i = 0; i < hot; ++i) value[i] = fmaf(value[i], decay, loaded);
        }
      }
    }
    // 1, but only known after the loop, so the sum below cannot move above it.
    const float result = loop == Loop::update ? value[0] : x;
    const float one = result == result ? 1.0F : 0.0F;
    float sum = loop == Loop::update ? 0.0F : x;
#pragma unroll
    for (int i = 0; i < live; ++i) sum = fmaf(value[i], one, sum);
    p.output[index] = sum;
  }
};

#if __CUDACC_VER_MAJOR__ >= 13
/// The same work, whose spills ptxas places in shared memory as far as it fits, and in local memory beyond.
template <class Work>
struct SmemSpilling {
  using Parameters = register_pressure::Parameters;
  static __device__ void run(const Parameters& p) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    Work::run(p);
  }
};
#endif

namespace {

/// `x` of the fma loop for each start of a period, in exact float32 arithmetic.
std::vector<float> chains(std::span<const float> input, std::size_t iterations) {
  std::vector<float> ends(input.begin(), input.begin() + period);
  for (float& x : ends)
    for (std::size_t step = 0; step < iterations * fma_per_iteration; ++step) x = std::fma(x, x, drift);
  return ends;
}

/// The output of thread `t` of `n`; `x`: the end of its fma chain.
double reference(std::span<const float> input, std::size_t t, std::size_t n, std::size_t iterations,
                 Loop loop, int live, int hot, double x) {
  const auto first = input.subspan(t % period);
  if (loop != Loop::fma) x = first[0];
  double scale = 1;   // of every hot value ...
  double offset = 0;  // ... after the iterations so far
  for (std::size_t iteration = 0; loop != Loop::fma && iteration < iterations; ++iteration) {
    const double loaded = input[iteration * n + t];
    x += loaded;
    scale *= decay;
    offset = offset * decay + loaded;
  }
  double sum = loop == Loop::update ? 0 : x;
  for (int i = 0; i < live; ++i) {
    const double value = first[static_cast<std::size_t>(i)];
    sum += loop == Loop::update && i < hot ? value * scale + offset : value;
  }
  return sum;
}

void add(Loop loop, int live, int hot, const void* entry, RegisterRoute route, int cap,
         const std::string& dial, bool may_spill, int launch_bounds_threads = 0,
         bool spills_to_smem = false) {
  Instructions instructions;
  if (loop == Loop::fma) instructions["FFMA"] = fma_per_iteration;
  if (loop != Loop::fma) instructions["LDG.32"] = 1;
  if (loop == Loop::load) instructions["FADD"] = 1;
  if (loop == Loop::update) instructions["FFMA"] = hot;
  LoopIteration iteration;
  iteration.flop = loop == Loop::fma ? 2.0 * fma_per_iteration : loop == Loop::update ? 2.0 * hot : 0;
  iteration.latency_cycles = loop == Loop::fma      ? 4.0 * fma_per_iteration
                             : loop == Loop::update ? 2.0 * hot
                                                    : 4;
  iteration.dram_bytes = loop == Loop::fma ? 0 : sizeof(float);
  iteration.dram_waits = loop != Loop::fma ? 1 : 0;
  iteration.idle_values = loop == Loop::update ? live - hot : live;
  const std::string prefix = spills_to_smem ? "smem-spilling-" : "";
  const std::string hot_values = hot < live ? "-hot" + std::to_string(hot) : "";
  const std::string name =
      std::string(name_of(loop)) + "-live" + std::to_string(live) + hot_values + "-" + dial;
  add_variant({
      .family = "register_pressure",
      .name = prefix + name,
      .series = prefix + name_of(loop) + hot_values,
      .form = prefix + name_of(loop),
      .baseline = spills_to_smem ? name : "",
      .dials = {.bytes_per_access = loop == Loop::fma ? 0 : 4,
                .route = route,
                .register_cap = cap,
                .live_values = live},
      .ceiling = loop == Loop::load ? Ceiling::dram : Ceiling::fp32,
      .iteration = iteration,
      .instructions = instructions,
      .may_spill = may_spill,
      .spills_to_shared = spills_to_smem,
      .launch_bounds_threads = launch_bounds_threads,
      .l2_before = loop == Loop::fma ? L2::warm : L2::clean,
      .check_iterations = loop == Loop::fma ? 1 : 3,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            const auto elements = static_cast<std::int64_t>(arena.input_bytes() / sizeof(float)) - live;
            return loop == Loop::fma ? std::int64_t{1} << 30 : elements / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                Parameters{arena.input<float>(), arena.output<float>(), static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            const auto iterations = static_cast<double>(shape.iterations);
            problem.work = {.bytes = threads * (iterations * iteration.dram_bytes + sizeof(float)),
                            .flop = threads * iterations * iteration.flop};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto n = static_cast<std::size_t>(shape.threads());
              const auto iteration_count = static_cast<std::size_t>(shape.iterations);
              const auto input = arena.reference_input<float>(
                  std::max(static_cast<std::size_t>(period + live), n * iteration_count));
              const auto ends =
                  loop == Loop::fma ? chains(input, iteration_count) : std::vector<float>(period);
              return arena.first_mismatch<float>(n, 1e-4, [&](std::size_t t) {
                return reference(input, t, n, iteration_count, loop, live, hot, ends[t % period]);
              });
            };
            return problem;
          },
      .entry = entry,
  });
}

// Spilling: as many live values, with some of them used in the loop. A compiler that spills idle values
// first gains warps at no cost until hot values spill, too.
constexpr int spilled = 64;
constexpr int few = 16;

template <Loop loop, int live, int hot = live>
void add_free() {
  add(loop, live, hot, reinterpret_cast<const void*>(free_entry<Body<loop, live, hot>>), RegisterRoute::free,
      0, "free", false);
}
template <Loop loop, int live, int cap, int hot = live>
void add_capped(bool may_spill) {
  add(loop, live, hot, reinterpret_cast<const void*>(capped_entry<Body<loop, live, hot>, cap>),
      RegisterRoute::maxnreg, cap, "maxnreg" + std::to_string(cap), may_spill);
}
template <Loop loop, int live, int threads, int blocks, int hot = live>
void add_bounded(bool may_spill) {
  add(loop, live, hot, reinterpret_cast<const void*>(bounded_entry<Body<loop, live, hot>, threads, blocks>),
      RegisterRoute::launch_bounds, 65536 / (threads * blocks) / 8 * 8,
      "bounds" + std::to_string(threads) + "x" + std::to_string(blocks), may_spill, threads * blocks);
}
template <Loop loop, int live, int hot = live>
void add_recompiled(bool may_spill) {
  add(loop, live, hot, reinterpret_cast<const void*>(free_entry<Body<loop, live, hot>>),
      RegisterRoute::maxrregcount, compiled_register_cap,
      "maxrregcount" + std::to_string(compiled_register_cap), may_spill);
}

#if __CUDACC_VER_MAJOR__ >= 13
/// With launch bounds ptxas knows the block size and takes no block's shared memory. Under a cap alone it
/// reserves the memory of a block of 1,024 threads.
template <int hot>
void add_smem_spilling() {
  using Spilling = SmemSpilling<Body<Loop::update, spilled, hot>>;
  for_each_value<4, 5, 6, 8>([]<int blocks>(std::integral_constant<int, blocks>) {
    constexpr int threads = 256;
    add(Loop::update, spilled, hot, reinterpret_cast<const void*>(bounded_entry<Spilling, threads, blocks>),
        RegisterRoute::launch_bounds, 65536 / (threads * blocks) / 8 * 8,
        "bounds256x" + std::to_string(blocks), true, threads * blocks, true);
  });
  for_each_value<32, 40, 48>([]<int cap>(std::integral_constant<int, cap>) {
    add(Loop::update, spilled, hot, reinterpret_cast<const void*>(capped_entry<Spilling, cap>),
        RegisterRoute::maxnreg, cap, "maxnreg" + std::to_string(cap), true, 0, true);
  });
}
#endif

/// Live values with which nvcc 13 uses exactly `registers` on sm_90, read from the machine code. Another
/// compiler may differ; the row has the actual count.
template <Loop loop, int registers>
constexpr int live_for = registers - (loop == Loop::fma ? 10 - 2 * (registers % 2)
                                      : registers < 132 ? 14
                                                        : 13);

/// A template, so that objects compiled under a cap only contain their own two kernels.
template <int compiled_cap>
void define() {
  if constexpr (compiled_cap != 0) {
    add_recompiled<Loop::load, live_for<Loop::load, compiled_cap>>(false);
    add_recompiled<Loop::update, spilled>(true);
    add_recompiled<Loop::update, spilled, few>(true);
  } else {
    for_each_value<24, 28, 31, 32, 33, 36, 40, 41, 48, 49, 56, 57, 64, 65, 72, 73, 80, 81, 88, 96, 97, 104,
                   112, 120, 128, 129, 144, 160, 168, 169, 192, 208, 224, 240, 255>(
        []<int registers>(std::integral_constant<int, registers>) {
          add_capped<Loop::load, live_for<Loop::load, registers>, registers>(false);
          add_capped<Loop::fma, live_for<Loop::fma, registers>, registers>(false);
        });
    for_each_value<32, 40, 48, 64>([]<int registers>(std::integral_constant<int, registers>) {
      add_free<Loop::load, live_for<Loop::load, registers>>();
      add_bounded<Loop::load, live_for<Loop::load, registers>, 256, 65536 / 256 / registers>(false);
    });
    for_each_value<few, spilled>([]<int hot>(std::integral_constant<int, hot>) {
      add_free<Loop::update, spilled, hot>();
      for_each_value<24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 96>(
          []<int cap>(std::integral_constant<int, cap>) {
            add_capped<Loop::update, spilled, cap, hot>(true);
          });
      for_each_value<2, 3, 4, 5, 6, 7, 8>([]<int blocks>(std::integral_constant<int, blocks>) {
        add_bounded<Loop::update, spilled, 256, blocks, hot>(true);
      });
#if __CUDACC_VER_MAJOR__ >= 13
      add_smem_spilling<hot>();
#endif
    });
  }
}

const Registration registered{define<compiled_register_cap>};

}  // namespace

}  // namespace occbench::register_pressure
