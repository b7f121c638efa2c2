// SPDX-License-Identifier: Apache-2.0
// Where a kernel uses least energy.
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

/// Energy of the launches of one run.
struct Energy {
  const View& v;

  [[nodiscard]] double per_joule(std::size_t p) const {
    const std::string& unit = v.text(p, "throughput_unit");
    const char* const work = unit == "byte/s"   ? "bytes_per_launch"
                             : unit == "flop/s" ? "flop_per_launch"
                                                : "operations_per_launch";
    return v.number(p, work) / v.number(p, "energy_per_launch_j");
  }
  /// A single launch's time over that from launch to launch while energy was counted.
  [[nodiscard]] double busy_share(std::size_t p) const {
    return v.number(p, "time_median_s") * v.number(p, "power_w") / v.number(p, "energy_per_launch_j");
  }
  [[nodiscard]] double power_limit_w() const {
    if (const auto gpu = v.environment.find("gpu"); gpu != v.environment.end() && gpu->is_object())
      if (const auto w = gpu->value("power_limit_w", nlohmann::json()); w.is_number() && w.get<double>() != 0)
        return w.get<double>();
    return std::numeric_limits<double>::infinity();
  }
  /// Where the device idled between launches, its energy is not the work's. One that is less busy because it
  /// lowered its clock to keep to its power limit did not idle; it may draw a quarter less than that for a
  /// while, as an H100 did.
  [[nodiscard]] bool is_idle(std::size_t p) const {
    return busy_share(p) < 0.9 && v.number(p, "power_w") < 0.7 * power_limit_w();
  }

  /// Where a kernel uses least energy, with the share that it saves of the fastest's.
  [[nodiscard]] std::pair<double, SpecificFinding> least(const RowIndices& line, std::size_t fast) const {
    constexpr double worth_saying = 0.05;  // so much a launch's energy moved in three runs on one H100
    std::size_t least_row = *std::ranges::max_element(line, {}, [&](std::size_t p) { return per_joule(p); });
    const double saved = 1 - per_joule(fast) / per_joule(least_row);
    const bool is_fastest = saved < worth_saying;
    const std::string nearly =
        is_fastest && saved >= case_precision ? text(", within %.1f %%,", 100 * saved) : "";
    if (is_fastest) least_row = fast;
    const std::string words = v.what(fast) + " use least energy" + nearly + " with " +
                              value_of("energy", "warps_per_sm", v.number(least_row, "warps_per_sm")) +
                              (is_fastest ? ", where they are fastest as well"
                                          : text(", %.1f %% less than with %g, where they are fastest",
                                                 100 * saved, v.number(fast, "warps_per_sm")));
    return {is_fastest ? 0 : saved, {words, RowIndices{least_row}}};
  }
  [[nodiscard]] SpecificFinding rate(std::size_t fast) const {
    return {v.what(fast) + " reach " + v.speed(fast) + " in single launches, " +
                findings::speed(v.rows.rate(fast) * busy_share(fast), v.rows.unit(fast)) +
                text(" back to back at %.0f W (", v.number(fast, "power_w")) +
                value_of("energy", "occupancy_theoretical", v.number(fast, "occupancy_theoretical")) + ")",
            RowIndices{fast}};
  }
};

}  // namespace

Sentences energy(const View& v) {
  constexpr double most_of_limit =
      1.05;  // of runs from before the harness waited for the board to keep to it
  const Energy launches{v};
  const RowIndices all = v.only([&](std::size_t p) { return !std::isnan(launches.per_joule(p)); });
  if (all.empty()) return {};
  Sentences clauses;
  if (const RowIndices idle = View::only(all, [&](std::size_t p) { return launches.is_idle(p); });
      !idle.empty()) {
    const auto [low, high] = ends_of(idle, [&](std::size_t p) { return launches.busy_share(p); });
    clauses.push_back(
        text("in %zu of %zu cases the device worked only %.0f to %.0f %% of the time: their joules are "
             "mostly those of idling",
             idle.size(), all.size(), 100 * low, 100 * high));
  }
  const double limit = launches.power_limit_w();
  const auto above =
      View::only(all, [&](std::size_t p) { return v.number(p, "power_w") > most_of_limit * limit; });
  if (!above.empty()) {
    clauses.push_back(
        text("in %zu of %zu cases the counter says more than the board's limit of %.0f W: no energy of "
             "this run is to be trusted",
             above.size(), all.size(), limit));
    return clauses;
  }
  std::map<std::pair<std::string, std::string>, RowIndices> kernels;
  for (const std::size_t p : all)
    if (!launches.is_idle(p)) kernels[{v.text(p, "family"), v.text(p, "variant")}].push_back(p);
  std::vector<std::pair<double, SpecificFinding>> least;
  Sentences rates;
  for (const auto& [_, line] : kernels) {
    const std::size_t fast = v.most(line);
    if (values_of(v.rows, line, "warps_per_sm") >= min_points) least.push_back(launches.least(line, fast));
    rates.push_back(launches.rate(fast));
  }
  std::ranges::sort(least, {}, [](const auto& each) { return std::pair(-each.first, each.second.words); });
  for (auto& [_, clause] : least) clauses.push_back(std::move(clause));
  clauses.insert(clauses.end(), rates.begin(), rates.end());
  return clauses;
}

}  // namespace occbench::findings
