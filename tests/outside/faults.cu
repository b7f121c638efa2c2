// SPDX-License-Identifier: Apache-2.0
// What can be wrong with somebody's kernel: one line each, and the others are answered.
#include <occbench/kernel.cuh>

namespace {

enum class Fault { none, wrong, unwritten, other_each_time, trap, hang, registers, memory, too_large };

__global__ void fill(int n, float* out, Fault fault) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (fault == Fault::trap && i == n / 2) asm volatile("trap;");
  while (fault == Fault::hang) __nanosleep(1000);
  if (i >= n || (fault == Fault::unwritten && i % 2 == 1)) return;
  out[i] = fault == Fault::other_each_time ? static_cast<float>(clock64() % 1'000'000) : 1.0F;
}

constexpr int n = 1 << 22;

const occbench::AddKernel kernel(const char* name, Fault fault, bool is_checked = false) {
  return {fill,
          {.name = name, .threads = n, .bytes = 4.0 * n, .block_sizes = {256}},
          [=](occbench::Data& data) -> occbench::Launcher {
            void* all = nullptr;
            while (fault == Fault::memory && cudaMalloc(&all, 1 << 30) == cudaSuccess) continue;
            float* const out = data.output<float>(fault == Fault::too_large ? std::size_t{1} << 40 : n);
            if (is_checked)
              data.expect(out, n, 1e-6, [=](std::size_t) { return fault == Fault::wrong ? 2.0 : 1.0; });
            return [=](const occbench::LaunchConfig& c) {
              fill<<<c.grid, c.block_size, c.dynamic_smem_bytes, c.stream>>>(n, out, fault);
            };
          }};
}

/// 255 registers a thread, on 1,024 threads.
__global__ void greedy(float* out) {
  float values[220];
#pragma unroll
  for (int i = 0; i < 220; ++i) values[i] = clock64();
#pragma unroll
  for (int i = 0; i < 220; ++i) __syncthreads(), out[i * blockDim.x + threadIdx.x] = values[i];
}

const auto right = kernel("right", Fault::none, true);
const auto wrong = kernel("wrong", Fault::wrong, true);
const auto unwritten = kernel("unwritten", Fault::unwritten);
const auto other = kernel("other", Fault::other_each_time);
const auto trap = kernel("trap", Fault::trap);
const auto hang = kernel("hang", Fault::hang);
const auto memory = kernel("memory", Fault::memory);
const auto too_large = kernel("too_large", Fault::too_large);

const occbench::AddKernel registers{greedy,
                                    {.name = "registers", .waves = 1, .operations = 1, .block_sizes = {1024}},
                                    [](occbench::Data& data) {
                                      float* const out = data.output<float>(220 * 1024);
                                      return [=](const occbench::LaunchConfig& c) {
                                        greedy<<<c.grid, c.block_size, c.dynamic_smem_bytes, c.stream>>>(out);
                                      };
                                    }};

}  // namespace
