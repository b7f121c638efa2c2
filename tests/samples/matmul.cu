// SPDX-License-Identifier: Apache-2.0
// A matrix product as a program of somebody's: it prints the time of a launch, and fails where it is wrong.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "../outside/matmul.cuh"

int main(int argc, char** argv) {
  const int n = (argc > 1 ? std::atoi(argv[1]) : 4096) / matrix::tile * matrix::tile;
  const std::size_t count = static_cast<std::size_t>(n) * n, bytes = sizeof(float) * count;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  if (n < matrix::tile || cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&c, bytes)) return 1;
  std::vector<float> numbers(count);
  std::minstd_rand dice;
  for (float& number : numbers) number = static_cast<float>(dice()) / 1073741824.0F - 1;
  cudaMemcpy(a, numbers.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, numbers.data(), bytes, cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  constexpr int warm_up = 2, launches = 5;
  for (int launch = 0; launch < warm_up + launches; ++launch) {
    if (launch == warm_up) cudaEventRecord(begin);
    matrix::matmul<<<dim3(n / matrix::tile, n / matrix::tile), matrix::block_size>>>(a, b, c, n);
  }
  cudaEventRecord(end);
  float ms = 0, last = 0;
  if (cudaEventSynchronize(end) || cudaEventElapsedTime(&ms, begin, end)) return 2;
  cudaMemcpy(&last, c + count - 1, sizeof last, cudaMemcpyDeviceToHost);
  double expected = 0;
  for (int k = 0; k < n; ++k) expected += double(numbers[count - n + k]) * numbers[n * (k + 1UL) - 1];
  if (!(std::abs(last - expected) < 1e-3)) return 3;
  std::printf("time: %.4f ms\n", ms / launches);
  return 0;
}
