// SPDX-License-Identifier: Apache-2.0
// A launch that is asked about, and the answer in words: what `occbench calc` and the Python package say.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {

struct Query {
  Footprint footprint;
  int cluster_size = 1;
  bool has_run = false;  ///< a profiler saw it, so it has opted in to what it needs
};

struct Answer {
  Occupancy occupancy;
  std::string status;  ///< "ok", with a remark where one is due, or "cannot launch: why"
  std::optional<int> active_clusters = {};

  [[nodiscard]] bool launches() const { return occupancy.launchable() && active_clusters != 0; }
};

/// Clusters of so many such blocks that a device holds at once; nullopt when it gives no answer.
using ActiveClusters = std::function<std::optional<int>(const Footprint&, int cluster_size)>;

/// `active_clusters` is empty offline: which SMs a GPC has is known to the device alone.
[[nodiscard]] Answer answer(const SmLimits& sm, const Query& query,
                            const ActiveClusters& active_clusters = {});

}  // namespace occbench::theory
