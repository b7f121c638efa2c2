// SPDX-License-Identifier: Apache-2.0
// Warpgroup 0 keeps 100 sums, warpgroups 1 and 2 keep 170 each: a split of registers (setmaxnreg) that is too
// small for either makes it spill.
template <int N>
__device__ void sum(const float* in, float* out, int n) {
  float sums[N] = {};
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k] = sums[k] * in[i] + sums[(k + 1) % N];
#pragma unroll
  for (int k = 0; k < N; ++k) out[k * 384 + threadIdx.x] = sums[k];
}

__global__ void __launch_bounds__(384, 1) uneven(const float* in, float* out, int n) {
  if (threadIdx.x / 128 == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(120));
    sum<100>(in, out, n);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(192));
    sum<170>(in, out, n);
  }
}

int main() { return 0; }
