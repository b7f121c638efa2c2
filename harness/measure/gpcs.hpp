// SPDX-License-Identifier: Apache-2.0
// Which SMs share a GPC, whose path to the L2 they share, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/device/census.cuh"
#include "harness/device/device.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// Joins the sets of the SMs that had a block of one cluster. `sets` has each SM's, by its number;
/// `records` are of a launch of clusters, in order of blocks.
void join_clusters(std::vector<int>& sets, std::span<const CensusRecord> records, int cluster_size);

/// For each SM a number that the SMs of its GPC alone have: a cluster's blocks lie in one GPC. Empty where
/// the device has no clusters.
std::vector<int> gpc_of_sms(const Device& device, const Stream& stream);

/// "16+16+8": SMs that have a record, by GPC, most first; empty where a GPC is not known.
std::string sms_by_gpc(std::span<const CensusRecord> records, std::span<const int> gpc_of_sm);

}  // namespace occbench
