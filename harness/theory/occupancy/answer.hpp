// SPDX-License-Identifier: Apache-2.0
// Occupancy of a launch with a status message, for `occbench calc` and the Python package.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/theory/occupancy/grid.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

struct Query {
  Footprint footprint;
  int cluster_size = 1;
  std::int64_t grid_blocks = 0;  ///< 0: unknown
  bool has_run = false;          ///< taken from a profile, so it has opted in to large shared memory
};

struct Answer {
  Occupancy occupancy;
  std::string status;  ///< "ok", possibly with a remark, or "cannot launch: REASON"
  std::optional<int> active_clusters = {};
  std::optional<GridFill> grid = {};  ///< nullopt if the grid or the number of SMs is unknown

  [[nodiscard]] bool launches() const { return occupancy.launchable() && active_clusters != 0; }
};

/// Maximum number of active clusters on the device; nullopt if the device cannot tell.
using ActiveClusters = std::function<std::optional<int>(const Footprint&, int cluster_size)>;

/// `active_clusters` is empty without a GPU: the SMs per GPC are only known at run time.
[[nodiscard]] Answer answer(const SmLimits& sm, const Query& query,
                            const ActiveClusters& active_clusters = {});

}  // namespace occbench::theory
