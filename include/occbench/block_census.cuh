// SPDX-License-Identifier: Apache-2.0
// Lets a user kernel record its residency, as all kernels of the suite do.
#pragma once

#include <cuda_runtime.h>

#include <occbench/census_record.cuh>

namespace occbench {

namespace detail {

/// Records of this file's kernels; null if they are not recorded.
static __device__ CensusRecord* block_records = nullptr;

namespace {
/// Stream-ordered. Errors are reported by the cudaGetLastError after every launch.
void set_census(CensusRecord* records, cudaStream_t stream) {
  static_cast<void>(
      cudaMemcpyToSymbolAsync(block_records, &records, sizeof records, 0, cudaMemcpyHostToDevice, stream));
}
}  // namespace

}  // namespace detail

/// Records each block's residency if it is declared on the first line of a kernel:
///   __global__ void saxpy(...) {
///     const occbench::BlockCensus census;
/// The first thread of each block records start and end. Launches that are not recorded pay for one load and
/// one branch; the machine code is the same.
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
