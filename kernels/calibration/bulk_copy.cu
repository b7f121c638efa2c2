// SPDX-License-Identifier: Apache-2.0
// Shows: the latency of a 2 KiB bulk copy, from its issue to the end of the wait.
// Expected: H200: 0.40 us, a fifth more than a load from DRAM.
// Published: Luo et al. (2024, Hopper) on the Tensor Memory Accelerator.
#include "kernels/async_copy.cuh"
#include "kernels/family.cuh"

namespace occbench::calibration {

constexpr unsigned bulk_bytes = 2048;  // per copy

struct BulkParameters {
  const unsigned char* input;
  float* output;  ///< one per thread, then per block the cycles of its copies
  int iterations;
};

/// One warp per block copies 2 KiB at a time and waits for it.
struct Bulk {
  using Parameters = BulkParameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(128) unsigned char arrived[bulk_bytes];
    __shared__ __align__(8) std::uint64_t barrier_storage;
    unsigned barrier = device::shared_address(&barrier_storage);
    unsigned destination = device::shared_address(arrived);
    // Kept in registers: otherwise the compiler computes the cluster address in every iteration.
    asm volatile("" : "+r"(barrier), "+r"(destination));
    if (device::elected()) {
      device::barrier_init(barrier, 1);
      device::fence_async_proxy();
    }
    __syncwarp();
    const unsigned char* source = p.input + std::int64_t{blockIdx.x} * bulk_bytes;
    const auto* const lane = reinterpret_cast<const float4*>(arrived) + threadIdx.x;
    float sum = 0;
    long long cycles = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const long long before = clock64();
      if (device::elected()) {
        device::barrier_expect(barrier, bulk_bytes);
        device::copy_async(destination, source, bulk_bytes, barrier);
      }
      device::barrier_wait(barrier, static_cast<unsigned>(iteration) % 2);
      cycles += clock64() - before;
      const float4 x = *lane;
      sum += (x.x + x.y) + (x.z + x.w);
      source += std::int64_t{gridDim.x} * bulk_bytes;
      __syncwarp();                 // all lanes have read the data that the next copy overwrites ...
      device::fence_async_proxy();  // ... and the copy must not overtake their reads
    }
    p.output[device::thread_index()] = sum;
    if (threadIdx.x == 0) p.output[device::thread_count() + blockIdx.x] = static_cast<float>(cycles);
#endif
  }
};

namespace {

void add_bulk() {
  Dials dials;
  dials.bytes_per_access = bulk_bytes;
  dials.stages = 1;
  dials.bytes_in_flight = bulk_bytes;
  add_variant({
      .family = "calibration",
      .name = "bulk-copy",
      .dials = dials,
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = bulk_bytes / 32.0, .latency_cycles = 300, .dram_waits = 1},
      .instructions = {{"LDS.128", 1}, {"FADD", 4}, {"UBLKCP", 1}},
      .fixed_block_size = 32,
      .min_cc = 90,
      .l2_before = L2::clean,
      .check_iterations = 3,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes()) /
                   (std::int64_t{shape.grid_size} * bulk_bytes);
          },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const auto blocks = static_cast<std::size_t>(shape.grid_size);
            const auto threads = static_cast<std::size_t>(shape.threads());
            Problem problem;
            problem.set_parameters(
                BulkParameters{reinterpret_cast<const unsigned char*>(arena.input<float>()),
                               arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work.bytes =
                static_cast<double>(blocks) * static_cast<double>(shape.iterations) * bulk_bytes;
            problem.repeatable_bytes = threads * sizeof(float);  // followed by clock values
            problem.poison = [=, &arena] { arena.poison_output((threads + blocks) * sizeof(float)); };
            problem.mismatch = [=, &arena] {
              const auto iterations = static_cast<std::size_t>(shape.iterations);
              constexpr std::size_t copy = bulk_bytes / sizeof(float);
              const auto input = arena.reference_input<float>(iterations * blocks * copy);
              return arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t iteration = 0; iteration < iterations; ++iteration)
                  for (std::size_t e = 0; e < 4; ++e)
                    sum += input[(iteration * blocks + thread / 32) * copy + thread % 32 * 4 + e];
                return sum;
              });
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              double sum = 0;
              for (std::size_t block = 0; block < blocks; ++block)
                sum += arena.output_value<float>(threads + block);
              return sum / static_cast<double>(blocks) / static_cast<double>(shape.iterations);
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<Bulk>),
  });
}

const Registration registered{[] { add_bulk(); }};

}  // namespace

}  // namespace occbench::calibration
