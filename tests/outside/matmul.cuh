// SPDX-License-Identifier: Apache-2.0
// The textbook's matrix product, each thread 8 x 8 outputs, with a register problem: its bounds ask for three
// blocks per SM. They leave it 80 registers, and it spills in its inner loop.
#pragma once

namespace matrix {

constexpr int tile = 128, depth = 8, own = 8;  // a block's outputs each way, its depth, a thread's outputs
constexpr int block_size = 256;

__global__ void __launch_bounds__(block_size, 3) matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[depth][tile];
  __shared__ float right[depth][tile];
  const int row = blockIdx.y * tile;
  const int column = blockIdx.x * tile;
  const int y = threadIdx.x / 16 * own;
  const int x = threadIdx.x % 16 * own;
  float sums[own][own] = {};
  for (int k = 0; k < n; k += depth) {
    for (int i = threadIdx.x; i < depth * tile; i += block_size) {
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

}  // namespace matrix
