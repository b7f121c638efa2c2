// SPDX-License-Identifier: Apache-2.0
// How each kernel of the suite records its residency: given a record array, each block
// writes its SM and when it began and ended. The timed launch gives none and pays one predicated
// branch; the machine code, and so the footprint, is the same.
#pragma once

#include <occbench/census_record.cuh>

namespace occbench {

/// Records for blockIdx.x 0 ... gridDim.x-1, or null: no census.
struct Census {
  CensusRecord* records = nullptr;
};

#ifdef __CUDACC__
namespace device {

__device__ __forceinline__ void census_begin(const Census& census) {
  if (census.records == nullptr || threadIdx.x != 0) return;
  census.records[blockIdx.x].sm = sm_index();
  census.records[blockIdx.x].begin_ns = global_timer_ns();
}
__device__ __forceinline__ void census_end(const Census& census) {
  if (census.records == nullptr || threadIdx.x != 0) return;
  census.records[blockIdx.x].end_ns = global_timer_ns();
}

}  // namespace device
#endif

}  // namespace occbench
