// SPDX-License-Identifier: Apache-2.0
// What blocks cost and bring: barriers, their size, clusters of them.
#include <optional>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

/// The cycles of a round, which is one meeting, in the smallest and the largest blocks at most warps.
void add_rounds(const View& v, Sentences& clauses) {
  RowIndices sync = v.of_form("sync");
  if (sync.empty()) return;
  const double warps = v.number(v.most(sync, "warps_per_sm"), "warps_per_sm");
  sync = v.only(sync, [&](std::size_t p) { return v.number(p, "warps_per_sm") == warps; });
  const auto first = std::ranges::min(sync, {}, [&](std::size_t p) { return v.text(p, "variant"); });
  sync = v.only(sync, [&](std::size_t p) { return v.text(p, "variant") == v.text(first, "variant"); });
  // A round is one meeting.
  const auto cycles_per_round = [&](std::size_t p) {
    return cycles_by_events(v, p) /
           operations_each(v, p, v.number(p, "grid_size") * v.number(p, "block_size") / 32);
  };
  const std::size_t low = v.least(sync, "block_size");
  const std::size_t high = v.most(sync, "block_size");
  clauses.push_back(
      text("with %.0f warps per SM a round of `", v.number(high, "warps_per_sm")) + v.text(high, "variant") +
      text("` takes %.0f cycles in blocks of ", cycles_per_round(low)) +
      format_number(v.number(low, "block_size")) + text(", %.0f in blocks of ", cycles_per_round(high)) +
      format_number(v.number(high, "block_size")));
}

/// What the code of a barrier whose id is known only at run time costs where as many blocks are resident.
void add_equal_residency(const View& v, const RowIndices& fixed, const RowIndices& named,
                         Sentences& clauses) {
  for (const std::size_t p : fixed)
    for (const std::size_t q : named)
      if (v.number(p, "block_size") == v.number(q, "block_size") &&
          v.number(p, "blocks_per_sm") == v.number(q, "blocks_per_sm")) {
        const double loss = 1 - v.rows.rate(q) / v.rows.rate(p);
        const std::string cost = std::abs(loss) < case_precision ? "costs nothing"
                                 : loss > 0                      ? text("costs %.1f %%", 100 * loss)
                                                                 : text("gains %.1f %%", -100 * loss);
        clauses.push_back(text("at equal residency, %.0f blocks of %.0f, the code of such a barrier alone ",
                               v.number(p, "blocks_per_sm"), v.number(p, "block_size")) +
                          cost);
        return;
      }
}

}  // namespace

Sentences barriers(const View& v) {
  Sentences clauses;
  const auto baseline_cycles =
      baseline_values(v.rows, v.places, [&](std::size_t p) { return cycles_by_events(v, p); });
  std::optional<std::pair<double, std::size_t>> worst;
  for (std::size_t i = 0; i < v.places.size(); ++i) {
    const std::size_t p = v.places[i];
    const double ratio = cycles_by_events(v, p) / baseline_cycles[i];
    if (v.text(p, "form") == "exchange-uneven" && !std::isnan(ratio) && (!worst || ratio > worst->first))
      worst = {ratio, p};
  }
  if (worst)
    clauses.emplace_back(
        text("barriers add up to %.0f %% to the time of uneven work (%.0f warps per SM in blocks of ",
             100 * (worst->first - 1), v.number(worst->second, "warps_per_sm")) +
            format_number(v.number(worst->second, "block_size")) + ")",
        RowIndices{worst->second});
  const RowIndices fixed = v.of_form("exchange");
  const RowIndices named = v.of_form("named-runtime");
  const auto sizes = v.by(fixed, "block_size");
  for (const auto& [size, some] : sizes) {
    const auto others = v.by(named, "block_size");
    const auto same = others.find(size);
    if (same == others.end()) continue;
    const std::size_t before = v.most(some, "blocks_per_sm");
    const std::size_t after = v.most(same->second, "blocks_per_sm");
    // An SM that has no limit on named barriers loses no block; add_equal_residency() says what is left.
    if (v.number(after, "blocks_per_sm") >= v.number(before, "blocks_per_sm")) continue;
    clauses.push_back(
        text("a barrier id known only at run time takes resident blocks of %.0f threads from %.0f to "
             "%.0f per SM: %.1f x slower",
             size, v.number(before, "blocks_per_sm"), v.number(after, "blocks_per_sm"),
             v.rows.rate(before) / v.rows.rate(after)));
    break;
  }
  add_rounds(v, clauses);
  add_equal_residency(v, fixed, named, clauses);
  return clauses;
}

Sentences block_size_pick(const View& v) {
  std::map<std::pair<std::string, std::string>, RowIndices> kernels;
  for (const std::size_t p : v.places) kernels[{v.text(p, "family"), v.text(p, "variant")}].push_back(p);
  std::size_t near = 0;
  std::size_t nearly = 0;
  std::size_t count = 0;
  double largest = 0;
  std::string worst;
  RowIndices of_each;
  RowIndices of_worst;
  for (const auto& [name, line] : kernels) {
    const RowIndices picked = View::only(
        line, [&](std::size_t p) { return v.number(p, "block_size") == v.number(p, "block_size_api"); });
    if (picked.empty()) continue;
    const std::size_t pick = v.most(picked);
    const std::size_t best = v.most(line);
    const double loss = 1 - v.number(pick, "throughput") / v.number(best, "throughput");
    ++count;
    of_each.push_back(pick);
    near += loss <= 0.01 ? 1 : 0;
    nearly += loss <= 0.05 ? 1 : 0;
    if (worst.empty() || loss > largest) {
      largest = loss;
      of_worst = {pick};
      worst = text("it loses most, %.1f %%, in ", 100 * loss) + name.first + " `" + name.second +
              "`: it picks " + format_number(v.number(pick, "block_size")) + " threads where " +
              format_number(v.number(best, "block_size")) + " are best";
    }
  }
  if (count == 0) return {};
  Sentences clauses{
      {text("the occupancy API's block size is within 5 %% of the best for %zu of %zu kernels, within "
            "1 %% for %zu",
            nearly, count, near),
       of_each}};
  if (largest > 0.01) clauses.emplace_back(worst, of_worst);
  return clauses;
}

Sentences clusters(const View& v) {
  Sentences clauses;
  const RowIndices lone = v.only([&](std::size_t p) { return v.number(p, "blocks_per_sm") == 1; });
  const RowIndices several = v.only(lone, [&](std::size_t p) { return v.number(p, "cluster_size") > 1; });
  const auto of_form = [&](const RowIndices& some, std::string_view form) {
    return v.only(some, [&](std::size_t p) { return v.text(p, "form") == form; });
  };
  const RowIndices own = of_form(lone, "smem-read");
  const RowIndices far = of_form(several, "dsmem-read");
  if (!own.empty() && !far.empty()) {
    const std::size_t mine = v.most(own);
    const std::size_t near = v.least(far, "cluster_size");
    clauses.emplace_back(
        text("reads of distributed shared memory reach %.0f %% of the rate of a block's own: ",
             100 * v.rows.rate(near) / v.rows.rate(mine)) +
            v.speed(near, false) + " of " + v.speed(mine) +
            text(" in clusters of %.0f", v.number(near, "cluster_size")),
        RowIndices{near, mine});
  }
  const RowIndices idle = v.only(several, [&](std::size_t p) { return v.number(p, "idle_sms") > 0; });
  if (idle.empty()) {
    clauses.emplace_back("no SM is idle at any cluster size");
  } else {
    const std::size_t row = v.most(idle, "idle_sms");
    const double size = v.number(row, "cluster_size");
    std::string words =
        text("clusters of %.0f leave ", size) + count_with_noun(v.number(row, "idle_sms"), "SM") + " idle";
    std::map<double, double> fma;
    for (const std::size_t p : v.places)
      if (v.rows.unit(p) == "TFLOP/s" && !std::isnan(v.number(p, "cluster_size"))) {
        double& best = fma[v.number(p, "cluster_size")];
        best = std::max(best, v.rows.rate(p));
      }
    if (fma.contains(1) && fma.contains(size))
      words += "; an FMA chain then " + loss_or_gain(fma[size], fma[1], false);
    clauses.push_back(words);
  }
  const RowIndices chase = of_form(several, "dsmem-latency");
  if (!chase.empty()) {
    const auto per_load = [&](std::string_view column) {
      return ends_of(chase, [&](std::size_t p) {
        return v.number(p, column) / operations_each(v, p, v.number(p, "grid_size"));
      });
    };
    const auto [low, high] = per_load("own_cycles_per_iteration");
    const auto [least, most] = per_load("cycles_per_iteration");
    clauses.push_back("a dependent load of a neighbour's shared memory takes " + span(low, high) +
                      " cycles in the mean of the SMs, " + span(least, most) + " in the slowest");
  }
  return clauses;
}

}  // namespace occbench::findings
