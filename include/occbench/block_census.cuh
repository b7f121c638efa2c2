// SPDX-License-Identifier: Apache-2.0
// How a kernel of one's own can testify to its residency, as every kernel of the suite does.
#pragma once

#include <cuda_runtime.h>

#include <occbench/census_record.cuh>

namespace occbench {

namespace detail {

/// Of this file's kernels: where blocks note their stay; null when nobody counts.
static __device__ CensusRecord* block_records = nullptr;

namespace {
/// In stream order. An error stays for the cudaGetLastError that follows every launch.
void set_census(CensusRecord* records, cudaStream_t stream) {
  static_cast<void>(
      cudaMemcpyToSymbolAsync(block_records, &records, sizeof records, 0, cudaMemcpyHostToDevice, stream));
}
}  // namespace

}  // namespace detail

/// The first line of a kernel, which then counts its resident blocks:
///   __global__ void saxpy(...) {
///     const occbench::BlockCensus census;
/// The first thread of each block notes when it comes and goes. A launch that nobody counts pays one load and
/// one branch, in a kernel whose machine code is the same.
class BlockCensus {
 public:
  __device__ __forceinline__ BlockCensus() {
    if (detail::block_records == nullptr || (threadIdx.x | threadIdx.y | threadIdx.z) != 0) return;
    record_ = detail::block_records +
              (blockIdx.x + std::uint64_t{gridDim.x} * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z));
    record_->sm = device::sm_index();
    record_->begin_ns = device::global_timer_ns();
  }
  __device__ __forceinline__ ~BlockCensus() {
    if (record_ != nullptr) record_->end_ns = device::global_timer_ns();
  }
  BlockCensus(const BlockCensus&) = delete;
  BlockCensus& operator=(const BlockCensus&) = delete;

 private:
  CensusRecord* record_ = nullptr;
};

}  // namespace occbench
