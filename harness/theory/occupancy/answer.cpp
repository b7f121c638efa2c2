// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/answer.hpp"

#include <algorithm>

namespace occbench::theory {
namespace {

/// The number of clusters that fit, as a status.
std::string cluster_status(const SmLimits& sm, const Query& query, const ActiveClusters& active_clusters,
                           Answer& a) {
  constexpr int max_portable = 8;
  const std::string size = std::to_string(query.cluster_size), clusters = "clusters of " + size;
  const std::string opt_in = query.cluster_size <= max_portable || query.has_run
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

std::optional<GridFill> grid_fill(const SmLimits& sm, const Footprint& footprint, const Occupancy& occupancy,
                                  std::int64_t blocks, std::int64_t wave_blocks) {
  if (blocks < 1 || sm.sm_count < 1 || occupancy.blocks_per_sm < 1) return std::nullopt;
  GridFill fill{.blocks = blocks, .wave_blocks = wave_blocks};
  if (wave_blocks < 1) fill.wave_blocks = std::int64_t{occupancy.blocks_per_sm} * sm.sm_count;
  fill.waves = static_cast<double>(blocks) / static_cast<double>(fill.wave_blocks);
  // The scheduler gives each SM one block before any gets a second.
  fill.idle_sms = static_cast<int>(sm.sm_count - std::min<std::int64_t>(blocks, sm.sm_count));
  const std::int64_t whole_waves = blocks / fill.wave_blocks;
  const bool has_tail = blocks % fill.wave_blocks != 0;
  const double time_in_waves = static_cast<double>(whole_waves) + (has_tail ? 1 : 0);
  if (has_tail) fill.tail_share = 1 / time_in_waves;
  const double warps = static_cast<double>(blocks) * warps_per_block(sm, footprint);
  fill.occupancy = warps / time_in_waves / sm.max_warps_per_sm() / sm.sm_count;
  return fill;
}

Answer answer(const SmLimits& sm, const Query& query, const ActiveClusters& active_clusters) {
  Answer a{occupancy(sm, query.footprint), "ok"};
  constexpr int most_in_cluster = 16;
  const bool is_too_large = query.cluster_size > most_in_cluster;
  if (a.occupancy.is_launchable() && query.cluster_size > 1 && (sm.cc_major < 9 || is_too_large)) {
    a.occupancy.blocks_per_sm = a.occupancy.warps_per_sm = 0;
    a.occupancy.fraction = 0;
    a.occupancy.limiters = Limiter::none;
    a.occupancy.launch_error =
        sm.cc_major < 9 ? "clusters need compute capability 9.0 or newer" : "a cluster has at most 16 blocks";
  }
  if (!a.occupancy.is_launchable()) {
    a.status = "cannot launch: " + a.occupancy.launch_error;
    return a;
  }
  if (query.cluster_size > 1 && query.grid_blocks % query.cluster_size != 0) {
    a.occupancy.launch_error = "a grid of " + std::to_string(query.grid_blocks) +
                               " blocks is not a multiple of the cluster size " +
                               std::to_string(query.cluster_size);
    a.status = "cannot launch: " + a.occupancy.launch_error;
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
