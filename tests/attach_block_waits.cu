// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for other blocks, and kernels that do not: for attach_waits_test.cpp.

#include <cooperative_groups.h>

#include <cuda/atomic>

__device__ __forceinline__ unsigned acquired(const unsigned* at) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

extern "C" __global__ void waits_spin_barrier(unsigned* arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*const_cast<volatile unsigned*>(arrived) < gridDim.x) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void waits_grid_sync(float* data) {
  data[threadIdx.x] += 1;
  cooperative_groups::this_grid().sync();
  data[threadIdx.x] *= 2;
}

/// A scan whose blocks look back at the sums of those before them.
extern "C" __global__ void waits_look_back(const int* in, unsigned* state, int* out) {
  const int mine = in[blockIdx.x];
  int sum = mine;
  for (int before = static_cast<int>(blockIdx.x) - 1; before >= 0; --before) {
    unsigned found;
    do found = acquired(state + before);
    while (found == 0);
    sum += static_cast<int>(found >> 2);
    if ((found & 3) == 2) break;
  }
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(state + blockIdx.x), "r"(sum << 2 | 2) : "memory");
  out[blockIdx.x] = sum;
}

extern "C" __global__ void waits_by_atomics(unsigned* lock, int* sum) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
  *sum += 1;
  atomicExch(lock, 0);
}

extern "C" __global__ void waits_behind_a_fence(const unsigned* flag, int* out) {
  while (flag[0] == 0) __threadfence();
  out[threadIdx.x] = 1;
}

__device__ __noinline__ unsigned polled(const unsigned* flag) {
  unsigned value;
  do value = acquired(flag);
  while (value == 0);
  return value;
}
extern "C" __global__ void waits_in_a_call(const unsigned* flag, unsigned* out) {
  out[threadIdx.x] = polled(flag);
}

/// What a function behind a pointer does is not known.
extern "C" __global__ void waits_perhaps(void (*const* functions)(float*), float* data) {
  functions[blockIdx.x](data);
}

extern "C" __global__ void sums(const float* in, float* out, int n) {
  __shared__ float parts[256];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  parts[threadIdx.x] = sum;
  for (int width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
  }
  if (threadIdx.x == 0) atomicAdd(out, parts[0]);
}

/// The block that ends last adds the sums of all: none waits for it.
extern "C" __global__ void sums_in_the_last_block(const float* in, volatile float* sums, unsigned* ended,
                                                  float* out) {
  __shared__ bool is_last;
  sums[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  if (threadIdx.x == 0) is_last = atomicInc(ended, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last && threadIdx.x == 0) *out = sums[0] + sums[gridDim.x - 1];
}

extern "C" __global__ void divides(const double* in, double* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] / in[n + i];
}

extern "C" __global__ void loads_once(const unsigned* flag, unsigned* out) { *out = acquired(flag); }
