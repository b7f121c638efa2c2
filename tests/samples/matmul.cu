// SPDX-License-Identifier: Apache-2.0
// A matrix product with a register problem: each thread sums 8 x 8 outputs. The program prints its time.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int tile = 128, depth = 8, own = 8;  // a block's outputs each way, its depth, a thread's outputs

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[depth][tile];
  __shared__ float right[depth][tile];
  const int row = blockIdx.y * tile;
  const int column = blockIdx.x * tile;
  const int y = threadIdx.x / 16 * own;
  const int x = threadIdx.x % 16 * own;
  float sums[own][own] = {};
  for (int k = 0; k < n; k += depth) {
    for (int i = threadIdx.x; i < depth * tile; i += 256) {
      left[i % depth][i / depth] = a[(row + i / depth) * n + k + i % depth];
      right[i / tile][i % tile] = b[(k + i / tile) * n + column + i % tile];
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < depth; ++d)
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < own; ++j) sums[i][j] += left[d][y + i] * right[d][x + j];
    __syncthreads();
  }
  for (int i = 0; i < own; ++i)
    for (int j = 0; j < own; ++j) c[(row + y + i) * n + column + x + j] = sums[i][j];
}

int main(int argc, char** argv) {
  const int n = (argc > 1 ? std::atoi(argv[1]) : 4096) / tile * tile;
  const std::size_t bytes = sizeof(float) * n * n;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  if (n < tile || cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&c, bytes)) return 1;
  const std::vector<float> ones(static_cast<std::size_t>(n) * n, 1.0F);
  cudaMemcpy(a, ones.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, ones.data(), bytes, cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int launch = 0; launch < 12; ++launch) {
    if (launch == 2) cudaEventRecord(begin);
    matmul<<<dim3(n / tile, n / tile), 256>>>(a, b, c, n);
  }
  cudaEventRecord(end);
  float ms = 0;
  float last = 0;
  if (cudaEventSynchronize(end) || cudaEventElapsedTime(&ms, begin, end)) return 2;
  cudaMemcpy(&last, c + static_cast<std::size_t>(n) * n - 1, sizeof last, cudaMemcpyDeviceToHost);
  if (last != static_cast<float>(n)) return 3;
  std::printf("time: %.4f ms\n", ms / 10);
  return 0;
}
