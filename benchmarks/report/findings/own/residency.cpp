// SPDX-License-Identifier: Apache-2.0
// What residency costs by the way it is reached.
#include <optional>
#include <ranges>
#include <set>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

bool is_ballast(const View& v, std::size_t row) {
  return !std::isnan(v.number(row, "asked_resident_blocks"));
}

/// The block size of most rows whose residency was reached by ballast; of equally many the smallest.
double usual_block_size(const View& v) {
  std::map<double, std::size_t> sizes;
  for (const std::size_t p : v.places)
    if (is_ballast(v, p)) ++sizes[v.number(p, "block_size")];
  double usual = 0;
  std::size_t times = 0;
  for (const auto& [size, count] : sizes)
    if (count > times) {
      usual = size;
      times = count;
    }
  return usual;
}

/// How a row reached its residency.
std::string route_of(const View& v, std::size_t row, double usual) {
  if (is_ballast(v, row)) return "shared memory";
  return v.number(row, "block_size") != usual ? "block size" : "registers";
}

/// A kernel that reuses a working set is one for all blocks whose warps reuse as much each.
std::string kernel_of(const View& v, std::size_t row) {
  const double per_warp = v.number(row, "working_set_bytes") / 1024 / (v.number(row, "block_size") / 32);
  return std::isnan(per_warp) ? v.what(row) : text("cached reads of %g KiB per warp", per_warp);
}

/// What the worst route to an occupancy costs a kernel, at one carve-out.
struct Cost {
  double loss;
  std::string kernel;
  std::string route;
  std::size_t row;
};

std::optional<Cost> cost_of(const View& v, const std::string& kernel, const RowIndices& part, double usual) {
  std::map<std::pair<double, double>, std::map<std::string, double>> arms;  // by occupancy and carve-out
  for (const std::size_t p : part) {
    double& best =
        arms[{v.number(p, "occupancy_theoretical"), v.number(p, "carveout_percent")}][route_of(v, p, usual)];
    best = std::max(best, v.number(p, "throughput"));
  }
  std::optional<Cost> worst;
  for (const auto& [_, routes] : arms) {
    if (routes.size() < 2) continue;
    const double top = std::ranges::max(routes | std::views::values);
    for (const auto& [way, rate] : routes)
      if (!worst || 1 - rate / top > worst->loss) worst = {1 - rate / top, kernel, way, part.front()};
  }
  return worst;
}

/// Adds a kernel's gain from a larger L1, unless it is below case_precision.
void add_worth_of_l1(const View& v, const std::string& kernel, const RowIndices& part, double usual,
                     Sentences& worth) {
  std::map<std::pair<double, std::string>, std::map<double, double>> by_l1;  // by occupancy and route
  std::set<double> carveouts;
  for (const std::size_t p : part) {
    const double carveout = v.number(p, "carveout_percent");
    double& best = by_l1[{v.number(p, "occupancy_theoretical"), route_of(v, p, usual)}][carveout];
    best = std::max(best, v.number(p, "throughput"));
    carveouts.insert(carveout);
  }
  std::vector<double> gains;
  if (carveouts.size() > 1)
    for (const auto& [_, by] : by_l1)
      if (by.contains(*carveouts.begin()) && by.contains(*carveouts.rbegin()))
        gains.push_back(by.at(*carveouts.begin()) / by.at(*carveouts.rbegin()));
  if (std::ranges::any_of(gains, [](double gain) { return std::abs(gain - 1) >= case_precision; }))
    worth.push_back(
        text("a larger L1 is worth %.2f to %.2f x for ", std::ranges::min(gains), std::ranges::max(gains)) +
        kernel);
}

}  // namespace

Sentences registers(const View& v) {
  const RowIndices capped = v.only([&](std::size_t p) {
    return v.text(p, "register_route") == "maxnreg" && v.number(p, "block_size") == 512;
  });
  std::map<std::string, RowIndices> curves;
  for (const std::size_t p : capped) curves[v.text(p, "curve")].push_back(p);
  std::vector<std::pair<double, std::string>> changes;
  RowIndices rows;
  std::optional<std::pair<double, double>> ends;
  for (const auto& [_, line] : curves) {
    const auto side = [&](double count) {
      return v.only(line, [&](std::size_t p) { return v.number(p, "registers_per_thread") == count; });
    };
    const RowIndices low = side(31);
    const RowIndices high = side(33);
    if (low.empty() || high.empty()) continue;
    const std::size_t before = v.most(low);
    const std::size_t after = v.most(high);
    const double ratio = v.rows.rate(after) / v.rows.rate(before);
    const std::string what = v.what(before);
    changes.emplace_back(ratio, what + " " + loss_or_gain(ratio, 1, !what.starts_with('`')));
    rows.push_back(before);
    ends = {v.number(before, "occupancy_theoretical"), v.number(after, "occupancy_theoretical")};
  }
  if (!ends) return {};
  std::ranges::sort(changes);
  std::vector<std::string> words;
  for (const auto& [_, each] : changes) words.push_back(each);
  return {{"from 31 to 33 registers " + join_with_and(words) +
               " (blocks of 512: " + amount("occupancy_theoretical", ends->first) + " to " +
               value_of("registers", "occupancy_theoretical", ends->second) + ")",
           rows}};
}

Sentences same_occupancy(const View& v) {
  const double usual = usual_block_size(v);
  std::map<std::string, RowIndices> kernels;
  for (const std::size_t p : v.places) kernels[kernel_of(v, p)].push_back(p);
  std::vector<Cost> costs;
  Sentences worth;
  for (const auto& [name, part] : kernels) {
    if (const auto cost = cost_of(v, name, part, usual)) costs.push_back(*cost);
    add_worth_of_l1(v, name, part, usual, worth);
  }
  if (costs.empty()) return worth;
  std::ranges::stable_sort(costs, {}, &Cost::loss);
  const bool is_one = std::ranges::all_of(costs, [&](const Cost& p) { return p.route == costs[0].route; });
  std::vector<std::string> words;
  RowIndices rows;
  for (const Cost& cost : costs) {
    words.push_back(cost.kernel + text(" %.1f %%", 100 * cost.loss) +
                    (is_one ? "" : " (by " + cost.route + ")"));
    rows.push_back(cost.row);
  }
  worth.insert(worth.begin(), {"reaching the same occupancy by " +
                                   (is_one ? costs[0].route : std::string("the worst route")) + " costs " +
                                   join_with_and(words) + " (same L1 size)",
                               rows});
  return worth;
}

}  // namespace occbench::findings
