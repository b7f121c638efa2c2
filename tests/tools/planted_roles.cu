// SPDX-License-Identifier: Apache-2.0
// Warpgroup 0 fills shared memory, 1 and 2 compute: kernels whose requests for registers (setmaxnreg) fit,
// leave registers unused, ask for too many, and are ignored. test_inspect_roles.py knows them.
template <int N>
__device__ __forceinline__ void give_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
__device__ __forceinline__ void ask_for() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

template <int PRODUCER, int CONSUMER>
__device__ __forceinline__ void stream(const float* in, float* out, int n) {
  __shared__ float tile[1024];
  if (threadIdx.x / 128 == 0) {
    give_back<PRODUCER>();
    for (int i = 0; i < n; ++i) {
      __syncthreads();
      for (int k = static_cast<int>(threadIdx.x); k < 1024; k += 128) tile[k] = in[i * 1024 + k];
      __syncthreads();
    }
  } else {
    ask_for<CONSUMER>();
    float sums[64] = {};
    for (int i = 0; i < n; ++i) {
      __syncthreads();
      __syncthreads();
      for (int j = 0; j < 64; ++j) sums[j] = sums[j] * tile[(threadIdx.x + j) % 1024] + sums[(j + 1) % 64];
    }
    for (int j = 0; j < 64; ++j) out[j * 256 + threadIdx.x] = sums[j];
  }
}

__global__ void __launch_bounds__(384, 1) fits(const float* in, float* out, int n) {
  stream<24, 240>(in, out, n);
}
__global__ void __launch_bounds__(384, 1) unused(const float* in, float* out, int n) {
  stream<40, 160>(in, out, n);
}
__global__ void __launch_bounds__(384, 1) small(const float* in, float* out, int n) {
  stream<40, 240>(in, out, n);
}
__global__ void __launch_bounds__(384, 1) stuck(const float* in, float* out, int n) {
  stream<160, 248>(in, out, n);
}
__global__ void ignored(const float* in, float* out, int n) { stream<40, 160>(in, out, n); }

/// Which warpgroup is the producer, memory says.
__global__ void __launch_bounds__(384, 1) unread(const float* in, float* out, int n) {
  if (static_cast<int>(in[0]) == static_cast<int>(threadIdx.x / 128))
    give_back<40>();
  else
    ask_for<160>();
  out[threadIdx.x] = in[n];
}
