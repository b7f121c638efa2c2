// SPDX-License-Identifier: Apache-2.0
// A program whose largest kernel has fewer warps than it needs, because of eight values that it loads too early.
// docs/registers.md finds them and changes the kernel:
//
//   nvcc -arch=native -lineinfo -o lookup lookup.cu && ./lookup
#include <cuda_runtime.h>

#include <cstdio>

constexpr int rows = 1 << 20, hops = 4, threads = 256, moments = 18, biases = 8;

/// Every thread follows a chain of rows, and sums the moments of `steps` of them. table: [rows], the row after each;
/// bias: [biases, threads of the grid]; out: [threads of the grid].
__global__ void __launch_bounds__(threads)
    follow(const int* table, const float* bias, float* out, int steps) {
  const int thread = blockIdx.x * threads + threadIdx.x;
  const int grid = gridDim.x * threads;
  float b[biases], m[moments];
  for (int i = 0; i < biases; ++i) b[i] = bias[i * grid + thread];

  int row = thread % rows;
  for (int i = 0; i < moments; ++i) m[i] = i;
  for (int step = 0; step < steps; ++step) {
    for (int hop = 0; hop < hops; ++hop) row = table[row];
    const float value = row * (0.1f / rows);
    for (int i = 0; i < moments; ++i) m[i] = m[i] * value + m[(i + 1) % moments];
  }

  float sum = 0;
  for (int i = 0; i < moments; ++i) sum += m[i];
  for (int i = 0; i < biases; ++i) sum = sum * 0.5f + b[i];
  out[thread] = sum;
}

/// table[i]: a row in another part of the table. bias: [count], ones.
__global__ void fill(int* table, float* bias, int count) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (i < rows) table[i] = (((i / 32) * 1664525 + 1013904223) * 32 + i % 32) & (rows - 1);
    bias[i] = 1;
  }
}

/// data[i] *= 0.5
__global__ void __launch_bounds__(threads) scale(float* data, int count) {
  const int stride = gridDim.x * threads;
  for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += stride) data[i] *= 0.5f;
}

int main() {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  const int blocks = sms * 24;  // whole waves of 6 and of 8 blocks per SM
  const int count = biases * blocks * threads;
  int* table = nullptr;
  float *bias = nullptr, *out = nullptr;
  cudaMalloc(&table, rows * sizeof *table);
  cudaMalloc(&bias, count * sizeof *bias);
  cudaMalloc(&out, blocks * threads * sizeof *out);
  fill<<<blocks, threads>>>(table, bias, count);
  for (int round = 0; round < 2000; ++round) {
    follow<<<blocks, threads>>>(table, bias, out, 64);
    scale<<<blocks, threads>>>(bias, count);
  }
  float first = 0;
  if (const cudaError_t error = cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost)) {
    std::printf("%s\n", cudaGetErrorString(error));
    return 1;
  }
  std::printf("%g\n", first);
  return 0;
}
