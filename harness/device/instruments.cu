// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/device/census.cuh"
#include "harness/device/instruments.hpp"
#include "harness/device/random.cuh"
#include "harness/io/check.hpp"

namespace occbench::instruments {

namespace {

template <class T>
__global__ void fill_random_kernel(T* data, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = random_value<T>(i);
}

__global__ void flush_l2_kernel(float4* data, std::size_t count, bool dirty) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    float4 v;  // volatile: read although unused
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(data + i));
    if (dirty) data[i] = v;
  }
}

__global__ void delay_and_stamp_kernel(Stamp* stamps, unsigned sm_count, std::uint64_t delay_ns) {
  if (threadIdx.x != 0) return;
  const std::uint64_t begin = device::global_timer_ns();
  std::uint64_t now = begin;
  while (now - begin < delay_ns) now = device::global_timer_ns();
  // The timer moves in steps: the clock is read right after one.
  const std::uint64_t before = now;
  while (now == before) now = device::global_timer_ns();
  const std::uint32_t sm = device::sm_index();  // PTX does not guarantee contiguous numbers
  if (sm < sm_count) stamps[sm] = {static_cast<std::uint64_t>(clock64()), now};
}

__global__ void digest_kernel(const std::uint32_t* data, std::size_t words, Digest* digest) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long hash = 0;
  unsigned long long poisoned = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    const std::uint32_t word = data[i];
    hash += (static_cast<unsigned long long>(mix(word ^ mix(static_cast<std::uint32_t>(i)))) << 32) +
            mix(word + static_cast<std::uint32_t>(i >> 32) + 1);
    poisoned += word == 0xFFFFFFFFU;
  }
  // A sum does not depend on the order of threads; one lane per warp adds to memory.
  for (int away = 16; away > 0; away /= 2) {
    hash += __shfl_down_sync(~0U, hash, away);
    poisoned += __shfl_down_sync(~0U, poisoned, away);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&digest->hash, hash);
  if (poisoned > 0) atomicAdd(&digest->poisoned, poisoned);
}

template <class T>
__global__ void gather_kernel(T* out, const T* data, std::size_t samples, std::size_t count) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < samples) out[k] = data[sample_place(k, samples, count)];
}

__global__ void load_sms_kernel(unsigned long long* cycles) {
  constexpr int steps = 60'000;
  __syncthreads();
  const long long began = clock64();
  float x = static_cast<float>(threadIdx.x) * 0x1p-12F;
#pragma unroll 8
  for (int step = 0; step < steps; ++step) x = fmaf(-x, x, 1.8F);
  __syncthreads();
  const auto took = static_cast<unsigned long long>(clock64() - began);
  // Never true: keeps the sum alive.
  if (threadIdx.x == 0) cycles[blockIdx.x] = x == 77 ? 0 : took;
  if (x == 77) cycles[blockIdx.x] = 0;
}

__global__ void empty_kernel() {}

__global__ void resident_kernel(std::uint64_t min_ns, Census census) {
  device::census_begin(census);
  if (threadIdx.x == 0) {
    const std::uint64_t begin = device::global_timer_ns();
    const std::uint64_t stay_ns = min_ns + blockIdx.x * 2654435761U % min_ns;
    while (device::global_timer_ns() - begin < stay_ns) __nanosleep(100);
  }
  __syncthreads();  // warps that exit early free slots: the next block would begin before this one has ended
  device::census_end(census);
}

}  // namespace

template <class T>
void fill_random(T* data, std::size_t count, cudaStream_t stream) {
  fill_random_kernel<<<4096, 256, 0, stream>>>(data, count);
  check(cudaGetLastError(), "filling the input");
}
template void fill_random<float>(float*, std::size_t, cudaStream_t);
template void fill_random<double>(double*, std::size_t, cudaStream_t);

void flush_l2(float* data, std::size_t bytes, bool dirty, cudaStream_t stream) {
  flush_l2_kernel<<<1024, 512, 0, stream>>>(reinterpret_cast<float4*>(data), bytes / sizeof(float4), dirty);
  check(cudaGetLastError(), "flushing the L2");
}

void delay_and_stamp(Stamp* stamps, int sm_count, std::uint64_t delay_ns, cudaStream_t stream) {
  delay_and_stamp_kernel<<<sm_count, 32, 0, stream>>>(stamps, static_cast<unsigned>(sm_count), delay_ns);
  check(cudaGetLastError(), "stamping the clocks");
}

void digest(const std::uint32_t* data, std::size_t words, Digest* digest, cudaStream_t stream) {
  digest_kernel<<<4096, 256, 0, stream>>>(data, words, digest);
  check(cudaGetLastError(), "reading an output");
}

void gather(void* out, const void* data, std::size_t element_bytes, std::size_t samples, std::size_t count,
            cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((samples + 255) / 256);
  if (element_bytes == 4)
    gather_kernel<<<blocks, 256, 0, stream>>>(static_cast<std::uint32_t*>(out),
                                              static_cast<const std::uint32_t*>(data), samples, count);
  else
    gather_kernel<<<blocks, 256, 0, stream>>>(static_cast<std::uint64_t*>(out),
                                              static_cast<const std::uint64_t*>(data), samples, count);
  check(cudaGetLastError(), "gathering outputs");
}

void load_sms(unsigned long long* cycles, int blocks, cudaStream_t stream) {
  load_sms_kernel<<<static_cast<unsigned>(blocks), 1024, 0, stream>>>(cycles);
  check(cudaGetLastError(), "loading the SMs");
}

void empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  check(cudaGetLastError(), "launching an empty kernel");
}

const void* empty_entry() { return reinterpret_cast<const void*>(empty_kernel); }
const void* resident_entry() { return reinterpret_cast<const void*>(resident_kernel); }

}  // namespace occbench::instruments
