// SPDX-License-Identifier: Apache-2.0
// Finds the SMs of each GPC, which share its path to the L2.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/device/census.cuh"
#include "harness/device/device.hpp"
#include "harness/device/resource.hpp"

namespace occbench {

/// Joins the sets of the SMs that ran blocks of one cluster. `sets` is indexed by SM; `records` are of a
/// launch of clusters, in block order.
void join_clusters(std::vector<int>& sets, std::span<const CensusRecord> records, int cluster_size);

/// A number per SM, equal within a GPC: the blocks of a cluster run on one GPC. Empty on devices without
/// clusters.
std::vector<int> gpc_of_sms(const Device& device, const Stream& stream);

/// "16+16+8": SMs with a record, by GPC, largest first; empty where a GPC is unknown.
std::string sms_by_gpc(std::span<const CensusRecord> records, std::span<const int> gpc_of_sm);

}  // namespace occbench
