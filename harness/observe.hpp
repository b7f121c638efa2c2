// SPDX-License-Identifier: Apache-2.0
// What is watched around a case without touching its time: the NVTX range that profilers select by,
// and the census of resident blocks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/census.cuh"
#include "harness/launch.hpp"

namespace occbench::observe {

/// NVTX range of domain "occbench", named by the case, for as long as the object lives. Costs a
/// function pointer test when no tool is attached.
class CaseRange {
 public:
  explicit CaseRange(const std::string& case_id);
  ~CaseRange();
  CaseRange(const CaseRange&) = delete;
  CaseRange& operator=(const CaseRange&) = delete;
};

/// Blocks that each SM took in before the first of its blocks ended, per SM index; 0 where no block ran.
/// Later overlaps do not count: an SM gives back a block's warps one by one, and with warp slots to spare the
/// next block begins before the last warp of an old one is gone.
std::vector<int> first_residents(std::span<const CensusRecord> records, int sm_count);

/// Blocks really resident per SM: launches the configured kernel with a record per block and returns
/// the median over SMs of first_residents(). The grid must hold more blocks than fit (two waves), or the
/// answer is the grid's and not the SM's; blocks must outlast the launch ramp (some 10 us).
int resident_blocks_per_sm(const Launch& launch, const Problem& problem, int sm_count, const Stream& stream);

}  // namespace occbench::observe
