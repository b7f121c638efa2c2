// SPDX-License-Identifier: Apache-2.0
// Findings of one experiment's rows, by its description and the columns alone: a function each.
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

constexpr double min_loss = 0.03;  // smallest loss that is reported; also of the SM clock
constexpr std::size_t most_of_a_kind = 3;
constexpr double infinite = std::numeric_limits<double>::infinity();

using Clauses = std::vector<Finding>;

inline std::string without_suffix(std::string words, std::string_view end) {
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
  Analyst(const Rows& rows, RowIndices places, Description description, const nlohmann::json& environment)
      : rows_(rows),
        places_(std::move(places)),
        description_(std::move(description)),
        environment_(environment) {
    for (Line& line : lines_of(rows_, places_, description_)) {
      longest_ = std::max(longest_, line.places.size());
      (values_of(rows_, line.places, description_.dial) >= min_points ? curves_ : short_)
          .push_back(std::move(line));
    }
    names_.emplace(rows_, description_.name, curves_, description_.dial);
  }

  /// How many values of the dial the longest line has.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  /// Findings that need no curve.
  [[nodiscard]] Clauses without_curves() const {
    Clauses found = textbook();
    append(found, model_misses());
    return found;
  }

  [[nodiscard]] ExperimentFindings findings() const {
    Clauses always = clock();
    append(always, api_pick());
    append(always, without_curves());
    ExperimentFindings result{.experiment = description_.name, .effect = 0};
    if (description_.scale == "cycles") {
      result.findings = latencies();
      append(result.findings, always);
      return result;
    }
    const Clauses near = enough();
    const Clauses best = fastest();
    Clauses of_caps = register_caps();
    Clauses effects = other_dials();
    for (const Clauses& more : {of_caps, baselines(), cliffs(), ranges(), costs_of_more_warps()})
      effects.insert(effects.end(), more.begin(), more.end());
    by_effect(effects);
    by_effect(of_caps);
    for (const Finding& effect : effects) result.effect = std::max(result.effect, effect.effect);
    if (description_.compares_kernels) {
      for (const Clauses& some : {of_caps, effects, losses(), near, best}) append(result.findings, some);
    } else if (description_.scale == "best") {
      for (const Clauses& some : {losses(), effects, near, best}) append(result.findings, some);
    } else {
      Clauses costly;  // more warps lose over half: goes first
      std::ranges::copy_if(effects, std::back_inserter(costly), [](const Finding& effect) {
        return effect.kind == Kind::costs_more_warps && effect.effect > std::log(2.0);
      });
      const Clauses& first = description_.dial == "registers_per_thread" && !of_caps.empty() ? of_caps
                             : !costly.empty()                                               ? costly
                             : near.empty()                                                  ? effects
                                                                                             : near;
      append(result.findings, first, 1);
      append(result.findings, best, 1);
      for (const Clauses& some : {effects, near, best}) append(result.findings, some);
    }
    append(result.findings, always);
    return result;
  }

 private:
  /// The first `most` of `some`, without duplicates.
  static void append(Clauses& all, const Clauses& some, std::size_t most = SIZE_MAX) {
    for (const Finding& finding : std::span(some).first(std::min(most, some.size())))
      if (std::ranges::find(all, finding.words, &Finding::words) == all.end()) all.push_back(finding);
  }
  static void by_effect(Clauses& clauses) {
    std::ranges::stable_sort(clauses, std::ranges::greater{}, &Finding::effect);
  }

  [[nodiscard]] double dial(std::size_t row) const { return rows_.number(row, description_.dial); }
  [[nodiscard]] double occupancy(std::size_t row) const { return rows_.number(row, "occupancy_theoretical"); }
  [[nodiscard]] std::string at(double value) const {
    return value_of(description_.name, description_.dial, value);
  }
  [[nodiscard]] std::string amount_at(double value) const { return amount(description_.dial, value); }
  [[nodiscard]] std::string name(const Line& line) const { return names_->name(line); }
  /// A row's name, or its subject where that is long.
  [[nodiscard]] std::string short_name(std::size_t row) const {
    const std::string name = names_->name(row);
    return std::ranges::count(name, ' ') < 10 ? name : subject(rows_, row);
  }
  [[nodiscard]] std::string subject_of(const Line& line) const { return subject(rows_, line.places.front()); }

  [[nodiscard]] std::size_t fastest_of(const RowIndices& places) const {
    return *std::ranges::max_element(places, {}, [&](std::size_t p) { return rows_.rate(p); });
  }
  [[nodiscard]] std::size_t slowest_of(const RowIndices& places) const {
    return *std::ranges::min_element(places, {}, [&](std::size_t p) { return rows_.rate(p); });
  }
  [[nodiscard]] double top(const Line& line) const { return rows_.rate(fastest_of(line.places)); }
  [[nodiscard]] double last(const Line& line) const { return rows_.rate(line.places.back()); }
  /// True where the rate of `b` is surely lower than that of `a`.
  [[nodiscard]] bool is_beyond_noise(std::size_t a, std::size_t b) const {
    return interval_of(rows_, a).low > interval_of(rows_, b).high;
  }
  /// A latency has no ceiling.
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
  /// True of lines whose rates compare: of one family, form and unit.
  [[nodiscard]] bool is_comparable(const Line& a, const Line& b) const {
    const std::size_t p = a.places.front();
    const std::size_t q = b.places.front();
    return rows_.text(p, "family") == rows_.text(q, "family") &&
           rows_.text(p, "form") == rows_.text(q, "form") && rows_.unit(p) == rows_.unit(q);
  }
  /// Comparable lines; the fastest group first. Lines with capped registers are left out unless all are. A
  /// line of two or three points is included only where it is the fastest.
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

  /// The least and the most value of the dial at which the line has that rate.
  [[nodiscard]] std::pair<double, double> where_at_least(const Line& line, double level) const {
    std::pair found{infinite, -infinite};
    for (const std::size_t p : line.places)
      if (rows_.rate(p) >= level) found = {std::min(found.first, dial(p)), std::max(found.second, dial(p))};
    return found;
  }

  [[nodiscard]] std::vector<std::string> cases_of(const std::vector<const Line*>& lines) const;
  struct Reach {
    const Line* peak = nullptr;    ///< the fastest
    const Line* first = nullptr;   ///< needs the least of the dial
    const Line* latest = nullptr;  ///< needs the most
    const Line* low = nullptr;     ///< never comes near the best
    double level = 0;
    double few = infinite;
    double most = -infinite;
    bool is_same_for_all = true;
  };
  [[nodiscard]] Reach reach_of(const Group& group) const;
  [[nodiscard]] bool has_earlier_capped(const Reach& reach) const;
  [[nodiscard]] std::string uncapped_clause(const Reach& reach) const;
  [[nodiscard]] std::string contrast_of(const Reach& reach, const Group& group) const;
  [[nodiscard]] Finding enough_finding(const Reach& reach, const Group& group) const;
  [[nodiscard]] Clauses enough() const;
  [[nodiscard]] std::string value_and_parts(double value, std::vector<std::string> parts) const;
  [[nodiscard]] std::string difference_phrase(const Line& line, const Line& other) const;
  [[nodiscard]] std::string difference_phrase(const Line& line, const Line& other, const Group& group) const;
  [[nodiscard]] const Line* worst_line(const Group& group, double level, double enough) const;
  [[nodiscard]] Clauses fastest() const;
  [[nodiscard]] std::size_t begin_of_worst(const Line& line) const;
  [[nodiscard]] Clauses losses() const;
  [[nodiscard]] Clauses ranges() const;
  [[nodiscard]] Clauses cliffs() const;
  [[nodiscard]] std::string unaffected_subject(std::size_t before, std::size_t after) const;
  [[nodiscard]] Clauses costs_of_more_warps() const;
  [[nodiscard]] Clauses other_dials() const;
  struct Effect {
    double size;
    std::string words;
    std::size_t row;
  };
  [[nodiscard]] std::optional<Effect> effect_of(const RowIndices& places, const std::string& column) const;
  [[nodiscard]] std::string common_values(const Effect& effect, const std::string& column,
                                          const std::vector<std::string>& names, bool has_subject) const;
  [[nodiscard]] std::string block_size_phrase(std::size_t row, std::size_t other) const;
  [[nodiscard]] Clauses register_caps() const;
  [[nodiscard]] Clauses baselines() const;
  [[nodiscard]] Clauses latencies() const;
  [[nodiscard]] Clauses clock() const;
  [[nodiscard]] Clauses api_pick() const;
  [[nodiscard]] Clauses textbook() const;
  [[nodiscard]] Clauses model_misses() const;

  const Rows& rows_;
  RowIndices places_;
  Description description_;
  const nlohmann::json& environment_;
  std::vector<Line> curves_;
  std::vector<Line> short_;  ///< of too few points for a curve
  std::size_t longest_ = 0;
  std::optional<Names> names_;
};

}  // namespace occbench::findings
