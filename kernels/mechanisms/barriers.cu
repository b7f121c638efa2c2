// SPDX-License-Identifier: Apache-2.0
// Shows: the cost of a block-wide barrier itself, of waiting for the slowest warp, and of named barriers in
//   residency.
// Expected: a barrier is cheap. With uneven work few large blocks wait longer than many small ones, up to
//   twice the mean, and other resident warps hide it. An id known only at run time reserves 16 barriers:
//   small blocks fall from 32 to 4 per SM on cc 9.0.
// Found: H200: with 32 resident warps the smallest blocks are slowest (109 cycles per barrier in blocks of
//   32 threads, 64 in blocks of 512, 91 in one of 1,024); uneven work takes 1.69 times the mean with 16
//   warps, 1.14 with 64.
// Published: PMPP 4.3; CUDA C++ Programming Guide, 'Synchronization Instructions': __syncthreads has a
//   throughput of 16 threads per cycle on cc 7.x and 8.x, a warp every two cycles.
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::barriers {

// A round is one barrier of a block, or the same work without it. Throughput counts rounds x warps, so block
// sizes compare at equal resident warps; cycles per round are resident warps / (rounds x warps per cycle).
constexpr int rounds = 8;             // per iteration of an exchange, to make the loop overhead negligible
constexpr std::int64_t period = 256;  // threads with the same index modulo this start from the same value
constexpr float drift = -1.8F;  // x * x + drift stays in [-2, 2] without fixed point: a missing step shows

__host__ __device__ inline float step(float x) { return fmaf(x, x, drift); }

/// Sync: `fma` dependent FMAs, then one __syncthreads or none. One round per iteration: otherwise the
/// compiler would move barriers together, since no register depends on them.
template <int fma, bool has_barrier>
struct Sync {
  struct Parameters {
    const float* input;
    float* output;  ///< one per thread
    int iterations;
  };

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x = p.input[index % period];
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < fma; ++i) x = step(x);
      if constexpr (has_barrier) __syncthreads();
    }
    p.output[index] = x;
  }
};

/// Synchronization of a block: none, __syncthreads, groups with a constant barrier id each, or all with an
/// id unknown to the compiler.
enum class Wait { never, block, constant_ids, runtime_id };

constexpr int unit = 32;                          // FMAs per unit of uneven work
constexpr int units = rounds * (rounds - 1) / 2;  // per iteration, equal for all warps
constexpr int bank_free_stride = 33;              // next lane of the next warp

/// Units of work of warp `warp` before a round's barrier: a random permutation of 0 ... 7 per warp and
/// iteration. In each round the warps' shares are independent and uniform, so a block of n warps waits for
/// the largest of n; over an iteration all warps have equal work.
__host__ __device__ inline int units_of(std::uint32_t warp, int iteration, int round) {
  const std::uint32_t draw = mix(warp + 0x9e3779b9U * static_cast<std::uint32_t>(iteration));
  return static_cast<int>(((draw | 1) * static_cast<std::uint32_t>(round) + (draw >> 8)) % rounds);
}

/// Warps [group x warps_per_group, ...) of a block form a group; the last may be smaller.
struct Group {
  int first;   ///< thread of the block
  int size;    ///< threads
  int number;  ///< of the group in its block
};
__host__ __device__ inline Group group_of(int thread, int block_size, int groups) {
  const int warps = (block_size + 31) / 32;
  const int threads = (warps + groups - 1) / groups * 32;
  const int number = thread / threads;
  const int first = number * threads;
  return {first, block_size - first < threads ? block_size - first : threads, number};
}

extern __shared__ float slots[];  // one per thread

template <int id>
__device__ __forceinline__ void meet(int threads) {
  asm volatile("bar.sync %0, %1;" ::"n"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void sync_all(int id) { asm volatile("bar.sync %0;" ::"r"(id) : "memory"); }

struct ExchangeParameters {
  const float* input;
  float* output;  ///< one per thread
  int iterations;
  int stride;  ///< threads by which the values of a group move per round
  int id;      ///< of the barrier, for Wait::runtime_id
};

/// Exchange: each thread writes its value, waits, reads another thread's, waits, and continues with that
/// one. A missing wait leaves a value of another round, which shows in the output.
template <Wait wait, int groups, bool uneven>
struct Exchange {
  using Parameters = ExchangeParameters;

  template <class Meeting>
  static __device__ __forceinline__ float loop(const Parameters& p, const Group& group, float x,
                                               Meeting meeting) {
    const int thread = static_cast<int>(threadIdx.x);
    const auto warp = static_cast<std::uint32_t>(device::thread_index() / 32);
    float* const mine = slots + thread;
    const float* const partners = slots + group.first + (thread - group.first + p.stride) % group.size;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll(uneven ? 1 : rounds)
      for (int round = 0; round < rounds; ++round) {
        if constexpr (uneven) {
#pragma unroll 1
          for (int left = units_of(warp, iteration, round); left > 0; --left) {
#pragma unroll
            for (int i = 0; i < unit; ++i) x = step(x);
          }
        }
        *mine = x;
        meeting();
        x = step(*partners);
        meeting();
      }
    }
    return x;
  }

  /// A loop per group: selecting a constant barrier id inside the loop would need branches there.
  template <int... ids>
  static __device__ __forceinline__ float in_groups(const Parameters& p, const Group& group, float x,
                                                    std::integer_sequence<int, ids...>) {
    ((x = group.number == ids ? loop(p, group, x, [&] { meet<ids>(group.size); }) : x), ...);
    return x;
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const Group group = group_of(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), groups);
    float x = p.input[index % period];
    if constexpr (wait == Wait::never) x = loop(p, group, x, [] {});
    if constexpr (wait == Wait::block) x = loop(p, group, x, [] { __syncthreads(); });
    if constexpr (wait == Wait::runtime_id) x = loop(p, group, x, [&] { sync_all(p.id); });
    if constexpr (wait == Wait::constant_ids)
      x = in_groups(p, group, x, std::make_integer_sequence<int, groups>{});
    p.output[index] = x;
  }
};

namespace {

/// values[start][n]: `start` after n steps, in exact float32 arithmetic.
std::vector<std::vector<float>> trajectories(Arena& arena, std::size_t steps) {
  const auto starts = arena.reference_input<float>(period);
  std::vector<std::vector<float>> values(starts.size(), std::vector<float>(steps + 1));
  for (std::size_t s = 0; s < starts.size(); ++s) {
    values[s][0] = starts[s];
    for (std::size_t n = 0; n < steps; ++n) values[s][n + 1] = std::fma(values[s][n], values[s][n], drift);
  }
  return values;
}

std::optional<std::string> sync_mismatch(Arena& arena, const Shape& shape, int fma) {
  const auto steps = static_cast<std::size_t>(shape.iterations * fma);
  const auto values = trajectories(arena, steps);
  return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), 0,
                                     [&](std::size_t i) { return values[i % period][steps]; });
}

/// Traces each value back from the thread that ends with it to the one that started it.
std::optional<std::string> exchange_mismatch(Arena& arena, const Shape& shape, int groups, int stride,
                                             bool uneven) {
  const auto iterations = static_cast<int>(shape.iterations);
  const auto total_rounds = static_cast<std::size_t>(iterations) * rounds;
  const auto values = trajectories(arena, total_rounds * (1 + (uneven ? unit * (rounds - 1) : 0)));
  const auto block_size = static_cast<std::size_t>(shape.block_size);
  const auto threads = static_cast<std::size_t>(shape.threads());
  std::vector<std::uint8_t> work(uneven ? threads / 32 * total_rounds : 0);  // [warp][round]
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto round = static_cast<int>(i % total_rounds);
    work[i] = static_cast<std::uint8_t>(
        units_of(static_cast<std::uint32_t>(i / total_rounds), round / rounds, round % rounds));
  }
  return arena.first_mismatch<float>(threads, 0, [&](std::size_t i) {
    const std::size_t block = i / block_size * block_size;
    const Group group = group_of(static_cast<int>(i - block), shape.block_size, groups);
    const std::size_t first = block + static_cast<std::size_t>(group.first);
    const auto size = static_cast<std::size_t>(group.size);
    const std::size_t moved = static_cast<std::size_t>(stride) % size;
    std::size_t at = i - first;
    std::size_t steps = 0;
    for (std::size_t round = total_rounds; round-- > 0;) {
      at = at + moved < size ? at + moved : at + moved - size;
      steps += 1 + (uneven ? unit * std::size_t{work[(first + at) / 32 * total_rounds + round]} : 0);
    }
    return values[(first + at) % period][steps];
  });
}

/// The differences between variants.
struct Form {
  std::string name;
  std::string form;
  std::string baseline = {};  ///< the same work without barriers
  int barriers = 1;           ///< reserved by the machine code; 1 if it uses none
  int rounds_per_iteration = 1;
  double fma = 0;             ///< per thread and iteration
  double barrier_count = 0;   ///< barriers per thread and iteration
  double exchanges = 0;       ///< through shared memory, per thread and iteration
  double latency_cycles = 0;  ///< per iteration
  Instructions instructions;
  int hot_loops = 1;
  std::vector<double> loop_trips = {};
  int groups = 1;
  bool uneven = false;
  std::function<void(Problem&, const float* input, float* output, int iterations)> set_parameters;
  std::function<std::optional<std::string>(Arena&, const Shape&)> mismatch;
  const void* entry = nullptr;
};

void add(const Form& f) {
  const std::size_t smem_bytes_per_thread = f.exchanges > 0 ? sizeof(float) : 0;
  Dials dials;  // separate because g++ 12 warns about an uninitialised string if nested
  dials.barriers = f.barriers;
  add_variant({
      .family = "barriers",
      .name = f.name,
      .form = f.form,
      .baseline = f.baseline,
      .dials = dials,
      .ceiling = Ceiling::none,
      .iteration = {.flop = 2 * f.fma,
                    .latency_cycles = f.latency_cycles,
                    .pipe_cycles_per_warp = 2 * f.barrier_count + 2 * f.exchanges},
      .flow = {.barrier_groups = f.groups},
      .instructions = f.instructions,
      .hot_loops = f.hot_loops,
      .loop_trips = f.loop_trips,
      .l2_before = L2::warm,
      .dynamic_smem_bytes =
          [=](int block_size) { return smem_bytes_per_thread * static_cast<std::size_t>(block_size); },
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            Problem problem;
            f.set_parameters(problem, arena.input<float>(), arena.output<float>(),
                             static_cast<int>(shape.iterations));
            const auto threads = static_cast<double>(shape.threads());
            const auto iterations = static_cast<double>(shape.iterations);
            problem.work = {.bytes = threads * sizeof(float),
                            .flop = threads * iterations * 2 * f.fma,
                            .operations = threads / 32 * iterations * f.rounds_per_iteration};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [mismatch = f.mismatch, &arena, shape] { return mismatch(arena, shape); };
            return problem;
          },
      .entry = f.entry,
  });
}

template <int fma, bool has_barrier>
void add_sync() {
  using Body = Sync<fma, has_barrier>;
  Instructions instructions{{"FFMA", fma}};
  if (has_barrier) instructions["BAR"] = 1;
  const std::string free = "free-fma" + std::to_string(fma);
  add({.name = has_barrier ? "sync-fma" + std::to_string(fma) : free,
       .form = has_barrier ? "sync" : "free",
       .baseline = has_barrier ? free : "",
       .fma = fma,
       .barrier_count = has_barrier ? 1 : 0,
       .latency_cycles = 4.0 * fma + (has_barrier ? 40 : 15),
       .instructions = instructions,
       .set_parameters =
           [](Problem& problem, const float* input, float* output, int iterations) {
             problem.set_parameters(typename Body::Parameters{input, output, iterations});
           },
       .mismatch = [](Arena& arena, const Shape& shape) { return sync_mismatch(arena, shape, fma); },
       .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

template <Wait wait, int groups, bool uneven>
void add_exchange(const std::string& name, int barriers, const std::string& form) {
  constexpr bool has_barrier = wait != Wait::never;
  constexpr int stride = has_barrier ? bank_free_stride : 0;  // without barriers a thread keeps its own value
  // Uneven: the FMA loop is the innermost; code around it is not audited.
  const Instructions innermost{{"FFMA", unit}};
  const Instructions whole{{"STS.32", groups * rounds},
                           {"LDS.32", groups * rounds},
                           {"FFMA", groups * rounds},
                           {"BAR", groups * rounds * 2}};
  std::vector<double> one_of_many(groups > 1 ? groups : 0);  // each warp runs its group's loop
  if (groups > 1) one_of_many.front() = 1;
  add({.name = name,
       .form = form,
       .baseline = has_barrier && uneven ? "uneven-free" : "",
       .barriers = barriers,
       .rounds_per_iteration = rounds,
       .fma = rounds + (uneven ? units * unit : 0),
       .barrier_count = has_barrier ? 2 * rounds : 0,
       .exchanges = rounds,
       .latency_cycles = rounds * (has_barrier ? 110.0 : 50.0) + (uneven ? 4.0 * unit * units * 1.5 : 0),
       .instructions = uneven ? innermost : whole,
       .hot_loops = groups,
       .loop_trips = uneven ? std::vector<double>{1, rounds, -rounds} : one_of_many,
       .groups = groups,
       .uneven = uneven,
       .set_parameters =
           [](Problem& problem, const float* input, float* output, int iterations) {
             problem.set_parameters(ExchangeParameters{input, output, iterations, stride, 0});
           },
       .mismatch = [](Arena& arena,
                      const Shape& shape) { return exchange_mismatch(arena, shape, groups, stride, uneven); },
       .entry = reinterpret_cast<const void*>(free_entry<Exchange<wait, groups, uneven>>)});
}

const Registration registered{[] {
  for_each_value<1, 16, 64>([]<int fma>(std::integral_constant<int, fma>) {
    add_sync<fma, true>();
    add_sync<fma, false>();
  });
  add_exchange<Wait::block, 1, false>("exchange", 1, "exchange");
  add_exchange<Wait::block, 1, true>("exchange-uneven", 1, "exchange-uneven");
  add_exchange<Wait::never, 1, true>("uneven-free", 1, "uneven-free");
  for_each_value<1, 2, 4, 8, 16>([]<int groups>(std::integral_constant<int, groups>) {
    add_exchange<Wait::constant_ids, groups, false>("named-" + std::to_string(groups), groups, "named");
  });
  add_exchange<Wait::runtime_id, 1, false>("named-runtime", 16, "named-runtime");
}};

}  // namespace

}  // namespace occbench::barriers
