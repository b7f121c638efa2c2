// SPDX-License-Identifier: Apache-2.0
// Kernels that `occbench inspect` has something to say of, one each. nvcc 13.0 made of it, for the docs,
// inspect.cubin by -cubin -arch=sm_90, and inspect_capped.cubin with -maxrregcount=24 as well.

__global__ void plain(float* out) { out[threadIdx.x] = 1; }

/// 32 accumulators: what a register cap makes it spill.
__global__ void hungry(float* out, const float* in, int turns) {
  float sums[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) sums[i] = in[i];
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int i = 0; i < 32; ++i) sums[i] = sums[i] * sums[(i + 1) % 32] + in[turn];
#pragma unroll
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = sums[i];
}

__global__ void __launch_bounds__(128) bounded(float* out) { out[threadIdx.x] = 2; }

__global__ void __launch_bounds__(1) single(float* out) { out[threadIdx.x] = 3; }

__global__ void shared(float* out) {
  __shared__ float tile[3000];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

/// Its array is indexed at run time, and so lies on the stack.
__global__ void local_array(float* out, int at) {
  float values[64];
  for (int i = 0; i < 64; ++i) values[i] = out[i];
  for (int i = 0; i < 64; ++i) out[i] = values[(i * at) % 64];
}

__global__ void named_barriers(float* out) {
  out[threadIdx.x] = 4;
  asm volatile("bar.sync 5, 64;" ::: "memory");
  out[threadIdx.x ^ 32] += 1;
}

__global__ void any_barrier(float* out, int id) {
  out[threadIdx.x] = 5;
  asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
  out[threadIdx.x ^ 32] += 1;
}

namespace space {
template <int n>
__global__ void templated(float* out) {
  out[threadIdx.x] = n;
}
template __global__ void templated<7>(float*);
}  // namespace space
