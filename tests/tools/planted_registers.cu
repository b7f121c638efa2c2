// SPDX-License-Identifier: Apache-2.0
// Kernels whose registers are known: test_inspect_lines.py reads the numbers of its lines by these marks.
__device__ __forceinline__ float blend(float a, float b) {
  return a * b + b;  // BLEND
}

/// Eight values wait in registers while the loop runs, which does not use them.
__global__ void __launch_bounds__(256) waiting(const float* in, float* out, int n) {
  float kept[8], busy[24];
  for (int i = 0; i < 8; ++i) kept[i] = in[i * n + threadIdx.x];  // KEPT
  for (int i = 0; i < 24; ++i) busy[i] = in[(i + 8) * n + threadIdx.x];
  for (int trip = 0; trip < n; ++trip)
    for (int i = 0; i < 24; ++i) busy[i] = blend(busy[i], busy[(i + 1) % 24]);
  float sum = 0;
  for (int i = 0; i < 24; ++i) sum += busy[i];
  for (int i = 0; i < 8; ++i) sum *= kept[i];  // READ
  out[threadIdx.x] = sum;
}

/// The same, with half of the registers that it needs.
__global__ void __maxnreg__(24) spilled(const float* in, float* out, int n) {
  float busy[32];
  for (int i = 0; i < 32; ++i) busy[i] = in[i * n + threadIdx.x];
  for (int trip = 0; trip < n; ++trip)
    for (int i = 0; i < 32; ++i) busy[i] = blend(busy[i], busy[(i + 1) % 32]);
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += busy[i];
  out[threadIdx.x] = sum;
}
