// SPDX-License-Identifier: Apache-2.0
// What one experiment's rows say, by its description and the columns alone: a function per finding.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/cliffs.hpp"
#include "benchmarks/report/findings/findings.hpp"
#include "benchmarks/report/findings/own.hpp"
#include "benchmarks/report/findings/phrases.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

constexpr double least_loss = 0.03;  // that more warps or a cap may cost unmentioned; also of the SM clock
constexpr std::size_t most_of_a_kind = 3;
constexpr double infinite = std::numeric_limits<double>::infinity();

using Clauses = std::vector<Finding>;

inline std::string without_end(std::string words, std::string_view end) {
  if (words.ends_with(end)) words.resize(words.size() - end.size());
  return words;
}

inline bool is_plural(const std::string& name) { return !name.starts_with('`'); }
inline std::string verb(const std::string& name, const std::string& plural) {
  if (is_plural(name)) return plural;
  return plural == "are" ? "is" : plural + (plural.ends_with("ch") ? "es" : "s");
}

/// The ends of a rate's 95 % interval; a point where no interval was measured.
inline Interval interval_of(const Rows& rows, std::size_t row) {
  const double rate = rows.number(row, "throughput");
  const double median = rows.number(row, "time_median_s");
  const double low = rows.number(row, "time_ci95_low_s");
  const double high = rows.number(row, "time_ci95_high_s");
  if (!(low > 0) || !(high > 0) || !(median > 0)) return {rate, rate};
  return {rate * median / high, rate * median / low};
}

class Analyst {
 public:
  Analyst(const Rows& rows, Places places, Description description, const nlohmann::json& environment)
      : rows_(rows), places_(std::move(places)), it_(std::move(description)), environment_(environment) {
    for (Line& line : lines_of(rows_, places_, it_)) {
      longest_ = std::max(longest_, line.places.size());
      (values_of(rows_, line.places, it_.dial) >= least_points ? curves_ : short_).push_back(std::move(line));
    }
    names_.emplace(rows_, it_.name, curves_, it_.dial);
  }

  /// Of its longest line: how many values of the dial.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  /// What needs no curve.
  [[nodiscard]] Clauses without_curves() const {
    Clauses found = textbook();
    append(found, model_misses());
    return found;
  }

  [[nodiscard]] ExperimentFindings findings() const {
    Clauses always = clock();
    append(always, api_pick());
    append(always, without_curves());
    ExperimentFindings said{.experiment = it_.name, .effect = 0};
    if (it_.scale == "cycles") {
      said.findings = latencies();
      append(said.findings, always);
      return said;
    }
    const Clauses near = enough();
    const Clauses best = fastest();
    Clauses of_caps = register_caps();
    Clauses effects = other_dials();
    for (const Clauses& more : {of_caps, baselines(), cliffs(), ranges(), costs_of_more_warps()})
      effects.insert(effects.end(), more.begin(), more.end());
    by_effect(effects);
    by_effect(of_caps);
    for (const Finding& effect : effects) said.effect = std::max(said.effect, effect.effect);
    if (it_.compares_kernels) {
      for (const Clauses& some : {of_caps, effects, losses(), near, best}) append(said.findings, some);
    } else if (it_.scale == "best") {
      for (const Clauses& some : {losses(), effects, near, best}) append(said.findings, some);
    } else {
      Clauses costly;  // where more warps lose over half, that is the news
      std::ranges::copy_if(effects, std::back_inserter(costly), [](const Finding& effect) {
        return effect.kind == Kind::costs_more_warps && effect.effect > std::log(2.0);
      });
      const Clauses& first = it_.dial == "registers_per_thread" && !of_caps.empty() ? of_caps
                             : !costly.empty()                                      ? costly
                             : near.empty()                                         ? effects
                                                                                    : near;
      append(said.findings, first, 1);
      append(said.findings, best, 1);
      for (const Clauses& some : {effects, near, best}) append(said.findings, some);
    }
    append(said.findings, always);
    return said;
  }

 private:
  /// The first `most` of those that are not there yet.
  static void append(Clauses& all, const Clauses& some, std::size_t most = SIZE_MAX) {
    for (const Finding& finding : std::span(some).first(std::min(most, some.size())))
      if (std::ranges::find(all, finding.words, &Finding::words) == all.end()) all.push_back(finding);
  }
  static void by_effect(Clauses& clauses) {
    std::ranges::stable_sort(clauses, std::ranges::greater{}, &Finding::effect);
  }

  [[nodiscard]] double dial(std::size_t row) const { return rows_.number(row, it_.dial); }
  [[nodiscard]] double occupancy(std::size_t row) const { return rows_.number(row, "occupancy_theoretical"); }
  [[nodiscard]] std::string at(double value) const { return value_of(it_.name, it_.dial, value); }
  [[nodiscard]] std::string amount_at(double value) const { return amount(it_.dial, value); }
  [[nodiscard]] std::string name(const Line& line) const { return names_->name(line); }
  /// Of a row, where a sentence has little room.
  [[nodiscard]] std::string short_name(std::size_t row) const {
    const std::string name = names_->name(row);
    return std::ranges::count(name, ' ') < 10 ? name : subject(rows_, row);
  }
  [[nodiscard]] std::string subject_of(const Line& line) const { return subject(rows_, line.places.front()); }

  [[nodiscard]] std::size_t fastest_of(const Places& places) const {
    return *std::ranges::max_element(places, {}, [&](std::size_t p) { return rows_.rate(p); });
  }
  [[nodiscard]] std::size_t slowest_of(const Places& places) const {
    return *std::ranges::min_element(places, {}, [&](std::size_t p) { return rows_.rate(p); });
  }
  [[nodiscard]] double top(const Line& line) const { return rows_.rate(fastest_of(line.places)); }
  [[nodiscard]] double last(const Line& line) const { return rows_.rate(line.places.back()); }
  /// True where the rate of `b` is surely lower than that of `a`.
  [[nodiscard]] bool is_beyond_noise(std::size_t a, std::size_t b) const {
    return interval_of(rows_, a).low > interval_of(rows_, b).high;
  }
  /// Of a latency there is no best to fall from.
  [[nodiscard]] bool has_ceiling(std::size_t row) const {
    const std::string& kind = rows_.text(row, "ceiling_kind");
    return !kind.empty() && kind != "none";
  }
  [[nodiscard]] bool spills_alike(std::size_t a, std::size_t b) const {
    return rows_.cell(a, "local_bytes") == rows_.cell(b, "local_bytes");
  }
  [[nodiscard]] bool is_free(const Line& line) const {
    return std::ranges::all_of(line.places,
                               [&](std::size_t p) { return rows_.text(p, "register_route") == "free"; });
  }

  using Group = std::vector<const Line*>;
  /// True of lines whose rates may be held against each other: of one family, form and unit.
  [[nodiscard]] bool is_comparable(const Line& a, const Line& b) const {
    const std::size_t p = a.places.front();
    const std::size_t q = b.places.front();
    return rows_.text(p, "family") == rows_.text(q, "family") &&
           rows_.text(p, "form") == rows_.text(q, "form") && rows_.unit(p) == rows_.unit(q);
  }
  /// Comparable lines; the fastest group first. Without those whose registers are capped, unless all are. A
  /// line of two or three points is among them where it is the fastest: a best without it would be none.
  [[nodiscard]] std::vector<Group> groups() const {
    const bool has_free = std::ranges::any_of(curves_, [&](const Line& l) { return is_free(l); });
    std::vector<Group> groups;
    for (const Line& line : curves_) {
      if (has_free && !is_free(line)) continue;
      const auto its =
          std::ranges::find_if(groups, [&](const Group& group) { return is_comparable(*group[0], line); });
      (its == groups.end() ? groups.emplace_back() : *its).push_back(&line);
    }
    for (const Line& line : short_)
      for (Group& group : groups)
        if (line.places.size() > 1 && is_comparable(*group[0], line) && (is_free(line) || !has_free) &&
            std::ranges::all_of(group, [&](const Line* l) { return near_best * top(line) > top(*l); }))
          group.push_back(&line);
    std::ranges::stable_sort(groups, std::ranges::greater{}, [&](const Group& group) {
      return std::ranges::max(group | std::views::transform([&](const Line* l) { return top(*l); }));
    });
    return groups;
  }

  /// The values of the dial at which the line has that rate: the least and the most.
  [[nodiscard]] std::pair<double, double> where_at_least(const Line& line, double level) const {
    std::pair found{infinite, -infinite};
    for (const std::size_t p : line.places)
      if (rows_.rate(p) >= level) found = {std::min(found.first, dial(p)), std::max(found.second, dial(p))};
    return found;
  }

  [[nodiscard]] std::vector<std::string> cases_of(const std::vector<const Line*>& lines) const;
  struct Reach {
    const Line* peak = nullptr;    ///< the fastest
    const Line* first = nullptr;   ///< needs least of the dial
    const Line* latest = nullptr;  ///< needs most
    const Line* low = nullptr;     ///< never comes near
    double level = 0;
    double few = infinite;
    double most = -infinite;
    bool is_same_for_all = true;
  };
  [[nodiscard]] Reach reach(const Group& group) const;
  [[nodiscard]] bool is_sooner_capped(const Reach& it) const;
  [[nodiscard]] std::string unless_capped(const Reach& it) const;
  [[nodiscard]] std::string contrast_of(const Reach& it, const Group& group) const;
  [[nodiscard]] Finding enough_of(const Reach& it, const Group& group) const;
  [[nodiscard]] Clauses enough() const;
  [[nodiscard]] std::string where_and_how(double value, std::vector<std::string> parts) const;
  [[nodiscard]] std::string in_contrast(const Line& line, const Line& other) const;
  [[nodiscard]] std::string in_contrast(const Line& line, const Line& other, const Group& group) const;
  [[nodiscard]] const Line* poorest(const Group& group, double level, double enough) const;
  [[nodiscard]] Clauses fastest() const;
  [[nodiscard]] std::size_t begin_of_worst(const Line& line) const;
  [[nodiscard]] Clauses losses() const;
  [[nodiscard]] Clauses ranges() const;
  [[nodiscard]] Clauses cliffs() const;
  [[nodiscard]] std::string who_loses_nothing(std::size_t before, std::size_t after) const;
  [[nodiscard]] Clauses costs_of_more_warps() const;
  [[nodiscard]] Clauses other_dials() const;
  struct Effect {
    double size;
    std::string words;
    std::size_t row;
  };
  [[nodiscard]] std::optional<Effect> effect_of(const Places& places, const std::string& column) const;
  [[nodiscard]] std::string held_alike(const Effect& effect, const std::string& column,
                                       const std::vector<std::string>& names, bool says_whose) const;
  [[nodiscard]] std::string in_blocks(std::size_t row, std::size_t other) const;
  [[nodiscard]] Clauses register_caps() const;
  [[nodiscard]] Clauses baselines() const;
  [[nodiscard]] Clauses latencies() const;
  [[nodiscard]] Clauses clock() const;
  [[nodiscard]] Clauses api_pick() const;
  [[nodiscard]] Clauses textbook() const;
  [[nodiscard]] Clauses model_misses() const;

  const Rows& rows_;
  Places places_;
  Description it_;
  const nlohmann::json& environment_;
  std::vector<Line> curves_;
  std::vector<Line> short_;  ///< of too few points for a curve
  std::size_t longest_ = 0;
  std::optional<Names> names_;
};

}  // namespace occbench::findings
