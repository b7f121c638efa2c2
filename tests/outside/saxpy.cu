// SPDX-License-Identifier: Apache-2.0
#include <occbench/kernel.cuh>

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

constexpr int n = 1 << 26;
const occbench::AddKernel saxpy_benchmark{
    saxpy, {.name = "saxpy", .threads = n, .bytes = 12.0 * n, .flop = 2.0 * n}, [](occbench::Data& data) {
      const auto x = data.input<float>(n);
      const auto y = data.update<float>(n);
      data.expect(y, n, 1e-6, [=](std::size_t i) { return 2.0 * x.at(i) + y.at(i); });
      return [=](const occbench::LaunchConfig& c) {
        saxpy<<<c.grid, c.block_size, c.dynamic_smem_bytes, c.stream>>>(n, 2.0F, x, y);
      };
    }};
