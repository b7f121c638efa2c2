// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/curves.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace occbench {

namespace {

/// What all cases of a curve have in common.
std::string key_of(const CaseSpec& s, const std::string& dial) {
  const auto field = [&](const char* name, auto value) {
    return dial == name ? std::string() : std::string(" ") + name + std::to_string(value);
  };
  std::string key = s.variant->family + "." + s.curve;
  key += field("block_size", s.block_size) + field("carveout_percent", s.carveout_percent) +
         field("cluster_size", s.cluster_size) + " block_s" + std::to_string(s.block_s);
  if (dial != "waves") key += field("waves", s.waves) + field("grid_size", s.grid_size);
  // Residency is reached by ballast. Where blocks differ in size, the warps are what was asked for.
  if (!is_residency(dial))
    key += field("warps", dial == "block_size" ? s.resident_blocks * s.block_size : s.resident_blocks);
  if (dial != "dynamic_smem_bytes") key += field("ballast_bytes", s.ballast_bytes);
  return key;
}

std::size_t values_of(const std::vector<Point>& points) {
  std::set<double> values;
  for (const Point& p : points) values.insert(p.dial);
  return values.size();
}

}  // namespace

bool is_residency(const std::string& dial) {
  return dial == "warps_per_sm" || dial == "occupancy_theoretical" || dial == "blocks_per_sm";
}

std::vector<Curve> curves_of(const Experiment& experiment, const std::vector<CaseResult>& results) {
  std::map<std::string, Curve> curves;
  for (const CaseResult& r : results) {
    const CaseSpec& spec = r.planned.spec;
    if (spec.experiment != experiment.name || !r.has_time() || r.throughput <= 0) continue;
    Curve& curve = curves[key_of(spec, experiment.dial)];
    curve.kernel = spec.curve;
    curve.ceiling = spec.variant->ceiling;
    curve.points.push_back({case_number(r, experiment.dial), &r});
  }
  std::vector<Curve> found;
  for (auto& [_, curve] : curves) {
    std::ranges::sort(curve.points, [](const Point& a, const Point& b) {
      return a.dial != b.dial ? a.dial < b.dial : a.result->planned.id < b.result->planned.id;
    });
    curve.values = values_of(curve.points);
    found.push_back(std::move(curve));
  }
  return found;
}

std::size_t max_values(const Experiment& experiment, const std::vector<CaseSpec>& cases) {
  // Before a case is resolved its registers and warps are not known; but cases of one curve differ in the
  // dial alone, so each of them has its own value.
  std::map<std::string, std::size_t> count;
  std::size_t most = 0;
  for (const CaseSpec& spec : cases)
    if (spec.experiment == experiment.name) most = std::max(most, ++count[key_of(spec, experiment.dial)]);
  return most;
}

}  // namespace occbench
