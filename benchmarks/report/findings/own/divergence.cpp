// SPDX-License-Identifier: Apache-2.0
// What diverging lanes cost.
#include <optional>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

Sentences divergence(const View& v) {
  Sentences clauses;
  const auto baseline_cycles =
      baseline_values(v.rows, v.places, [&](std::size_t p) { return cycles_by_events(v, p); });
  std::map<double, double> one;
  std::map<double, double> half;
  for (std::size_t i = 0; i < v.places.size(); ++i) {
    const std::size_t p = v.places[i];
    const double ratio = cycles_by_events(v, p) / baseline_cycles[i];
    if (v.text(p, "form") != "split-lane" || std::isnan(ratio)) continue;
    for (auto& [lanes, by_warps] : {std::pair<double, std::map<double, double>&>{1, one}, {16, half}})
      if (v.number(p, "lanes_apart") == lanes) {
        double& most = by_warps[v.number(p, "warps_per_sm")];
        most = std::max(most, ratio);
      }
  }
  std::vector<double> both;
  for (const auto& [warps, _] : one)
    if (half.contains(warps)) both.push_back(warps);
  if (!both.empty()) {
    const double few = both.front();
    const double most = both.back();
    const std::string one_lane = text("%.2f x", one[most]);
    const std::string half_of_them = text("%.2f x", half[most]);
    clauses.emplace_back(
        (one_lane == half_of_them
             ? "whether 1 lane of 32 branches away or 16 do, the loop takes " + one_lane + " the time"
             : "if 1 lane of 32 branches away, the loop takes " + one_lane + " the time; if 16 do, " +
                   half_of_them) +
            text(" (%g warps per SM)", most),
        v.split_lanes(most));
    if (few < most)
      clauses.push_back(text("more warps %s: %.2f x at %g per SM, %.2f x at %g",
                             one[most] > 0.95 * one[few] ? "do not hide it" : "hide part of it", one[few],
                             few, one[most], most));
  }
  const auto rate =
      baseline_values(v.rows, v.places, [&](std::size_t p) { return v.number(p, "throughput"); });
  const auto lane_flop = [&](std::size_t p) {
    return v.number(p, "flop_per_launch") / v.number(p, "grid_size") / v.number(p, "block_size") /
           v.number(p, "iterations");
  };
  const auto work = baseline_values(v.rows, v.places, lane_flop);
  std::optional<std::pair<double, std::size_t>> worst;
  for (std::size_t i = 0; i < v.places.size(); ++i) {
    const double loss = 1 - v.number(v.places[i], "throughput") / rate[i];
    if (v.text(v.places[i], "form") == "image" && !std::isnan(loss) && (!worst || loss > worst->first))
      worst = {loss, i};
  }
  if (worst) {
    const std::size_t p = v.places[worst->second];
    clauses.push_back(
        "at the boundary of `" + v.text(p, "variant") +
        text("` %.1f %% of the warps diverge, %.1f %% of the lanes idle and %.1f %% of the rate is lost",
             100 * v.number(p, "divergent_warps"), 100 * (1 - lane_flop(p) / work[worst->second]),
             100 * worst->first));
  }
  return clauses;
}

}  // namespace occbench::findings
