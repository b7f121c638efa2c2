// SPDX-License-Identifier: Apache-2.0
// A template in two dimensions, which counts its resident blocks. Its launch is not checked against a
// reference: two launches must agree bit by bit.
#include <occbench/kernel.cuh>

template <int radius>
__global__ void __launch_bounds__(1024) stencil(int width, int height, const float* in, float* out) {
  const occbench::BlockCensus census;
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= height) return;
  float sum = 0;
#pragma unroll
  for (int d = -radius; d <= radius; ++d) {
    sum += in[y * width + min(max(x + d, 0), width - 1)];
    sum += in[min(max(y + d, 0), height - 1) * width + x];
  }
  out[y * width + x] = sum / (4 * radius + 2);
}

constexpr int width = 8192, height = 8192;

template <int radius>
occbench::AddKernel stencil_benchmark() {
  return {
      stencil<radius>,
      {.name = "stencil",
       .variant = "radius" + std::to_string(radius),
       .grid = [](int block_size) { return dim3(width / 32, (height * 32 + block_size - 1) / block_size); },
       .bytes = 8.0 * width * height,
       .flop = (4.0 * radius + 3) * width * height,
       .counts_blocks = true},
      [](occbench::Data& data) {
        const auto in = data.input<float>(width * height);
        float* const out = data.output<float>(width * height);
        return [=](const occbench::LaunchConfig& c) {
          stencil<radius><<<c.grid, dim3(32, c.block_size / 32), c.dynamic_smem_bytes, c.stream>>>(
              width, height, in, out);
        };
      }};
}
const auto narrow = stencil_benchmark<1>();
const auto wide = stencil_benchmark<4>();
