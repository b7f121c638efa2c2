// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/answer.hpp"

namespace occbench::theory {
namespace {

/// How many clusters fit, as a status.
std::string cluster_status(const SmLimits& sm, const Query& query, const ActiveClusters& active_clusters,
                           Answer& a) {
  constexpr int most_portable = 8;
  const std::string size = std::to_string(query.cluster_size), clusters = "clusters of " + size;
  const std::string opt_in = query.cluster_size <= most_portable || query.has_run
                                 ? ""
                                 : "; a cluster of more than 8 blocks needs "
                                   "cudaFuncAttributeNonPortableClusterSizeAllowed, or the launch fails";
  if (active_clusters) a.active_clusters = active_clusters(query.footprint, query.cluster_size);
  if (!a.active_clusters)
    return "ok per SM; the " + size + " blocks of a cluster are resident at once, on SMs of one GPC: " +
           (active_clusters ? "this GPU does not report how many " + clusters + " fit"
                            : "how many " + clusters +
                                  " fit is only known at run time, on a GPU given by "
                                  "its index, or from `occbench devices`") +
           opt_in;
  if (*a.active_clusters == 0) return "cannot launch: no " + clusters + " fit on the device";
  return "ok; the device holds " + std::to_string(*a.active_clusters) + " " + clusters +
         " at once: " + std::to_string(*a.active_clusters * query.cluster_size) + " blocks, of " +
         std::to_string(a.occupancy.blocks_per_sm * sm.sm_count) + " without clusters" + opt_in;
}

}  // namespace

Answer answer(const SmLimits& sm, const Query& query, const ActiveClusters& active_clusters) {
  Answer a{occupancy(sm, query.footprint), "ok"};
  constexpr int most_in_cluster = 16;
  const bool is_too_large = query.cluster_size > most_in_cluster;
  if (a.occupancy.launchable() && query.cluster_size > 1 && (sm.cc_major < 9 || is_too_large)) {
    a.occupancy.blocks_per_sm = a.occupancy.warps_per_sm = 0;
    a.occupancy.fraction = 0;
    a.occupancy.limiters = Limiter::none;
    a.occupancy.unlaunchable =
        sm.cc_major < 9 ? "clusters need compute capability 9.0 or newer" : "a cluster has at most 16 blocks";
  }
  if (!a.occupancy.launchable()) {
    a.status = "cannot launch: " + a.occupancy.unlaunchable;
    return a;
  }
  if (query.cluster_size > 1 && query.grid_blocks % query.cluster_size != 0) {
    a.occupancy.unlaunchable = "a grid of " + std::to_string(query.grid_blocks) +
                               " blocks is not a multiple of the cluster size " +
                               std::to_string(query.cluster_size);
    a.status = "cannot launch: " + a.occupancy.unlaunchable;
    return a;
  }
  if (query.cluster_size > 1) a.status = cluster_status(sm, query, active_clusters, a);
  a.grid = grid_fill(sm, query.footprint, a.occupancy, query.grid_blocks,
                     std::int64_t{a.active_clusters.value_or(0)} * query.cluster_size);
  if (a.launches() && !query.has_run && needs_opt_in(sm, query.footprint))
    a.status += "; first cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, " +
                std::to_string(query.footprint.dynamic_smem_bytes) + "), or the launch fails";
  return a;
}

}  // namespace occbench::theory
