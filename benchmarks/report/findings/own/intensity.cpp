// SPDX-License-Identifier: Apache-2.0
// How many warps a kernel needs, by its FMAs per load.
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

/// The x at which y first comes to `level`, on straight lines from the origin and between points.
template <typename Value>
double first_crossing(const View& v, RowIndices line, std::string_view x, Value y, double level) {
  std::ranges::stable_sort(line, {}, [&](std::size_t p) { return v.number(p, x); });
  double last_x = 0;
  double last_y = 0;
  for (const std::size_t p : line) {
    if (y(p) >= level) return last_x + (level - last_y) / (y(p) - last_y) * (v.number(p, x) - last_x);
    last_x = v.number(p, x);
    last_y = y(p);
  }
  return no_value;
}

/// Of one number of loads in flight: warps that reach one share of the roof, by the FMAs on each load.
struct Need {
  double fmas;
  double warps;
};

std::string of_loads_in_flight(double ilp, double share, const std::vector<Need>& needs,
                               const nlohmann::json& environment) {
  const std::string loads = count_with_noun(ilp, "load") + " in flight";
  if (needs.size() < min_points)
    return "with " + loads + text(", %zu numbers of FMAs per load are too few to see a cusp", needs.size()) +
           preset_hint(environment);
  const Need& first = needs.front();
  const Need& last = needs.back();
  const Need& peak = *std::ranges::max_element(needs, {}, &Need::warps);
  double inner = 0;
  for (std::size_t i = 1; i + 1 < needs.size(); ++i) inner = std::max(inner, needs[i].warps);
  if (needs.size() > 2 && inner > std::max(first.warps, last.warps))
    return text("%g %% of the roof takes %.0f warps at %g FMAs per load, only %.0f at %g and %.0f at %g (",
                share, peak.warps, peak.fmas, first.warps, first.fmas, last.warps, last.fmas) +
           loads + ")";
  return "no cusp with " + loads + text(": %g %% of the roof takes ", share) +
         count_with_noun(std::round(first.warps), "warp") + " at " + count_with_noun(first.fmas, "FMA") +
         text(" per load, %.0f at %g", last.warps, last.fmas);
}

}  // namespace

Sentences intensity(const View& v) {
  constexpr double far_from_balance = 64;  // FMAs per 4-byte load from which on a kernel computes on any GPU
  Sentences clauses;
  const auto roof = [&](std::size_t p) { return v.number(p, "percent_of_ceiling"); };
  const auto known = v.only([&](std::size_t p) { return !std::isnan(roof(p)); });
  for (const auto& [ilp, part] : v.by(known, "ilp")) {
    std::vector<std::pair<double, RowIndices>> lines;
    double share = 100;
    for (const auto& [fmas, line] : v.by(part, "fma_per_load"))
      if (values_of(v.rows, line, "warps_per_sm") >= min_points) {
        lines.emplace_back(fmas, line);
        share = std::min(share, roof(v.most(line, "percent_of_ceiling")));
      }
    share = std::floor(share / 5) * 5;  // reached by every line
    if (lines.empty() || share <= 0) continue;
    std::vector<Need> needs;
    for (const auto& [fmas, line] : lines)
      needs.push_back({fmas, first_crossing(v, line, "warps_per_sm", roof, share)});
    RowIndices rows;
    for (const auto& [fmas, line] : lines) rows.push_back(line.front());
    clauses.insert(clauses.begin(), {of_loads_in_flight(ilp, share, needs, v.environment), rows});
  }
  const auto by_ilp = v.by(v.places, "ilp");
  if (by_ilp.empty()) return clauses;
  const RowIndices most = v.only(by_ilp.rbegin()->second, [&](std::size_t p) {
    return v.number(p, "fma_per_load") >= far_from_balance;
  });
  const auto by_fmas = v.by(most, "fma_per_load");
  if (by_fmas.empty()) return clauses;
  const auto& [fmas, line] = *by_fmas.rbegin();
  if (values_of(v.rows, line, "warps_per_sm") < min_points) return clauses;
  const auto rate = [&](std::size_t p) { return v.number(p, "throughput"); };
  const double full = ends_of(line, [&](std::size_t p) {
                        return v.number(p, "warps_per_sm") / v.number(p, "occupancy_theoretical");
                      }).second;
  constexpr double level = 0.945;  // printed as 95 %
  const double flat = first_crossing(v, line, "warps_per_sm", rate, level * rate(v.most(line)));
  clauses.push_back(
      text("with %g FMAs per load %.0f warps (%.0f %% occupancy) reach 95 %% of the best, %s the course "
           "says (25-50 %%)",
           fmas, flat, 100 * flat / full, flat <= full / 2 ? "as" : "later than"));
  return clauses;
}

}  // namespace occbench::findings
