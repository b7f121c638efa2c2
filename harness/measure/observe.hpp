// SPDX-License-Identifier: Apache-2.0
// What observes a case without changing its time: the NVTX range that profilers select by,
// and the census of resident blocks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/device/census.cuh"
#include "harness/measure/plan.hpp"

namespace occbench::observe {

/// NVTX push/pop range of domain "occbench" for as long as the object lives: named by the case (a registered
/// string), in the category of its experiment, with occupancy_theoretical, blocks_per_sm and
/// registers_per_thread as payload; a tool without schemas gets the occupancy only. Without a tool it costs a
/// null check.
class CaseRange {
 public:
  explicit CaseRange(const Case& c);
  ~CaseRange();
  CaseRange(const CaseRange&) = delete;
  CaseRange& operator=(const CaseRange&) = delete;
};

/// Of one launch, by its census.
struct Residency {
  int blocks_per_sm = 0;  ///< median over the SMs that ran any
  int blocks = 0;         ///< on the whole device before the first block anywhere ended
  int idle_sms = 0;       ///< that held none of these
};

/// Blocks that began on each SM before the first of its blocks ended, per SM index; 0 where no block ran.
/// Later overlaps do not count: an SM frees a block's warps one by one, and with free warp slots the next
/// block begins before the last warp of an old one has ended.
std::vector<int> first_residents(std::span<const CensusRecord> records, int sm_count);

/// first_residents() summed up, and the moment before the first block of the whole device ended: clusters
/// that are placed later may take SMs that no cluster could have before.
Residency residency_of(std::span<const CensusRecord> records, int sm_count);

/// The record of each of a launch's `blocks`; all bits are set where one wrote none. `launch` launches with
/// the census that it is given. The grid must hold more blocks than fit (two waves), or the residency is the
/// grid's and not the SM's; blocks must outlast the launch ramp (some 10 us).
std::vector<CensusRecord> census_of(int blocks, const std::function<void(Census)>& launch,
                                    const Stream& stream);

}  // namespace occbench::observe
