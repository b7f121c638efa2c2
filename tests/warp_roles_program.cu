// SPDX-License-Identifier: Apache-2.0
// The kernel of the experiment warp_roles as a program, for `occbench caps --roles --run`: prints its time
// and a sum of its output, which no split may change.
#include <cstdio>
#include <numeric>
#include <vector>

#include "kernels/mechanisms/tensor_core/wgmma_ring.cuh"

using namespace occbench::tensor_core;
using Stream = Ring<true, true>;

__global__ void __launch_bounds__(specialised_threads, 1) split(Tiles p) {
  produce_and_consume<Stream, 104, 200, 64>(p);
}

int main() {
  constexpr int blocks = 132 * 4;
  constexpr int table_elements = a_tiles * a_elements + 2 * b_tiles * b_elements;
  constexpr int outputs = blocks * consumers * a_rows * b_columns;
  std::uint16_t* table = nullptr;
  float* output = nullptr;
  cudaMalloc(&table, table_elements * sizeof *table);
  cudaMalloc(&output, outputs * sizeof *output);
  fill_tiles<<<(table_elements + 255) / 256, 256>>>(table, table_elements);
  cudaFuncSetAttribute(split, cudaFuncAttributeMaxDynamicSharedMemorySize, Stream::smem_bytes);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int launch = 0; launch < 20; ++launch) {
    if (launch == 10) cudaEventRecord(begin);  // the earlier ones warm up
    split<<<blocks, specialised_threads, Stream::smem_bytes>>>(
        {table, table + a_tiles * a_elements, output, 1000});
  }
  cudaEventRecord(end);
  std::vector<float> copied(outputs);
  if (const cudaError_t error =
          cudaMemcpy(copied.data(), output, outputs * sizeof *output, cudaMemcpyDeviceToHost);
      error != cudaSuccess) {
    std::printf("%s\n", cudaGetErrorString(error));
    return 1;
  }
  float time_ms = 0;
  cudaEventElapsedTime(&time_ms, begin, end);
  const double sum = std::accumulate(copied.begin(), copied.end(), 0.0);
  std::printf("sum %.9g, time %.5f ms\n", sum, time_ms);
  return 0;
}
