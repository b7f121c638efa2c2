// SPDX-License-Identifier: Apache-2.0
// Shows: the cost of special functions, FP64, wide products and constants.
// Expected: cc 9.0: rsqrt every 8 cycles per warp with 17 more of latency, wide products every 4, an FP64
//   result 16 cycles after its interval, a constant at a computed address after 24.
// Published: Jia et al. (2018, Volta); Luo et al. (2024, Hopper).
#include <cmath>

#include "kernels/calibration/calibration.cuh"

namespace occbench::probes {

using calibration::Parameters;

// An operation: value type, start value of a lane's chain, one step on device and CPU, and output.

/// x -> 1 / sqrt(x), which converges to 1.
struct InverseRoot {
  using Value = float;
  static constexpr const char* name = "rsqrt";
  static constexpr const char* opcode = "MUFU";
  static __host__ __device__ float start(int lane, int chain) {
    return 1.5F + static_cast<float>(lane + 32 * chain) * 0x1p-8F;
  }
  static __device__ void step(float& x) { asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)); }
  static float step_on_cpu(float x) { return 1 / std::sqrt(x); }
  static __host__ __device__ float out(float x) { return x; }
  static constexpr double tolerance = 1e-5;
};

/// Exact on device and CPU, without fixed point, so a missing step shows.
struct Fp64 {
  using Value = double;
  static constexpr const char* name = "fp64";
  static constexpr const char* opcode = "DFMA";
  static __host__ __device__ double start(int lane, int chain) { return (lane + 32 * chain) * 0x1p-8; }
  static __device__ void step(double& x) { x = fma(-x, x, 1.8); }
  static double step_on_cpu(double x) { return std::fma(-x, x, 1.8); }
  static __host__ __device__ float out(double x) { return static_cast<float>(x); }
  static constexpr double tolerance = 0;
};

/// x -> upper half of its product with a constant, plus another: one instruction, exact on device and CPU.
struct WideProduct {
  using Value = unsigned;
  static constexpr const char* name = "wide";
  static constexpr const char* opcode = "IMAD";
  static constexpr unsigned factor = 0xFFFFFFFBU;
  static constexpr unsigned more = 0x9E3779B9U;
  static __host__ __device__ unsigned start(int lane, int chain) {
    return mix(static_cast<unsigned>(lane + 32 * chain));
  }
  static __device__ void step(unsigned& x) {
    asm volatile("mad.hi.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(factor), "r"(more));
  }
  static unsigned step_on_cpu(unsigned x) {
    return static_cast<unsigned>(std::uint64_t{x} * factor >> 32) + more;
  }
  static __host__ __device__ float out(unsigned x) { return static_cast<float>(x >> 8); }
  static constexpr double tolerance = 0;
};

/// `count` steps per iteration in each of `chains` chains.
template <class Op, int chains, int count>
struct Chains {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    typename Op::Value x[chains];
#pragma unroll
    for (int j = 0; j < chains; ++j) x[j] = Op::start(lane, j);
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
#pragma unroll
        for (int j = 0; j < chains; ++j) Op::step(x[j]);
      }
    }
    float sum = 0;
#pragma unroll
    for (int j = 0; j < chains; ++j) sum += Op::out(x[j]);
    p.output[index] = sum;
  }
};

constexpr unsigned places = 16;
/// A table of byte offsets into itself that form one cycle.
__constant__ const unsigned ring[places] = {12, 32, 52, 8, 28, 48, 4, 24, 44, 0, 20, 40, 60, 16, 36, 56};

/// `count` dependent loads per iteration.
template <int count>
struct ConstantChain {
  using Parameters = calibration::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    unsigned at = threadIdx.x / 32 % places * 4;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        at = *reinterpret_cast<const volatile unsigned*>(reinterpret_cast<const char*>(ring) + at);
    }
    p.output[index] = static_cast<float>(at);
  }
};

namespace {

template <class Op, int chains, int count>
void add_chains() {
  calibration::add(
      {.name = std::string(Op::name) + "-" + std::to_string(chains) + "x" + std::to_string(count),
       .family = "probes",
       .iteration = {.latency_cycles = 20.0 * count, .pipe_cycles_per_warp = 2.0 * chains * count},
       .instructions = {{Op::opcode, chains * count}},
       .operations = double(chains) * count,
       .reference =
           [](const float*, int iterations) {
             return calibration::of_each_lane([=](int lane) {
               float sum = 0;
               for (int j = 0; j < chains; ++j) {
                 auto x = Op::start(lane, j);
                 for (int step = 0; step < iterations * count; ++step) x = Op::step_on_cpu(x);
                 sum += Op::out(x);
               }
               return sum;
             });
           },
       .tolerance = [](int) { return Op::tolerance; },
       .entry = reinterpret_cast<const void*>(free_entry<Chains<Op, chains, count>>)});
}

template <int count>
void add_constants() {
  calibration::add({.name = "constant-" + std::to_string(count),
                    .family = "probes",
                    .iteration = {.latency_cycles = 24.0 * count},
                    .instructions = {},  // LDC is not audited
                    .operations = count,
                    .fixed_block_size = 32,
                    .reference =
                        [](const float*, int iterations) {
                          constexpr unsigned next[places] = {3,  8, 13, 2,  7,  12, 1, 6,
                                                             11, 0, 5,  10, 15, 4,  9, 14};
                          return calibration::of_each_lane([&](int) {
                            unsigned at = 0;
                            for (int step = 0; step < iterations * count; ++step) at = next[at];
                            return at * 4;
                          });
                        },
                    .entry = reinterpret_cast<const void*>(free_entry<ConstantChain<count>>)});
}

const Registration pipes_kernels{[] {
  add_chains<InverseRoot, 1, 16>();
  add_chains<InverseRoot, 1, 64>();
  add_chains<InverseRoot, 4, 16>();
  add_chains<InverseRoot, 4, 64>();
  add_chains<Fp64, 1, 16>();
  add_chains<Fp64, 1, 64>();
  add_chains<Fp64, 4, 16>();
  add_chains<Fp64, 4, 64>();
  add_chains<WideProduct, 4, 16>();
  add_chains<WideProduct, 4, 64>();
  add_constants<16>();
  add_constants<64>();
}};

}  // namespace

}  // namespace occbench::probes
