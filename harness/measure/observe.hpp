// SPDX-License-Identifier: Apache-2.0
// Observes a case without changing its time: an NVTX range by which profilers select, and a census of
// resident blocks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/device/census.cuh"
#include "harness/measure/plan.hpp"

namespace occbench::observe {

/// NVTX push/pop range of domain "occbench" during the object's lifetime. Its name is the case (a registered
/// string), its category the experiment, and its payload occupancy_theoretical, blocks_per_sm and
/// registers_per_thread; tools without schemas get only the occupancy. Without a tool it costs a null check.
class CaseRange {
 public:
  explicit CaseRange(const Case& c);
  ~CaseRange();
  CaseRange(const CaseRange&) = delete;
  CaseRange& operator=(const CaseRange&) = delete;
};

/// The residency of one launch, by its census.
struct Residency {
  int blocks_per_sm = 0;  ///< median over the SMs that ran any
  int blocks = 0;         ///< on the whole device before its first block ended
  int idle_sms = 0;       ///< SMs without such a block
};

/// Blocks that began on each SM before its first block ended, by SM index; 0 where no block ran. Later
/// overlaps do not count: an SM frees a block's warps one by one, so that the next block may begin before the
/// last warp of the old one ends.
std::vector<int> first_residents(std::span<const CensusRecord> records, int sm_count);

/// Summarises first_residents(), and counts blocks until the first block of the device ends: clusters placed
/// later may use SMs that no cluster could use before.
Residency residency_of(std::span<const CensusRecord> records, int sm_count);

/// The record of each of `blocks` blocks; all bits are set where a block wrote none. `launch` launches with
/// the given census. The grid must have more blocks than fit (two waves), else the grid limits the residency;
/// blocks must outlast the launch ramp (some 10 us).
std::vector<CensusRecord> census_of(int blocks, const std::function<void(Census)>& launch,
                                    const Stream& stream);

}  // namespace occbench::observe
