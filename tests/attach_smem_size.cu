// SPDX-License-Identifier: Apache-2.0
// Kernels that ask how much shared memory they have, and some that do not, for attach_code_test.

extern "C" {

__device__ unsigned own_smem() {
  unsigned bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

/// Everybody writes as much of it as there is.
__global__ void fills(float* data) {
  extern __shared__ float room[];
  for (unsigned i = threadIdx.x; i < own_smem() / sizeof(float); i += blockDim.x) room[i] = data[i];
  __syncthreads();
  data[threadIdx.x] = room[threadIdx.x + 1];
}

__global__ void asks(unsigned* out) {
  const unsigned bytes = own_smem();
  out[threadIdx.x] = bytes * 3 + out[0];
  if (bytes > 100) out[1] = bytes;
}

__noinline__ __device__ unsigned with_smem(unsigned value) { return value + own_smem(); }

__global__ void asks_by_a_call(unsigned* out) { out[threadIdx.x] = with_smem(out[threadIdx.x]); }

__global__ void asks_for_all(unsigned* out) {
  unsigned bytes;
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(bytes));
  out[threadIdx.x] = bytes;
}

__global__ void uses_smem(unsigned* out) {
  extern __shared__ unsigned room2[];
  room2[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = room2[threadIdx.x ^ 1];
}

struct Many {
  unsigned values[200];
};

/// 0xb00 and its parts as numbers, and as places of arguments.
__global__ void has_the_number(unsigned* out, Many many, unsigned long long step) {
  unsigned sum = 0xb00;
  for (unsigned i = 0; i < 200; ++i) sum = sum * 0xb00 + many.values[i];
  out[threadIdx.x * step + 0xb00] = sum ^ many.values[11] ^ 0x2c;
}
}
