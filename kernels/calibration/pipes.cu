// SPDX-License-Identifier: Apache-2.0
// Shows: the issue intervals of an SM's arithmetic and logic pipes, and the latency of dependent
//   instructions.
// Expected: cc 9.0: logic instructions and FMAs on three registers every 2 cycles; dependent FMAs every 4.
// Published: Wong et al. (ISPASS 2010), Jia et al. (2018, Volta) and Luo et al. (2024, Hopper).
#include <array>

#include "kernels/calibration/calibration.cuh"

namespace occbench::calibration {

/// `depth` dependent FMAs per iteration in each of `ilp` chains.
template <int ilp, int depth>
struct Fma {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x[ilp];
#pragma unroll
    for (int j = 0; j < ilp; ++j) x[j] = chain_start(index, j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int step = 0; step < depth; ++step) {
#pragma unroll
        for (int j = 0; j < ilp; ++j) x[j] = fmaf(-x[j], x[j], drift);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < ilp; ++j) sum += x[j];
    p.output[index] = sum;
  }
};

/// `count` logic instructions per iteration, each on two registers.
template <int count>
struct Logic {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned x[ring];
#pragma unroll
    for (int j = 0; j < ring; ++j) x[j] = word_start(index, j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < count; ++i) x[i % ring] = logic(x[i % ring], x[(i + 1) % ring]);
    }
    unsigned sum = 0;
#pragma unroll
    for (int j = 0; j < ring; ++j) sum += x[j];
    p.output[index] = static_cast<float>(sum >> 8);
  }
};

constexpr int pairs = 4;

__host__ __device__ inline float coefficient(const float* input, int pair) {
  return 0.5F + 0.25F * input[pair];
}
__host__ __device__ inline float pair_start(const float* input, std::int64_t thread, int value) {
  return input[32 + thread % 32 * 2 * pairs + value];
}

/// `count` FMAs per iteration on three distinct registers each: x += c y and y -= c x rotate each pair (x,
/// y). Successive FMAs share no register, so the operand cache never hits.
template <int count>
struct Operands {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    float x[pairs];
    float y[pairs];
    float c[pairs];
#pragma unroll
    for (int j = 0; j < pairs; ++j) {
      x[j] = pair_start(p.input, index, j);
      y[j] = pair_start(p.input, index, pairs + j);
      c[j] = coefficient(p.input, j);
    }
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int step = 0; step < count / (2 * pairs); ++step) {
#pragma unroll
        for (int j = 0; j < pairs; ++j) x[j] = fmaf(c[j], y[j], x[j]);
#pragma unroll
        for (int j = 0; j < pairs; ++j) y[j] = fmaf(-c[j], x[j], y[j]);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < pairs; ++j) sum += x[j] + y[j];
    p.output[index] = sum;
  }
};

namespace {

template <int ilp, int depth>
void add_fma(const std::string& name) {
  add({.name = name,
       .iteration = {.flop = 2.0 * ilp * depth, .latency_cycles = 4.0 * depth + 10},
       .instructions = {{"FFMA", ilp * depth}},
       .operations = ilp * depth,
       .reference =
           [](const float*, int iterations) {
             return of_each_lane([=](int thread) {
               float sum = 0;
               for (int j = 0; j < ilp; ++j) sum += chain_after(thread, j, std::int64_t{iterations} * depth);
               return sum;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Fma<ilp, depth>>)});
}

template <int count>
void add_logic() {
  add({.name = "logic-" + std::to_string(count),
       .iteration = {.latency_cycles = 5.0 * count, .pipe_cycles_per_warp = count / 2.0},
       .instructions = {{"LOP3", count}},
       .ceiling = Ceiling::issue,
       .operations = count,
       .reference =
           [](const float*, int iterations) {
             return of_each_lane([=](int thread) {
               std::array<unsigned, ring> x{};
               for (std::size_t j = 0; j < ring; ++j) x[j] = word_start(thread, static_cast<int>(j));
               for (int iteration = 0; iteration < iterations; ++iteration)
                 for (std::size_t i = 0; i < count; ++i) x[i % ring] = logic(x[i % ring], x[(i + 1) % ring]);
               unsigned sum = 0;
               for (const unsigned word : x) sum += word;
               return sum >> 8;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Logic<count>>)});
}

template <int count>
void add_operands() {
  static_assert(count % (2 * pairs) == 0);
  add({.name = "operands-" + std::to_string(count),
       .iteration = {.flop = 2.0 * count,
                     .latency_cycles = 4.0 * count / pairs,
                     .pipe_cycles_per_warp = count / 2.0},
       .instructions = {{"FFMA", count}},
       .ceiling = Ceiling::fp32,
       .operations = count,
       .reference =
           [](const float* input, int iterations) {
             return of_each_lane([=](int thread) {
               float total = 0;
               for (int j = 0; j < pairs; ++j) {
                 float x = pair_start(input, thread, j);
                 float y = pair_start(input, thread, pairs + j);
                 const float c = coefficient(input, j);
                 for (int step = 0; step < iterations * count / (2 * pairs); ++step) {
                   x = std::fma(c, y, x);
                   y = std::fma(-c, x, y);
                 }
                 total += x + y;
               }
               return total;
             });
           },
       .entry = reinterpret_cast<const void*>(free_entry<Operands<count>>)});
}

const Registration registered{[] {
  add_fma<5, 80>("fma-clock");
  add_fma<1, 32>("fma-32");
  add_fma<1, 8>("fma-8");
  add_logic<120>();
  add_logic<480>();
  add_operands<128>();
  add_operands<512>();
}};

}  // namespace

}  // namespace occbench::calibration
