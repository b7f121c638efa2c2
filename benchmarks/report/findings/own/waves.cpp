// SPDX-License-Identifier: Apache-2.0
// What a partial wave and the turnover of blocks cost.
#include <optional>
#include <set>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

/// What a wave of short blocks adds to its work.
struct Turnover {
  double blocks_per_sm;
  double block_us;
  double cycles;
  double low;  ///< the ends of its interval: those of the two medians, in quadrature
  double high;
  [[nodiscard]] bool is_sure() const { return (high - low) / 2 < std::max(std::abs(cycles) / 2, 100.0); }
};

/// The time of w waves of short blocks less that of one wave that makes as many iterations, over w - 1. Where
/// rounding let them make a few more or less, those are taken off at the long blocks' time each.
std::vector<Turnover> turnovers(const View& v) {
  const RowIndices rows = v.only([&](std::size_t p) { return std::isnan(v.number(p, "asked_grid_size")); });
  std::vector<Turnover> found;
  for (const std::size_t p : rows) {
    const double block_us = std::round(1e6 * v.number(p, "asked_block_s") * 1000) / 1000;
    if (v.number(p, "waves") == 1 || std::isnan(block_us)) continue;
    const double waves = std::round(v.number(p, "waves"));
    const double iterations = waves * v.number(p, "iterations");
    std::optional<std::size_t> one;
    for (const std::size_t q : rows) {
      if (v.number(q, "waves") != 1 || v.number(q, "blocks_per_sm") != v.number(p, "blocks_per_sm") ||
          v.text(q, "variant") != v.text(p, "variant"))
        continue;
      const double off = std::abs(v.number(q, "iterations") - iterations);
      if (off / iterations < 0.25 && (!one || off < std::abs(v.number(*one, "iterations") - iterations)))
        one = q;
    }
    if (!one) continue;
    const double same_work_s = v.number(*one, "time_median_s") * iterations / v.number(*one, "iterations");
    const double cycles = v.number(p, "sm_clock_hz") / (waves - 1);
    const auto off = [&](std::size_t row, const char* end) {
      return v.number(row, end) - v.number(row, "time_median_s");
    };
    const double up = std::hypot(off(p, "time_ci95_high_s"), off(*one, "time_ci95_low_s"));
    const double down = std::hypot(off(p, "time_ci95_low_s"), off(*one, "time_ci95_high_s"));
    const double middle = v.number(p, "time_median_s") - same_work_s;
    found.push_back({v.number(p, "blocks_per_sm"), block_us, cycles * middle, cycles * (middle - down),
                     cycles * (middle + up)});
  }
  return found;
}

/// What one block beyond w waves costs, in percent of a wave, by w; `grids`: rows of one blocks_per_sm.
std::vector<double> partial_wave_costs(const View& v, const RowIndices& grids) {
  std::map<double, double> times;
  double size = 0;
  std::set<double> whole;
  for (const std::size_t p : grids) {
    times[v.number(p, "grid_size")] = v.number(p, "time_median_s");
    if (size == 0) size = std::round(v.number(p, "grid_size") / v.number(p, "waves"));
    if (const double waves = v.number(p, "waves"); waves > 0 && waves == std::floor(waves))
      whole.insert(waves);
  }
  std::vector<double> found;
  for (const double w : whole)
    if (times.contains(size) && times.contains(size * w) && times.contains(size * w + 1))
      found.push_back(100 * (times[size * w + 1] - times[size * w]) / times[size]);
  return found;
}

}  // namespace

Sentences waves(const View& v) {
  Sentences clauses;
  const RowIndices grids = v.only([&](std::size_t p) { return !std::isnan(v.number(p, "asked_grid_size")); });
  for (const auto& [blocks, part] : v.by(grids, "blocks_per_sm")) {
    double one = no_value;  // a wave's time
    for (const std::size_t p : part)
      if (v.number(p, "waves") == 1 && std::isnan(one)) one = v.number(p, "time_median_s");
    if (std::isnan(one)) continue;
    if (blocks == 1) {
      const auto off = [&](std::size_t p) {
        return std::abs(v.number(p, "time_median_s") / (std::ceil(v.number(p, "waves")) * one) - 1);
      };
      const std::size_t worst = *std::ranges::max_element(part, {}, off);
      clauses.emplace_back(
          text("with 1 block per SM a partial wave takes as long as a whole one, to within %.1f %%",
               100 * off(worst)),
          RowIndices{worst});
    } else if (const auto found = partial_wave_costs(v, part); !found.empty()) {
      const auto [low, high] = std::ranges::minmax(found);
      clauses.push_back(text("with %g blocks per SM one block beyond whole waves costs ", blocks) +
                        span(low, high) + " % of a wave: it runs alone");
    }
  }
  std::vector<Turnover> turns = turnovers(v);
  const bool has_any = !turns.empty();
  std::erase_if(turns, [](const Turnover& t) { return !t.is_sure(); });
  if (has_any && turns.empty()) clauses.emplace_back("turnover from block to block: too few blocks to tell");
  std::ranges::stable_sort(turns, {}, &Turnover::block_us);
  std::map<double, Turnover> shortest;
  for (const Turnover& t : turns) shortest.emplace(t.blocks_per_sm, t);
  for (const auto& [blocks, t] : shortest)
    clauses.push_back(
        std::string(blocks == 1 ? "the turnover from block to block takes" : "each further wave takes") +
        text(" %.0f cycles at ", t.cycles) + count_with_noun(blocks, "block") +
        text(" per SM of %g us (%.0f %% interval %.0f to %.0f)", t.block_us, 100 * statistics::confidence,
             t.low, t.high));
  return clauses;
}

}  // namespace occbench::findings
