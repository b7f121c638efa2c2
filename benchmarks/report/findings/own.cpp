// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/own.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/phrases.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
using Sentences = std::vector<OwnClause>;

/// The rows of one experiment, and what its own clauses ask of them again and again.
struct View {
  const Rows& rows;
  const Places& places;
  const nlohmann::json& environment;

  [[nodiscard]] double number(std::size_t row, std::string_view column) const {
    return rows.number(row, column);
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::string_view column) const {
    return rows.text(row, column);
  }
  [[nodiscard]] std::string speed(std::size_t row, bool has_unit = true) const {
    return findings::speed(rows.rate(row), has_unit ? rows.unit(row) : "");
  }
  [[nodiscard]] std::string what(std::size_t row) const { return subject(rows, row); }

  template <typename Keep>
  [[nodiscard]] static Places only(const Places& some, Keep keep) {
    Places kept;
    std::ranges::copy_if(some, std::back_inserter(kept), keep);
    return kept;
  }
  template <typename Keep>
  [[nodiscard]] Places only(Keep keep) const {
    return only(places, keep);
  }
  [[nodiscard]] Places of_form(std::string_view form) const {
    return only([&](std::size_t p) { return text(p, "form") == form; });
  }
  /// The first row of the largest number in a column, of those that have one; `some` is not empty.
  [[nodiscard]] std::size_t most(const Places& some, std::string_view column = "throughput") const {
    return extreme(some, column, std::greater{});
  }
  [[nodiscard]] std::size_t least(const Places& some, std::string_view column) const {
    return extreme(some, column, std::less{});
  }
  template <typename Better>
  [[nodiscard]] std::size_t extreme(const Places& some, std::string_view column, Better better) const {
    std::size_t found = some.front();
    for (const std::size_t p : some)
      if (!std::isnan(number(p, column)) &&
          (std::isnan(number(found, column)) || better(number(p, column), number(found, column))))
        found = p;
    return found;
  }
  /// The first row at so many warps of each of 1 and 16 lanes that branch away.
  [[nodiscard]] Places split_lanes(double warps) const {
    Places found;
    for (const double lanes : {1.0, 16.0})
      for (const std::size_t p : of_form("split-lane"))
        if (number(p, "lanes_apart") == lanes && number(p, "warps_per_sm") == warps) {
          found.push_back(p);
          break;
        }
    return found;
  }
  [[nodiscard]] std::map<double, Places> by(const Places& some, std::string_view column) const {
    std::map<double, Places> groups;
    for (const std::size_t p : some)
      if (!std::isnan(number(p, column))) groups[number(p, column)].push_back(p);
    return groups;
  }
};

double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  if (values.empty()) return nothing;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <typename Value>
std::pair<double, double> ends_of(const Places& places, Value value) {
  std::pair ends{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const std::size_t p : places) ends = {std::min(ends.first, value(p)), std::max(ends.second, value(p))};
  return ends;
}

/// Operations of one thread or chain in one loop iteration: what a launch does, over who does it.
double operations_each(const View& v, std::size_t row, double workers) {
  return v.number(row, "operations_per_launch") / workers / v.number(row, "iterations");
}

double cycles_by_events(const View& v, std::size_t row) { return v.number(row, "cycles_per_iteration"); }

/// The cycles of a round, which is one meeting, in the smallest and the largest blocks at most warps.
void add_rounds(const View& v, Sentences& clauses) {
  Places sync = v.of_form("sync");
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
      grouped_number(v.number(low, "block_size")) + text(", %.0f in blocks of ", cycles_per_round(high)) +
      grouped_number(v.number(high, "block_size")));
}

/// What the code of a barrier whose id is known only at run time costs where as many blocks are resident.
void add_equal_residency(const View& v, const Places& fixed, const Places& named, Sentences& clauses) {
  for (const std::size_t p : fixed)
    for (const std::size_t q : named)
      if (v.number(p, "block_size") == v.number(q, "block_size") &&
          v.number(p, "blocks_per_sm") == v.number(q, "blocks_per_sm")) {
        const double loss = 1 - v.rows.rate(q) / v.rows.rate(p);
        const std::string cost = std::abs(loss) < no_change ? "costs nothing"
                                 : loss > 0                 ? text("costs %.1f %%", 100 * loss)
                                                            : text("gains %.1f %%", -100 * loss);
        clauses.push_back(text("at equal residency, %.0f blocks of %.0f, the code of such a barrier alone ",
                               v.number(p, "blocks_per_sm"), v.number(p, "block_size")) +
                          cost);
        return;
      }
}

Sentences barriers(const View& v) {
  Sentences clauses;
  const auto alone = of_baseline(v.rows, v.places, [&](std::size_t p) { return cycles_by_events(v, p); });
  std::optional<std::pair<double, std::size_t>> worst;
  for (std::size_t i = 0; i < v.places.size(); ++i) {
    const std::size_t p = v.places[i];
    const double ratio = cycles_by_events(v, p) / alone[i];
    if (v.text(p, "form") == "exchange-uneven" && !std::isnan(ratio) && (!worst || ratio > worst->first))
      worst = {ratio, p};
  }
  if (worst)
    clauses.emplace_back(
        text("barriers add up to %.0f %% to the time of uneven work (%.0f warps per SM in blocks of ",
             100 * (worst->first - 1), v.number(worst->second, "warps_per_sm")) +
            grouped_number(v.number(worst->second, "block_size")) + ")",
        Places{worst->second});
  const Places fixed = v.of_form("exchange");
  const Places named = v.of_form("named-runtime");
  const auto sizes = v.by(fixed, "block_size");
  for (const auto& [size, some] : sizes) {
    const auto others = v.by(named, "block_size");
    const auto same = others.find(size);
    if (same == others.end()) continue;
    const std::size_t before = v.most(some, "blocks_per_sm");
    const std::size_t after = v.most(same->second, "blocks_per_sm");
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
  std::map<std::pair<std::string, std::string>, Places> kernels;
  for (const std::size_t p : v.places) kernels[{v.text(p, "family"), v.text(p, "variant")}].push_back(p);
  std::size_t near = 0;
  std::size_t nearly = 0;
  std::size_t count = 0;
  double largest = 0;
  std::string worst;
  Places of_each;
  Places of_worst;
  for (const auto& [name, line] : kernels) {
    const Places picked = View::only(
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
              "`: it picks " + grouped_number(v.number(pick, "block_size")) + " threads where " +
              grouped_number(v.number(best, "block_size")) + " are best";
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
  const Places lone = v.only([&](std::size_t p) { return v.number(p, "blocks_per_sm") == 1; });
  const Places several = v.only(lone, [&](std::size_t p) { return v.number(p, "cluster_size") > 1; });
  const auto of_form = [&](const Places& some, std::string_view form) {
    return v.only(some, [&](std::size_t p) { return v.text(p, "form") == form; });
  };
  const Places own = of_form(lone, "smem-read");
  const Places far = of_form(several, "dsmem-read");
  if (!own.empty() && !far.empty()) {
    const std::size_t mine = v.most(own);
    const std::size_t near = v.least(far, "cluster_size");
    clauses.emplace_back(
        text("reads of a neighbour block's shared memory reach %.0f %% of the rate of a block's own: ",
             100 * v.rows.rate(near) / v.rows.rate(mine)) +
            v.speed(near, false) + " of " + v.speed(mine) +
            text(" in clusters of %.0f", v.number(near, "cluster_size")),
        Places{near, mine});
  }
  const Places idle = v.only(several, [&](std::size_t p) { return v.number(p, "idle_sms") > 0; });
  if (idle.empty()) {
    clauses.emplace_back("no SM is idle at any cluster size");
  } else {
    const std::size_t row = v.most(idle, "idle_sms");
    const double size = v.number(row, "cluster_size");
    std::string words =
        text("clusters of %.0f leave ", size) + many(v.number(row, "idle_sms"), "SM") + " idle";
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
  const Places chase = of_form(several, "dsmem-latency");
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

Sentences divergence(const View& v) {
  Sentences clauses;
  const auto alone = of_baseline(v.rows, v.places, [&](std::size_t p) { return cycles_by_events(v, p); });
  std::map<double, double> one;
  std::map<double, double> half;
  for (std::size_t i = 0; i < v.places.size(); ++i) {
    const std::size_t p = v.places[i];
    const double ratio = cycles_by_events(v, p) / alone[i];
    if (v.text(p, "form") != "split-lane" || std::isnan(ratio)) continue;
    for (auto& [lanes, of] : {std::pair<double, std::map<double, double>&>{1, one}, {16, half}})
      if (v.number(p, "lanes_apart") == lanes) {
        double& most = of[v.number(p, "warps_per_sm")];
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
  const auto rate = of_baseline(v.rows, v.places, [&](std::size_t p) { return v.number(p, "throughput"); });
  const auto lane_flop = [&](std::size_t p) {
    return v.number(p, "flop_per_launch") / v.number(p, "grid_size") / v.number(p, "block_size") /
           v.number(p, "iterations");
  };
  const auto work = of_baseline(v.rows, v.places, lane_flop);
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

/// Energy of the launches of one run, and what may be said of it.
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
  [[nodiscard]] double busy(std::size_t p) const {
    return v.number(p, "time_median_s") * v.number(p, "power_w") / v.number(p, "energy_per_launch_j");
  }
  [[nodiscard]] double power_limit_w() const {
    if (const auto gpu = v.environment.find("gpu"); gpu != v.environment.end() && gpu->is_object())
      if (const auto w = gpu->value("power_limit_w", nlohmann::json()); w.is_number() && w.get<double>() != 0)
        return w.get<double>();
    return std::numeric_limits<double>::infinity();
  }
  /// Where the device idled between launches, its joules are not the work's. One that is less busy because it
  /// lowered its clock to keep to its power limit did not idle; it may draw a quarter less than that for a
  /// while, as an H100 did.
  [[nodiscard]] bool is_idle(std::size_t p) const {
    return busy(p) < 0.9 && v.number(p, "power_w") < 0.7 * power_limit_w();
  }

  /// Where a kernel takes least energy, with the share that it saves of the fastest's.
  [[nodiscard]] std::pair<double, OwnClause> least(const Places& line, std::size_t fast) const {
    constexpr double worth_saying = 0.05;  // so much a launch's energy moved in three runs on one H100
    std::size_t frugal = *std::ranges::max_element(line, {}, [&](std::size_t p) { return per_joule(p); });
    const double saved = 1 - per_joule(fast) / per_joule(frugal);
    const bool is_fastest = saved < worth_saying;
    if (is_fastest) frugal = fast;
    const std::string words = v.what(fast) + " take least energy with " +
                              value_of("energy", "warps_per_sm", v.number(frugal, "warps_per_sm")) +
                              (is_fastest ? ", where they are fastest as well"
                                          : text(", %.1f %% less than with %g, where they are fastest",
                                                 100 * saved, v.number(fast, "warps_per_sm")));
    return {is_fastest ? 0 : saved, {words, Places{frugal}}};
  }
  [[nodiscard]] OwnClause rate(std::size_t fast) const {
    return {v.what(fast) + " reach " + v.speed(fast) + " in single launches, " +
                findings::speed(v.rows.rate(fast) * busy(fast), v.rows.unit(fast)) +
                text(" back to back at %.0f W (", v.number(fast, "power_w")) +
                value_of("energy", "occupancy_theoretical", v.number(fast, "occupancy_theoretical")) + ")",
            Places{fast}};
  }
};

Sentences energy(const View& v) {
  constexpr double most_of_limit =
      1.05;  // of runs from before the harness waited for the board to keep to it
  const Energy of{v};
  const Places all = v.only([&](std::size_t p) { return !std::isnan(of.per_joule(p)); });
  if (all.empty()) return {};
  Sentences clauses;
  if (const Places idle = View::only(all, [&](std::size_t p) { return of.is_idle(p); }); !idle.empty()) {
    const auto [low, high] = ends_of(idle, [&](std::size_t p) { return of.busy(p); });
    clauses.push_back(
        text("in %zu of %zu cases the device worked only %.0f to %.0f %% of the time: their joules are "
             "mostly those of idling",
             idle.size(), all.size(), 100 * low, 100 * high));
  }
  const double limit = of.power_limit_w();
  const auto above =
      View::only(all, [&](std::size_t p) { return v.number(p, "power_w") > most_of_limit * limit; });
  if (!above.empty()) {
    clauses.push_back(
        text("in %zu of %zu cases the counter says more than the board's limit of %.0f W: no energy of "
             "this run is to be trusted",
             above.size(), all.size(), limit));
    return clauses;
  }
  std::map<std::pair<std::string, std::string>, Places> kernels;
  for (const std::size_t p : all)
    if (!of.is_idle(p)) kernels[{v.text(p, "family"), v.text(p, "variant")}].push_back(p);
  std::vector<std::pair<double, OwnClause>> least;
  Sentences rates;
  for (const auto& [_, line] : kernels) {
    const std::size_t fast = v.most(line);
    if (values_of(v.rows, line, "warps_per_sm") >= least_points) least.push_back(of.least(line, fast));
    rates.push_back(of.rate(fast));
  }
  std::ranges::sort(least, {}, [](const auto& each) { return std::pair(-each.first, each.second.words); });
  for (auto& [_, clause] : least) clauses.push_back(std::move(clause));
  clauses.insert(clauses.end(), rates.begin(), rates.end());
  return clauses;
}

/// The x at which y first comes to `level`, on straight lines from the origin and between points.
template <typename Value>
double reached(const View& v, Places line, std::string_view x, Value y, double level) {
  std::ranges::stable_sort(line, {}, [&](std::size_t p) { return v.number(p, x); });
  double last_x = 0;
  double last_y = 0;
  for (const std::size_t p : line) {
    if (y(p) >= level) return last_x + (level - last_y) / (y(p) - last_y) * (v.number(p, x) - last_x);
    last_x = v.number(p, x);
    last_y = y(p);
  }
  return nothing;
}

/// Of one number of loads in flight: warps that reach one share of the roof, by the FMAs on each load.
struct Need {
  double fmas;
  double warps;
};

std::string of_loads_in_flight(double ilp, double share, const std::vector<Need>& needs,
                               const nlohmann::json& environment) {
  const std::string loads = many(ilp, "load") + " in flight";
  if (needs.size() < least_points)
    return "with " + loads + text(", %zu numbers of FMAs per load are too few to see a cusp", needs.size()) +
           what_has_more(environment);
  const Need& first = needs.front();
  const Need& last = needs.back();
  const Need& peak = *std::ranges::max_element(needs, {}, &Need::warps);
  double inner = 0;
  for (std::size_t i = 1; i + 1 < needs.size(); ++i) inner = std::max(inner, needs[i].warps);
  if (needs.size() > 2 && inner > std::max(first.warps, last.warps))
    return text(
               "kernels of %g FMAs per load need most warps: %.0f for %g %% of the roof; %.0f with %g FMAs, "
               "%.0f "
               "with %g (",
               peak.fmas, peak.warps, share, first.warps, first.fmas, last.warps, last.fmas) +
           loads + ")";
  return "no cusp with " + loads + text(": %g %% of the roof takes ", share) +
         many(std::round(first.warps), "warp") + " at " + many(first.fmas, "FMA") +
         text(" per load, %.0f at %g", last.warps, last.fmas);
}

Sentences intensity(const View& v) {
  constexpr double far_from_balance = 64;  // FMAs per 4-byte load from which on a kernel computes on any GPU
  Sentences clauses;
  const auto roof = [&](std::size_t p) { return v.number(p, "percent_of_ceiling"); };
  const auto known = v.only([&](std::size_t p) { return !std::isnan(roof(p)); });
  for (const auto& [ilp, part] : v.by(known, "ilp")) {
    std::vector<std::pair<double, Places>> lines;
    double share = 100;
    for (const auto& [fmas, line] : v.by(part, "fma_per_load"))
      if (values_of(v.rows, line, "warps_per_sm") >= least_points) {
        lines.emplace_back(fmas, line);
        share = std::min(share, roof(v.most(line, "percent_of_ceiling")));
      }
    share = std::floor(share / 5) * 5;  // that all of them come to
    if (lines.empty() || share <= 0) continue;
    std::vector<Need> needs;
    for (const auto& [fmas, line] : lines)
      needs.push_back({fmas, reached(v, line, "warps_per_sm", roof, share)});
    Places named;
    for (const auto& [fmas, line] : lines) named.push_back(line.front());
    clauses.insert(clauses.begin(), {of_loads_in_flight(ilp, share, needs, v.environment), named});
  }
  const auto by_ilp = v.by(v.places, "ilp");
  if (by_ilp.empty()) return clauses;
  const Places most = v.only(by_ilp.rbegin()->second,
                             [&](std::size_t p) { return v.number(p, "fma_per_load") >= far_from_balance; });
  const auto by_fmas = v.by(most, "fma_per_load");
  if (by_fmas.empty()) return clauses;
  const auto& [fmas, line] = *by_fmas.rbegin();
  if (values_of(v.rows, line, "warps_per_sm") < least_points) return clauses;
  const auto rate = [&](std::size_t p) { return v.number(p, "throughput"); };
  const double full = ends_of(line, [&](std::size_t p) {
                        return v.number(p, "warps_per_sm") / v.number(p, "occupancy_theoretical");
                      }).second;
  const double flat = reached(v, line, "warps_per_sm", rate, 0.95 * rate(v.most(line)));
  clauses.push_back(
      text("with %g FMAs per load %.0f warps (%.0f %% occupancy) reach 95 %% of the best, %s the course "
           "says (25-50 %%)",
           fmas, flat, 100 * flat / full, flat <= full / 2 ? "as" : "later than"));
  return clauses;
}

Sentences pointer_chase(const View& v) {
  Sentences clauses;
  const auto cycles = [&](std::size_t p) { return v.rows.cycles(p); };
  const auto median_of = [&](const Places& some, const std::function<double(std::size_t)>& value) {
    std::vector<double> values;
    for (const std::size_t p : some) values.push_back(value(p));
    return median(values);
  };
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> levels{
      {{"l1", "L1"}, {"l2", "L2"}, {"dram", "DRAM"}}};
  std::map<std::string_view, double> idle;
  std::string said;
  Places named;
  for (const auto& [variant, level] : levels) {
    const Places chain = v.only([&](std::size_t p) { return v.text(p, "variant") == variant; });
    const double count = median_of(chain, [&](std::size_t p) { return cycles_by_events(v, p); });
    if (!(count > 0)) continue;
    named.push_back(chain.front());
    idle[variant] = count;
    said += text(said.empty() ? "%.0f cycles from " : ", %.0f from ", count) + std::string(level);
  }
  if (!idle.empty()) clauses.emplace_back("a dependent load takes " + said, named);
  if (const Places loaded = v.of_form("loaded"); !loaded.empty() && idle.contains("dram")) {
    const std::size_t top = v.most(loaded);
    clauses.push_back("under " + v.speed(top) + " of other reads a load takes " +
                      grouped_number(std::round(cycles(top))) +
                      text(" cycles, %.1f x an idle DRAM's", cycles(top) / idle["dram"]));
  }
  std::vector<double> lines;
  for (const std::size_t p : v.of_form("l2-line"))
    if (!std::isnan(cycles(p))) lines.push_back(cycles(p));
  if (lines.size() >= 8) {
    std::ranges::sort(lines);
    double gap = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) gap = std::max(gap, lines[i] - lines[i - 1]);
    clauses.push_back(
        text("%zu lines of the L2 take ", lines.size()) + span(lines.front(), lines.back()) + " cycles: " +
        (gap > (lines.back() - lines.front()) / 2 ? "two groups, near and far" : "no two groups") +
        text(" (widest gap %.0f)", gap));
  }
  std::string apart;
  for (const auto& [variant, level] : levels) {
    const double timed = median_of(
        v.only(v.of_form("timed"), [&](std::size_t p) { return v.text(p, "baseline") == variant; }), cycles);
    if (idle.contains(variant) && !std::isnan(timed))
      apart += (apart.empty() ? "" : ", ") + text("%+.1f %% in ", 100 * (timed / idle[variant] - 1)) +
               std::string(level);
  }
  if (!apart.empty()) clauses.push_back("the clock around single loads differs from events by " + apart);
  return clauses;
}

Sentences registers(const View& v) {
  const Places capped = v.only([&](std::size_t p) {
    return v.text(p, "register_route") == "maxnreg" && v.number(p, "block_size") == 512;
  });
  std::map<std::string, Places> curves;
  for (const std::size_t p : capped) curves[v.text(p, "curve")].push_back(p);
  std::vector<std::pair<double, std::string>> said;
  Places named;
  std::optional<std::pair<double, double>> ends;
  for (const auto& [_, line] : curves) {
    const auto side = [&](double count) {
      return v.only(line, [&](std::size_t p) { return v.number(p, "registers_per_thread") == count; });
    };
    const Places low = side(31);
    const Places high = side(33);
    if (low.empty() || high.empty()) continue;
    const std::size_t before = v.most(low);
    const std::size_t after = v.most(high);
    const double ratio = v.rows.rate(after) / v.rows.rate(before);
    const std::string what = v.what(before);
    said.emplace_back(ratio, what + " " + loss_or_gain(ratio, 1, !what.starts_with('`')));
    named.push_back(before);
    ends = {v.number(before, "occupancy_theoretical"), v.number(after, "occupancy_theoretical")};
  }
  if (!ends) return {};
  std::ranges::sort(said);
  std::vector<std::string> words;
  for (const auto& [_, each] : said) words.push_back(each);
  return {{"from 31 to 33 registers " + listed(words) +
               " (blocks of 512: " + amount("occupancy_theoretical", ends->first) + " to " +
               value_of("registers", "occupancy_theoretical", ends->second) + ")",
           named}};
}

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

Sentences same_occupancy(const View& v) {
  const double usual = usual_block_size(v);
  const auto route = [&](std::size_t p) -> std::string {
    if (is_ballast(v, p)) return "shared memory";
    return v.number(p, "block_size") != usual ? "block size" : "registers";
  };
  // A kernel that reuses a working set is one for all blocks whose warps reuse as much each.
  const auto kernel = [&](std::size_t p) -> std::string {
    const double per_warp = v.number(p, "working_set_bytes") / 1024 / (v.number(p, "block_size") / 32);
    return std::isnan(per_warp) ? v.what(p) : text("cached reads of %g KiB per warp", per_warp);
  };
  std::map<std::string, Places> kernels;
  for (const std::size_t p : v.places) kernels[kernel(p)].push_back(p);
  struct Price {
    double loss;
    std::string kernel;
    std::string route;
    std::size_t row;
  };
  std::vector<Price> prices;
  Sentences worth;
  for (const auto& [name, part] : kernels) {
    std::map<std::pair<double, double>, std::map<std::string, double>> arms;  // by occupancy and carve-out
    std::map<std::pair<double, std::string>, std::map<double, double>> by_l1;
    std::set<double> carveouts;
    for (const std::size_t p : part) {
      const double occupancy = v.number(p, "occupancy_theoretical");
      const double carveout = v.number(p, "carveout_percent");
      double& best = arms[{occupancy, carveout}][route(p)];
      best = std::max(best, v.number(p, "throughput"));
      by_l1[{occupancy, route(p)}][carveout] = best;
      carveouts.insert(carveout);
    }
    std::optional<Price> worst;
    for (const auto& [_, routes] : arms) {
      if (routes.size() < 2) continue;
      double top = 0;
      for (const auto& [_r, rate] : routes) top = std::max(top, rate);
      for (const auto& [way, rate] : routes)
        if (!worst || 1 - rate / top > worst->loss) worst = {1 - rate / top, name, way, part.front()};
    }
    if (worst) prices.push_back(*worst);
    std::pair gain{std::numeric_limits<double>::infinity(), 0.0};
    double largest = 0;
    if (carveouts.size() > 1)
      for (const auto& [_, by] : by_l1)
        if (by.contains(*carveouts.begin()) && by.contains(*carveouts.rbegin())) {
          const double ratio = by.at(*carveouts.begin()) / by.at(*carveouts.rbegin());
          gain = {std::min(gain.first, ratio), std::max(gain.second, ratio)};
          largest = std::max(largest, std::abs(ratio - 1));
        }
    if (largest >= no_change)
      worth.push_back(text("a larger L1 is worth %.2f to %.2f x for ", gain.first, gain.second) + name);
  }
  Sentences clauses;
  if (!prices.empty()) {
    std::ranges::stable_sort(prices, {}, &Price::loss);
    const bool is_one =
        std::ranges::all_of(prices, [&](const Price& p) { return p.route == prices[0].route; });
    std::vector<std::string> words;
    Places named;
    for (const Price& price : prices) {
      words.push_back(price.kernel + text(" %.1f %%", 100 * price.loss) +
                      (is_one ? "" : " (by " + price.route + ")"));
      named.push_back(price.row);
    }
    clauses.emplace_back("at the same occupancy and L1 size, getting there " +
                             (is_one ? "by " + prices[0].route : std::string("by the worst route")) +
                             " costs " + listed(words),
                         named);
  }
  clauses.insert(clauses.end(), worth.begin(), worth.end());
  return clauses;
}

Sentences shared_latency(const View& v) {
  Sentences clauses;
  const Places reads = v.of_form("read");
  if (!reads.empty()) {
    const double lanes = v.number(v.most(reads, "bank_conflict"), "bank_conflict");
    if (lanes > 1) {
      const std::size_t best =
          v.most(v.only(reads, [&](std::size_t p) { return v.number(p, "bank_conflict") == lanes; }));
      clauses.emplace_back(
          text("%g lanes on one bank leave %.1f %% of the shared-memory bandwidth; 1/%g is %.1f %%", lanes,
               v.number(best, "percent_of_ceiling"), lanes, 100 / lanes),
          Places{best});
    }
  }
  const auto median_of = [&](std::string_view form) {
    std::vector<double> values;
    for (const std::size_t p : v.of_form(form)) values.push_back(v.rows.cycles(p));
    return median(values);
  };
  const double chain = median_of("chain");
  const double timed = median_of("timed");
  if (chain > 0)
    clauses.push_back(text("a load takes %.1f cycles by events", chain) +
                      (timed > 0 ? text(", %.1f by the clock around single ones", timed) : ""));
  return clauses;
}

/// What a wave of short blocks adds to its work.
struct Turnover {
  double blocks_per_sm;
  double block_us;
  double cycles;
  double low;  ///< the ends of the 95 % interval: those of the two medians, in quadrature
  double high;
  [[nodiscard]] bool is_sure() const { return (high - low) / 2 < std::max(std::abs(cycles) / 2, 100.0); }
};

/// The time of w waves of short blocks less that of one wave that makes as many iterations, over w - 1. Where
/// rounding let them make a few more or less, those are taken off at the long blocks' time each.
std::vector<Turnover> turnovers(const View& v) {
  const Places rows = v.only([&](std::size_t p) { return std::isnan(v.number(p, "asked_grid_size")); });
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
std::vector<double> teeth(const View& v, const Places& grids) {
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

Sentences waves(const View& v) {
  Sentences clauses;
  const Places grids = v.only([&](std::size_t p) { return !std::isnan(v.number(p, "asked_grid_size")); });
  for (const auto& [blocks, part] : v.by(grids, "blocks_per_sm")) {
    double one = nothing;  // a wave's time
    for (const std::size_t p : part)
      if (v.number(p, "waves") == 1 && std::isnan(one)) one = v.number(p, "time_median_s");
    if (std::isnan(one)) continue;
    if (blocks == 1) {
      const auto off = [&](std::size_t p) {
        return std::abs(v.number(p, "time_median_s") / (std::ceil(v.number(p, "waves")) * one) - 1);
      };
      const std::size_t worst = *std::ranges::max_element(part, {}, off);
      clauses.emplace_back(
          text("with 1 block per SM a partial wave takes as long as a whole one, to within %.1f %% (%.2f "
               "waves)",
               100 * off(worst), v.number(worst, "waves")),
          Places{worst});
    } else if (const auto found = teeth(v, part); !found.empty()) {
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
        text(" %.0f cycles at ", t.cycles) + many(blocks, "block") +
        text(" per SM of %g us (95 %% interval %.0f to %.0f)", t.block_us, t.low, t.high));
  return clauses;
}

struct Own {
  std::string_view experiment;
  Sentences (*clauses)(const View&);
};
constexpr std::array<Own, 11> experiments_of_their_own{{{"barriers", barriers},
                                                        {"block_size_pick", block_size_pick},
                                                        {"clusters", clusters},
                                                        {"divergence", divergence},
                                                        {"energy", energy},
                                                        {"intensity", intensity},
                                                        {"pointer_chase", pointer_chase},
                                                        {"registers", registers},
                                                        {"same_occupancy", same_occupancy},
                                                        {"shared_latency", shared_latency},
                                                        {"waves", waves}}};

}  // namespace

std::vector<OwnClause> own_clauses(const Rows& rows, const Places& places, const std::string& experiment,
                                   const nlohmann::json& environment) {
  const auto* const own = std::ranges::find(experiments_of_their_own, experiment, &Own::experiment);
  if (own == experiments_of_their_own.end()) return {};
  return own->clauses({rows, places, environment});
}

std::vector<double> of_baseline(const Rows& rows, const Places& places,
                                const std::function<double(std::size_t)>& value) {
  using Key = std::tuple<std::string, std::string, double>;
  std::map<Key, double> least;
  for (const std::size_t p : places) {
    const double it = value(p);
    if (std::isnan(it)) continue;
    const auto [at, is_new] = least.emplace(
        Key{rows.text(p, "family"), rows.text(p, "variant"), rows.number(p, "warps_per_sm")}, it);
    if (!is_new) at->second = std::min(at->second, it);
  }
  std::vector<double> found;
  for (const std::size_t p : places) {
    const auto at =
        least.find({rows.text(p, "family"), rows.text(p, "baseline"), rows.number(p, "warps_per_sm")});
    found.push_back(at == least.end() || rows.text(p, "baseline").empty() ? nothing : at->second);
  }
  return found;
}

std::string what_has_more(const nlohmann::json& environment) {
  return environment.value("preset", nlohmann::json()) == nlohmann::json("quick")
             ? " (preset standard has them)"
             : "";
}

}  // namespace occbench::findings
