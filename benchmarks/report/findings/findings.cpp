// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/findings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>

#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/own.hpp"
#include "benchmarks/report/findings/phrases.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

constexpr double least_loss = 0.03;  // that is a cliff, or a cost of more warps; also of the SM clock
constexpr double least_of_other_dial = 0.02;
constexpr double far_off = 0.1;  // error of the model that is a miss
constexpr std::size_t most_of_a_kind = 3;
constexpr double least_gap = 0.03;  // of occupancy, between plain division and the SM
constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr std::string_view per_thread = " per thread";

using Clauses = std::vector<Finding>;

std::string without_end(std::string words, std::string_view end) {
  if (words.ends_with(end)) words.resize(words.size() - end.size());
  return words;
}

bool is_plural(const std::string& name) { return !name.starts_with('`'); }
std::string verb(const std::string& name, const std::string& plural) {
  if (is_plural(name)) return plural;
  return plural == "are" ? "is" : plural + (plural.ends_with("ch") ? "es" : "s");
}

/// The ends of a rate's 95 % interval; a point where no interval was measured.
Interval interval_of(const Rows& rows, std::size_t row) {
  const double rate = rows.number(row, "throughput");
  const double median = rows.number(row, "time_median_s");
  const double low = rows.number(row, "time_ci95_low_s");
  const double high = rows.number(row, "time_ci95_high_s");
  if (!(low > 0) || !(high > 0) || !(median > 0)) return {rate, rate};
  return {rate * median / high, rate * median / low};
}

/// What one experiment's rows say, by its description and the columns alone.
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
  [[nodiscard]] std::string unless_capped(const Reach& it) const;
  [[nodiscard]] std::string contrast_of(const Reach& it, const Group& group) const;
  [[nodiscard]] Finding enough_of(const Reach& it, const Group& group) const;
  [[nodiscard]] Clauses enough() const;
  [[nodiscard]] std::string where_and_how(double value, std::vector<std::string> parts) const;
  [[nodiscard]] std::string in_contrast(const Line& line, const Line& other) const;
  [[nodiscard]] std::string in_contrast(const Line& line, const Line& other, const Group& group) const;
  [[nodiscard]] const Line* poorest(const Group& group, double level, double enough) const;
  [[nodiscard]] Clauses fastest() const;
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

/// "with 12 warps per SM if each thread keeps 64 B in flight", or "with 8 warps per SM and 4 points"
std::string Analyst::where_and_how(double value, std::vector<std::string> parts) const {
  if (parts.empty() || !parts[0].ends_with(" in flight per thread")) {
    parts.insert(parts.begin(), at(value));
    return "with " + listed(parts);
  }
  std::string words = "with " + at(value) + " if each thread keeps " + without_end(parts[0], per_thread);
  if (parts.size() > 1) words += " (" + listed({parts.begin() + 1, parts.end()}) + ")";
  return words;
}

/// "with 4 B", "with 1 point": by what `line` differs from `other`.
std::string Analyst::in_contrast(const Line& line, const Line& other) const {
  std::vector<std::string> parts = names_->differences(line, &other);
  if (parts.empty()) return "`" + rows_.text(line.places.front(), "curve") + "`";
  for (std::string& part : parts)
    for (const std::string_view end : {" in flight per thread", " per thread", " per warp"})
      part = without_end(part, end);
  return "with " + listed(parts);
}

/// The same, as "with 4 x 4 B" where another line of the group does better with as many bytes in flight, and
/// with all that tells `line` apart where another of these words does better.
std::string Analyst::in_contrast(const Line& line, const Line& other, const Group& group) const {
  std::string words = in_contrast(line, other);
  const std::size_t row = line.places.front();
  const double bytes = bytes_in_flight(rows_, row);
  const bool is_ambiguous = std::ranges::any_of(group, [&](const Line* each) {
    const std::size_t first = each->places.front();
    return bytes_in_flight(rows_, first) == bytes && top(*each) > top(line) &&
           !(rows_.cell(first, "ilp") == rows_.cell(row, "ilp"));
  });
  const std::string said = "with " + amount("bytes_in_flight", bytes);
  if (is_ambiguous && words.starts_with(said))
    return words.replace(
        0, said.size(),
        text("with %.0f x %.0f B", rows_.number(row, "ilp"), rows_.number(row, "bytes_per_access")));
  const std::vector<std::string> parts = names_->differences(line, &other);
  const bool is_another = std::ranges::any_of(group, [&](const Line* each) {
    const std::vector<std::string> its = names_->differences(*each, &other);
    return top(*each) * near_best > top(line) && std::ranges::all_of(parts, [&](const std::string& part) {
             return std::ranges::find(its, part) != its.end();
           });
  });
  return is_another && !parts.empty() ? "with " + listed(names_->differences(line)) : words;
}

/// Of lines that surely did not come near the best, the one that comes least near; only of those that were
/// measured where `enough` was enough.
const Line* Analyst::poorest(const Group& group, double level, double enough) const {
  const Line* found = nullptr;
  for (const Line* line : group)
    if (top(*line) < level && dial(line->places.back()) >= enough &&
        (found == nullptr || top(*line) < top(*found)))
      found = line;
  return found;
}

/// A case of each of these lines; a null pointer has none.
std::vector<std::string> Analyst::cases_of(const std::vector<const Line*>& lines) const {
  std::vector<std::string> found;
  for (const Line* line : lines)
    if (line != nullptr) found.push_back(rows_.text(line->places.front(), "case_id"));
  return found;
}

/// The least of the dial with which lines of a group come near its best.
Analyst::Reach Analyst::reach(const Group& group) const {
  Reach it;
  it.peak = *std::ranges::max_element(group, {}, [&](const Line* l) { return top(*l); });
  it.level = near_best * top(*it.peak);
  for (const Line* line : group) {
    const double needed = where_at_least(*line, it.level).first;
    it.is_same_for_all = it.is_same_for_all && needed != infinite;
    if (needed == infinite) continue;
    if (needed < it.few) {
      it.few = needed;
      it.first = line;
    }
    if (needed >= it.most) {
      it.most = needed;
      it.latest = line;
    }
  }
  it.is_same_for_all = it.is_same_for_all && it.few == it.most;
  it.low = poorest(group, it.level, it.few);
  return it;
}

/// " at the compiler's 32 registers": where a cap on the registers of this kernel makes it need fewer warps.
std::string Analyst::unless_capped(const Reach& it) const {
  const std::size_t row = it.latest->places.front();
  const bool is_better_capped = std::ranges::any_of(curves_, [&](const Line& line) {
    return !is_free(line) && is_comparable(line, *it.latest) && it.latest != &line &&
           names_->differences(line, it.latest).size() == 1 && where_at_least(line, it.level).first < it.most;
  });
  return is_better_capped && is_free(*it.latest)
             ? text(" at the compiler's %.0f registers", rows_.number(row, "registers_per_thread"))
             : "";
}

/// "; with 4 B even 64 warps reach 60 %", "; with 1 point it takes 32 warps"; empty where all lines do alike.
std::string Analyst::contrast_of(const Reach& it, const Group& group) const {
  if (it.low != nullptr) {
    const double share = 100 * top(*it.low) / top(*it.peak);
    const double end = dial(it.low->places.back());
    const bool is_rising = it_.is_over_residency() && fastest_of(it.low->places) == it.low->places.back();
    return "; " + in_contrast(*it.low, *it.first, group) +
           (is_rising ? " even " + without_end(at(end), " per SM") + text(" reach %.0f %%", share)
                      : text(" at most %.0f %%", share));
  }
  if (it.most <= it.few) return "";
  return "; " + in_contrast(*it.latest, *it.first, group) + " it takes " +
         (it_.dial == "warps_per_sm" ? without_end(at(it.most), " per SM") : amount_at(it.most));
}

Finding Analyst::enough_of(const Reach& it, const Group& group) const {
  const std::string contrast = contrast_of(it, group);
  const Line* other = it.low != nullptr ? it.low : it.most > it.few ? it.latest : nullptr;
  std::vector<std::string> how = names_->differences(*it.first, other);
  if (how.empty()) how = names_->differences(*it.first);
  if (it.is_same_for_all) how.clear();
  const std::string what = subject_of(*it.first);
  std::string words = what + " " + verb(what, "reach") + text(" %.0f %% of ", 100 * near_best) +
                      speed(top(*it.peak), rows_.unit(it.peak->places.front())) + " " +
                      where_and_how(it.few, how);
  if (!contrast.empty()) words = within({words, contrast, it.low != nullptr ? "" : unless_capped(it)});
  // Little is found where the best is far from what the hardware can do, or where most warps are needed.
  const std::size_t best = fastest_of(it.peak->places);
  const double percent = rows_.number(best, "percent_of_ceiling");
  const double ceiling = percent > 0 ? std::min(1.0, percent / 100) : 1;
  double least = 1;
  for (const std::size_t p : it.first->places)
    if (dial(p) == it.few) least = occupancy(p);
  const bool is_telling = it_.is_over_residency() && least <= 0.4 && has_ceiling(best);
  return {.kind = Kind::enough,
          .words = words,
          .score = is_telling ? ceiling * (1 - 2 * least) : 0,
          .cases = cases_of({it.first, contrast.empty() ? nullptr : other})};
}

Clauses Analyst::enough() const {
  Clauses found;
  std::size_t contrasted = 0;  // of groups that are about as fast as the fastest, those that tell lines apart
  double best = 0;
  for (const Group& group : groups()) {
    const Reach it = reach(group);
    if (last(*it.peak) < rows_.rate(it.peak->places.front())) continue;  // it falls along the dial: ranges()
    const bool is_any_enough =
        std::ranges::none_of(group, [&](const Line* l) { return dial(l->places.front()) < it.few; });
    if (!it_.is_over_residency() && is_any_enough && it.is_same_for_all) continue;  // the dial does nothing
    if (best == 0) best = top(*it.peak);
    const bool leads = top(*it.peak) >= near_best * best && (it.low != nullptr || it.most > it.few);
    found.insert(leads ? found.begin() + static_cast<std::ptrdiff_t>(contrasted) : found.end(),
                 enough_of(it, group));
    contrasted += leads ? 1 : 0;
  }
  return found;
}

Clauses Analyst::fastest() const {
  std::set<std::string> units;
  for (const Line& line : curves_) units.insert(rows_.unit(line.places.front()));
  std::map<std::string, Places> by;
  for (const std::size_t p : places_)
    if (curves_.empty() || units.contains(rows_.unit(p))) by[rows_.unit(p)].push_back(p);
  std::vector<const Places*> parts;
  for (const auto& [unit, part] : by) parts.push_back(&part);
  std::ranges::stable_sort(parts, std::ranges::greater{}, [](const Places* part) { return part->size(); });
  Clauses found;
  for (const Places* part : parts) {
    const std::size_t row = fastest_of(*part);
    std::string where = value_of(it_.name, "occupancy_theoretical", occupancy(row));
    if (it_.dial != "occupancy_theoretical" && !std::isnan(dial(row)))
      where = at(dial(row)) + (it_.is_over_residency() ? "" : ", " + where);
    std::string of;
    if (const double percent = rows_.number(row, "percent_of_ceiling"); percent > 0) {
      std::string kind = rows_.text(row, "ceiling_kind");
      std::ranges::replace(kind, '_', ' ');
      if (kind.size() < 5)
        for (char& c : kind) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      of = text(" (%.0f %% of the ", percent) + kind + " ceiling)";
    }
    const std::string what = subject(rows_, row);
    found.push_back({.kind = Kind::fastest,
                     .words = "fastest " + verb(what, "are") + " " + short_name(row) + ": " +
                              speed(rows_.rate(row), rows_.unit(row)) + of + " with " + where,
                     .cases = {rows_.text(row, "case_id")}});
  }
  return found;
}

/// What the worst value of the dial costs of each line's best: of the line that loses most, and of that that
/// loses least.
Clauses Analyst::losses() const {
  std::vector<std::pair<double, const Line*>> kept;
  for (const Line& line : curves_) kept.emplace_back(rows_.rate(slowest_of(line.places)) / top(line), &line);
  if (kept.empty()) return {};
  std::ranges::stable_sort(kept, {}, &std::pair<double, const Line*>::first);
  const auto said = [&](double share) {
    return share > 1 - no_change ? text("less than %.1f %%", 100 * no_change)
                                 : text("%.0f %%", 100 * (1 - share));
  };
  const auto& [share, line] = kept.front();
  const std::size_t low = slowest_of(line->places);
  const std::string what = name(*line);
  std::string words = what + " " + verb(what, "lose") + " " + said(share);
  if (share <= 1 - no_change)
    words += std::string(dial(low) > dial(fastest_of(line->places)) ? " by " : " with ") + at(dial(low)) +
             (it_.dial == "occupancy_theoretical"
                  ? ""
                  : " (" + value_of(it_.name, "occupancy_theoretical", occupancy(low)) + ")");
  else
    words += " along the dial";
  std::string least;
  if (kept.size() > 1) {
    std::string other = name(*kept.back().second);
    if (subject_of(*kept.back().second) != subject_of(*line)) other = subject_of(*kept.back().second);
    least = ", " + other + " " + said(kept.back().first);
  }
  const Line* other = kept.size() > 1 ? kept.back().second : nullptr;
  return {{.kind = Kind::loss, .words = words + least, .cases = cases_of({line, other})}};
}

/// Of lines that fall along the dial: how far the one that falls most keeps near_best of its best.
Clauses Analyst::ranges() const {
  Clauses found;
  if (it_.is_over_residency()) return found;
  for (const auto& group : groups()) {
    const auto share_of = [&](const Line* line) { return last(*line) / top(*line); };
    const Line& line = **std::ranges::min_element(group, {}, share_of);
    const double share = share_of(&line);
    if (share >= near_best) continue;
    const std::string what = name(line);
    const double near = where_at_least(line, near_best * top(line)).second;
    found.push_back({.kind = Kind::range,
                     .words = what + " " + verb(what, "lose") +
                              text(" at most %.0f %% up to ", 100 - 100 * near_best) + at(near) +
                              text(", and %.0f %% with ", 100 * (1 - share)) +
                              amount_at(dial(line.places.back())),
                     .effect = -std::log(share),
                     .cases = cases_of({&line})});
  }
  return found;
}

/// ", FMA chains nothing": another subject that the same step does not cost anything.
std::string Analyst::who_loses_nothing(std::size_t before, std::size_t after) const {
  const std::string what = subject(rows_, before);
  for (const Line& line : curves_) {
    if (subject_of(line) == what) continue;
    std::optional<double> a;
    std::optional<double> b;
    for (const std::size_t p : line.places) {
      if (dial(p) == dial(before) && rows_.cell(p, "warps_per_sm") == rows_.cell(before, "warps_per_sm"))
        a = rows_.rate(p);
      if (dial(p) == dial(after) && rows_.cell(p, "warps_per_sm") == rows_.cell(after, "warps_per_sm"))
        b = rows_.rate(p);
    }
    if (a && b && std::abs(1 - *b / *a) < no_change) return ", " + subject_of(line) + " nothing";
  }
  return "";
}

/// The deepest loss between neighbours on each curve, with what becomes of residency and of spills. Not along
/// residency itself: there more warps that cost are costs_of_more_warps().
Clauses Analyst::cliffs() const {
  std::map<std::string, Finding> deepest;  // by curve
  std::map<std::string, double> losses;
  for (const Line& line : curves_) {
    if (it_.is_over_residency()) break;
    const std::string& curve = rows_.text(line.places.front(), "curve");
    for (std::size_t i = 1; i < line.places.size(); ++i) {
      const std::size_t before = line.places[i - 1];
      const std::size_t after = line.places[i];
      const double loss = 1 - rows_.rate(after) / rows_.rate(before);
      if (loss < least_loss || loss <= losses[curve]) continue;
      losses[curve] = loss;
      std::vector<std::string> why;
      const double a = rows_.number(before, "blocks_per_sm");
      const double b = rows_.number(after, "blocks_per_sm");
      if (a != b) why.push_back(text("%.0f to %.0f blocks per SM", a, b));
      if (const double spilled = rows_.number(after, "local_bytes");
          spilled > rows_.number(before, "local_bytes"))
        why.push_back(text("%.0f B spilled", spilled));
      const std::string what = name(line);
      std::string words = what + " " + verb(what, "lose") + text(" %.1f %% from ", 100 * loss) +
                          span_of(it_.name, it_.dial, dial(before), dial(after));
      for (std::size_t n = 0; n < why.size(); ++n) words += (n == 0 ? " (" : ", ") + why[n];
      if (!why.empty()) words += ")";
      const bool takes_residency = rows_.number(after, "warps_per_sm") < rows_.number(before, "warps_per_sm");
      const bool is_sure =
          is_beyond_noise(before, after) && spills_alike(before, after) && has_ceiling(before);
      deepest[curve] = {.kind = takes_residency ? Kind::cliff : Kind::step,
                        .words = within({words, who_loses_nothing(before, after)}),
                        .effect = -std::log1p(-loss),
                        .score = !is_sure          ? 0
                                 : takes_residency ? loss
                                                   : 0.6 * loss,
                        .cases = {rows_.text(before, "case_id")}};
    }
  }
  Clauses found;
  for (auto& [_, finding] : deepest) found.push_back(std::move(finding));
  by_effect(found);
  if (found.size() > most_of_a_kind) found.resize(most_of_a_kind);
  return found;
}

Clauses Analyst::costs_of_more_warps() const {
  const Line* worst = nullptr;
  double largest = 0;
  std::size_t over = 0;
  for (const Line& line : curves_) {
    if (!it_.is_over_residency()) break;
    const double loss = 1 - last(line) / top(line);
    if (loss < least_loss) continue;
    ++over;
    if (worst == nullptr || loss > largest) {
      worst = &line;
      largest = loss;
    }
  }
  if (worst == nullptr) return {};
  const std::size_t best = fastest_of(worst->places);
  const std::size_t end = worst->places.back();
  const std::string what = name(*worst);
  const bool is_sure = is_beyond_noise(best, end) && spills_alike(best, end) && has_ceiling(best);
  Clauses found{{.kind = Kind::costs_more_warps,
                 .words = what + " " + verb(what, "are") + " fastest with " + at(dial(best)) + "; with " +
                          amount_at(dial(end)) + (is_plural(what) ? " they lose" : " it loses") +
                          text(" %.1f %%", 100 * largest),
                 .effect = -std::log1p(-largest),
                 .score = is_sure ? largest : 0,
                 .cases = cases_of({worst})}};
  if (over > 1)
    found.push_back({.kind = Kind::costs_more_warps,
                     .words = text("more warps slow down %zu of %zu curves", over, curves_.size()),
                     .effect = -std::log1p(-least_loss)});
  return found;
}

/// What the largest value of each other dial is worth against the smallest, all else being equal. Forms that
/// have a baseline are held against that alone, and caps on registers against none.
Clauses Analyst::other_dials() const {
  Places places;
  for (const std::size_t p : places_)
    if (!it_.is_over_residency() || rows_.text(p, "register_route") == "free") places.push_back(p);
  std::vector<std::string> names;
  const auto consider = [&](const std::string& column) {
    if (column == it_.dial || !rows_.has(column) || std::ranges::find(names, column) != names.end()) return;
    if (grouped(rows_, {column}, places).size() > 1) names.push_back(column);
  };
  for (const std::string& column : asked_columns()) consider(column);
  for (const std::string& column : it_.split_by) consider(column);
  std::set<std::string> based;
  for (const std::size_t p : places)
    if (!rows_.text(p, "baseline").empty()) based.insert(rows_.text(p, "family"));
  Clauses found;
  for (const std::string& column : names) {
    if (column == "register_route" || column == "register_cap" ||
        std::ranges::find(it_.split_by, column) != it_.split_by.end())
      continue;
    Places some;
    for (const std::size_t p : places)
      if (column != "form" || !based.contains(rows_.text(p, "family"))) some.push_back(p);
    std::vector<std::string> key{"family", "throughput_unit"};
    for (const std::string& other : names)
      if (other != column) key.push_back(other);
    std::vector<Effect> effects;
    for (const auto& [_, part] : grouped(rows_, key, some))
      if (auto effect = effect_of(part, column)) effects.push_back(*std::move(effect));
    if (effects.empty()) continue;
    const Effect& most = *std::ranges::max_element(effects, {}, &Effect::size);
    const bool says_whose = effects.size() > 1 && column != "form";
    found.push_back({.kind = Kind::other_dial,
                     .words = most.words + (says_whose ? " (" + subject(rows_, most.row) + ")" : ""),
                     .effect = most.size,
                     .cases = {rows_.text(most.row, "case_id")}});
  }
  return found;
}

/// "ILP 8 instead of 1 gives 5.00 x the rate with 8 warps per SM, 1.25 x with 64"
std::optional<Analyst::Effect> Analyst::effect_of(const Places& places, const std::string& column) const {
  const auto by = grouped(rows_, {column}, places);
  std::vector<const std::pair<const std::vector<Cell>, Places>*> ends;
  for (const auto& part : by)
    if (!part.first[0].is_empty) ends.push_back(&part);
  if (ends.size() < 2) return std::nullopt;
  const auto rates_of = [&](const Places& some) {
    std::map<double, double> rates;
    for (const std::size_t p : some)
      if (const double value = dial(p); !std::isnan(value))
        rates[value] = std::max(rates[value], rows_.rate(p));
    return rates;
  };
  const auto low = rates_of(ends.front()->second);
  const auto high = rates_of(ends.back()->second);
  std::vector<std::pair<double, double>> ratios;
  double size = 0;
  for (const auto& [value, rate] : low)
    if (const auto other = high.find(value); other != high.end()) {
      ratios.emplace_back(value, other->second / rate);
      size = std::max(size, std::abs(std::log(ratios.back().second)));
    }
  if (ratios.empty() || size < least_of_other_dial) return std::nullopt;
  const Cell& least = ends.front()->first[0];
  const Cell& most = ends.back()->first[0];
  const std::size_t row = ends.back()->second.front();
  std::string words;
  if (column == "form")
    words = subject(rows_, row) + " instead of " + subject(rows_, ends.front()->second.front());
  else
    words = value_of(it_.name, column, most) + " instead of " + amount(column, least);
  const bool is_singular = words.starts_with("ILP") || words.starts_with("a ");
  words += text(" give%s %.2f x the rate with ", is_singular ? "s" : "", ratios.front().second) +
           at(ratios.front().first);
  if (ratios.size() > 1)
    words += text(", %.2f x with ", ratios.back().second) + amount_at(ratios.back().first);
  return Effect{size, words, row};
}

/// What caps on registers make of the compiler's own choice: the best of each curve, and the costliest.
Clauses Analyst::register_caps() const {
  std::vector<std::string> key{"family", "curve", "throughput_unit"};
  for (const std::string& column : asked_columns())
    if (column != it_.dial && column != "register_route" && column != "register_cap" && column != "form" &&
        column != "barriers" && column != "block_size" && rows_.has(column))
      key.push_back(column);
  struct Capped {
    double ratio = 0;
    Finding finding = {};
  };
  std::map<std::pair<std::string, std::string>, std::vector<Capped>> made;
  for (const auto& [cells, part] : grouped(rows_, key, places_)) {
    Places free;
    for (const std::size_t p : part)
      if (rows_.text(p, "register_route") == "free") free.push_back(p);
    if (free.empty()) continue;
    for (const auto& [cap, line] : grouped(rows_, {"register_route", "register_cap"}, part)) {
      if (cap[0].is_empty || cap[1].is_empty || cap[0].text == "free") continue;
      const std::size_t best = fastest_of(line);
      const std::size_t usual = fastest_of(free);
      const double ratio = rows_.rate(best) / rows_.rate(usual);
      const std::string what = subject(rows_, best);
      const double spilled = rows_.number(best, "local_bytes");
      const bool is_sure = ratio > 1 ? is_beyond_noise(best, usual) : is_beyond_noise(usual, best);
      made[{cells[0].text, cells[1].text}].push_back(
          {.ratio = ratio,
           .finding = {.kind = Kind::register_cap,
                       .words = what + " " + loss_or_gain(ratio, 1, is_plural(what)) + " at best with " +
                                text("%.0f registers instead of the compiler's %.0f",
                                     rows_.number(best, "registers_per_thread"),
                                     rows_.number(usual, "registers_per_thread")) +
                                (spilled > 0 ? text(" (%.0f B spilled)", spilled) : ""),
                       .effect = std::abs(std::log(ratio)),
                       .score = !is_sure || std::abs(1 - ratio) < least_loss ? 0
                                : ratio > 1                                  ? std::min(1.0, ratio - 1)
                                                                             : 0.7 * (1 - ratio),
                       .cases = {rows_.text(best, "case_id"), rows_.text(usual, "case_id")}}});
    }
  }
  std::vector<Capped> best;
  const Capped* worst = nullptr;
  for (const auto& [_, some] : made) {
    best.push_back(*std::ranges::max_element(some, {}, &Capped::ratio));
    const Capped& least = *std::ranges::min_element(some, {}, &Capped::ratio);
    if (worst == nullptr || least.ratio < worst->ratio) worst = &least;
  }
  std::ranges::stable_sort(best, std::ranges::greater{}, &Capped::ratio);
  Clauses found;
  const bool is_news = worst != nullptr && std::ranges::none_of(best, [&](const Capped& each) {
                         return each.ratio == worst->ratio && each.finding.words == worst->finding.words;
                       });
  for (std::size_t i = 0; i < std::min(best.size(), most_of_a_kind); ++i) found.push_back(best[i].finding);
  if (is_news) {  // that a cap may be too tight is the least news
    found.push_back(worst->finding);
    found.back().effect = found.back().score = 0;
  }
  return found;
}

/// How much longer a loop iteration takes than the baseline's at as many warps: of each form, at most.
Clauses Analyst::baselines() const {
  const auto cycles = [&](std::size_t row) { return rows_.cycles(row); };
  const std::vector<double> alone = of_baseline(rows_, places_, cycles);
  std::map<std::vector<Cell>, std::vector<std::pair<std::size_t, double>>> by;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t p = places_[i];
    const double ratio = rows_.cycles(p) / alone[i];
    if (rows_.text(p, "baseline").empty() || rows_.text(p, "baseline") == rows_.text(p, "variant")) continue;
    if (!std::isnan(ratio)) by[{rows_.cell(p, "family"), rows_.cell(p, "form")}].emplace_back(p, ratio);
  }
  Clauses found;
  for (const auto& [_, part] : by) {
    const auto& [row, ratio] =
        *std::ranges::max_element(part, {}, [](const auto& each) { return std::abs(std::log(each.second)); });
    std::vector<std::string> where;
    if (it_.dial != "warps_per_sm" && !std::isnan(dial(row))) where.push_back(at(dial(row)));
    where.push_back(value_of(it_.name, "warps_per_sm", rows_.number(row, "warps_per_sm")));
    const std::string what = "`" + rows_.text(row, "variant") + "`";
    std::string words = what + " takes ";
    if (part.size() > 1) words += ratio > 1 ? "up to " : "as little as ";
    words += text("%.2f x the time of `", ratio) + rows_.text(row, "baseline") + "` (";
    for (std::size_t i = 0; i < where.size(); ++i) words += (i == 0 ? "" : ", ") + where[i];
    found.push_back({.kind = Kind::baseline,
                     .words = words + ")",
                     .effect = std::abs(std::log(ratio)),
                     .cases = {rows_.text(row, "case_id")}});
  }
  return found;
}

/// Cycles of a loop iteration: of each curve without a baseline the least and the most.
Clauses Analyst::latencies() const {
  std::map<std::string, std::pair<double, double>> ends;
  for (const std::size_t p : places_) {
    if (!rows_.text(p, "baseline").empty() || std::isnan(rows_.cycles(p))) continue;
    auto& [low, high] = ends.try_emplace(rows_.text(p, "curve"), infinite, -infinite).first->second;
    low = std::min(low, rows_.cycles(p));
    high = std::max(high, rows_.cycles(p));
  }
  std::vector<std::pair<double, std::string>> told;
  for (const auto& [curve, end] : ends)
    told.emplace_back(end.first, span(end.first, end.second) + " in `" + curve + "`");
  if (told.empty()) return {};
  std::ranges::sort(told);
  std::vector<std::string> parts{"cycles of a loop iteration: " + told[0].second};
  for (const auto& [_, words] : std::span(told).subspan(1)) parts.push_back(", " + words);
  return {{.kind = Kind::fastest, .words = within(parts)}};
}

/// Whether the SM clock moved from case to case: rates then compare clocks as well.
Clauses Analyst::clock() const {
  double low = infinite;
  double high = -infinite;
  for (const std::size_t p : places_)
    if (const double ghz = rows_.number(p, "sm_clock_hz") / 1e9; !std::isnan(ghz)) {
      low = std::min(low, ghz);
      high = std::max(high, ghz);
    }
  if (!(low < (1 - least_loss) * high)) return {};
  return {{.kind = Kind::note, .words = text("the SM clock moved between %.2f and %.2f GHz", low, high)}};
}

/// Where the occupancy API's block size is surely slower than another; of the kernel that loses most.
Clauses Analyst::api_pick() const {
  std::optional<Finding> found;
  if (it_.dial != "block_size") return {};
  for (const Line& line : curves_) {
    const std::size_t best = fastest_of(line.places);
    for (const std::size_t p : line.places) {
      if (rows_.number(p, "block_size_api") != rows_.number(p, "block_size")) continue;
      const double loss = 1 - rows_.rate(p) / rows_.rate(best);
      if (loss < least_loss || !is_beyond_noise(best, p) || (found && loss <= found->score)) continue;
      const std::string what = name(line);
      found = {.kind = Kind::api_pick,
               .words = "for " + what + " the occupancy API picks blocks of " + amount_at(dial(p)) + "; " +
                        amount_at(dial(best)) +
                        text(" are %.0f %% faster", 100 * (rows_.rate(best) / rows_.rate(p) - 1)),
               .score = loss,
               .cases = cases_of({&line})};
    }
  }
  return found ? Clauses{*std::move(found)} : Clauses{};
}

/// Where the course text's plain division and the SM are furthest apart: as observed, in theory where nobody
/// looked.
Clauses Analyst::textbook() const {
  double widest = 0;
  double plain_at = 0;
  double real_at = 0;
  std::size_t row = 0;
  for (const std::size_t p : places_) {
    const double plain = rows_.number(p, "occupancy_textbook");
    const double blocks = rows_.number(p, "blocks_per_sm");
    const double seen = rows_.number(p, "blocks_per_sm_resident");
    const double real = occupancy(p) * (std::isnan(seen) || !(blocks > 0) ? 1 : seen / blocks);
    if (!(plain > 0) || !(std::abs(plain - real) > widest)) continue;
    widest = std::abs(plain - real);
    plain_at = plain;
    real_at = real;
    row = p;
  }
  if (widest < least_gap) return {};
  return {{.kind = Kind::textbook,
           .words = text("for %.0f registers and blocks of ", rows_.number(row, "registers_per_thread")) +
                    amount("block_size", rows_.number(row, "block_size")) +
                    text(" plain division gives %.0f %% occupancy; the SM has %.0f %%", 100 * plain_at,
                         100 * real_at),
           .score = 0.5 * widest,
           .cases = {rows_.text(row, "case_id")}}};
}

/// Where predictions are far from what was measured.
Clauses Analyst::model_misses() const {
  if (environment_.value("source", nlohmann::json()) == nlohmann::json("model") || it_.is_outside_model)
    return {};
  std::size_t predicted = 0;
  std::size_t far = 0;
  double worst = 0;
  std::size_t row = 0;
  for (const std::size_t p : places_) {
    const double said = rows_.number(p, "throughput_predicted");
    if (!(said > 0)) continue;
    ++predicted;
    const double error = said / rows_.number(p, "throughput") - 1;
    if (std::abs(error) <= far_off) continue;
    ++far;
    if (std::abs(error) > std::abs(worst)) {
      worst = error;
      row = p;
    }
  }
  if (far == 0) return {};
  const double predicted_rate = rows_.number(row, "throughput_predicted");
  const Interval measured = interval_of(rows_, row);
  const bool is_sure = predicted_rate < measured.low || predicted_rate > measured.high;
  return {{.kind = Kind::model_miss,
           .words = text("the model is over %.0f %% off in %zu of ", 100 * far_off, far) +
                    count_of(predicted, "case") + ", most for " + short_name(row) +
                    (std::isnan(dial(row)) ? "" : " at " + at(dial(row))) + text(": %+.0f %%", 100 * worst),
           .score = is_sure ? std::min(0.4, 0.4 * std::abs(std::log1p(worst))) : 0,
           .cases = {rows_.text(row, "case_id")}}};
}

}  // namespace

ExperimentFindings findings_of_experiment(const Rows& rows, const std::string& experiment,
                                          const nlohmann::json& environment) {
  const Places places = rows.of_experiment(experiment);
  if (places.empty()) return {.experiment = experiment};
  const Description it = described(environment, experiment);
  const Analyst analyst(rows, places, it, environment);
  if (!it.compares_kernels && analyst.longest() < least_points) {
    ExperimentFindings said{
        .experiment = experiment,
        .findings = {
            {.kind = Kind::note, .words = "not enough points for a finding" + what_has_more(environment)}}};
    for (Finding& finding : analyst.without_curves()) said.findings.push_back(std::move(finding));
    return said;
  }
  ExperimentFindings said = analyst.findings();
  Clauses own;
  const auto version = environment.value("schema_version", nlohmann::json());
  if (version.is_number() && version.get<double>() >= 5)  // from which on rows say what each experiment asked
    for (OwnClause& clause : own_clauses(rows, places, experiment, environment)) {
      own.push_back({.kind = Kind::own, .words = std::move(clause.words)});
      for (const std::size_t row : clause.rows) own.back().cases.push_back(rows.text(row, "case_id"));
    }
  said.findings.insert(said.findings.begin(), own.begin(), own.end());
  if (said.findings.empty()) said.findings.push_back({.kind = Kind::note, .words = "not in this run"});
  return said;
}

std::vector<ExperimentFindings> findings_of_run(const Rows& rows, const nlohmann::json& environment) {
  std::vector<ExperimentFindings> all;
  for (const std::string& name : rows.experiments())
    all.push_back(findings_of_experiment(rows, name, environment));
  return all;
}

std::vector<Highlight> most_telling(const std::vector<ExperimentFindings>& all, std::size_t most) {
  std::vector<Highlight> left;
  std::size_t experiments = 0;
  for (const ExperimentFindings& said : all) {
    ++experiments;
    for (const Finding& finding : said.findings)
      if (finding.score > 0) left.push_back({said.experiment, finding});
  }
  const std::size_t of_one = experiments == 0 ? 0 : (most + experiments - 1) / experiments;
  std::map<std::string, std::size_t> of_experiment;
  std::map<Kind, std::size_t> of_kind;
  std::vector<Highlight> told;
  while (told.size() < most) {
    // A second of a kind says less than a first of another.
    const auto worth = [&](const Highlight& each) {
      if (of_kind[each.finding.kind] == 2 || of_experiment[each.experiment] >= of_one) return 0.0;
      return of_kind[each.finding.kind] == 1 ? each.finding.score / 2 : each.finding.score;
    };
    const auto best = std::ranges::max_element(left, {}, worth);
    if (best == left.end() || worth(*best) <= 0) break;
    ++of_kind[best->finding.kind];
    ++of_experiment[best->experiment];
    told.push_back(std::move(*best));
    left.erase(best);
  }
  return told;
}

std::string sentence(const Finding& finding) { return capitalized(finding.words) + "."; }

std::vector<std::string> sentences(const ExperimentFindings& said) {
  std::vector<std::string> all;
  for (const Finding& finding : said.findings) all.push_back(sentence(finding));
  return all;
}

}  // namespace occbench::findings
