// SPDX-License-Identifier: Apache-2.0
// How much of the dial is enough, and which lines it is not enough for.
#include <cmath>

#include "benchmarks/report/findings/analyst.hpp"

namespace occbench::findings {

namespace {

/// "60 %"; "89.7 %" where whole percents would read as if the line came near the best.
std::string below_near_best(double percent) {
  const bool is_close = percent > 100 * near_best - 0.5;
  return is_close ? text("%.1f %%", std::floor(10 * percent) / 10) : text("%.0f %%", percent);
}

}  // namespace

/// "with 12 warps per SM if each thread keeps 64 B in flight", or "with 8 warps per SM and 4 points"
std::string Analyst::value_and_parts(double value, std::vector<std::string> parts) const {
  if (parts.empty() || !parts[0].ends_with(" in flight per thread")) {
    parts.insert(parts.begin(), at(value));
    return "with " + join_with_and(parts);
  }
  std::string words =
      "with " + at(value) + " if each thread keeps " + without_suffix(parts[0], " per thread");
  if (parts.size() > 1) words += " (" + join_with_and({parts.begin() + 1, parts.end()}) + ")";
  return words;
}

/// "with 4 B", "with 1 point": by what `line` differs from `other`.
std::string Analyst::difference_phrase(const Line& line, const Line& other) const {
  std::vector<std::string> parts = names_->differences(line, &other);
  if (parts.empty()) return "`" + rows_.text(line.places.front(), "curve") + "`";
  for (std::string& part : parts)
    for (const std::string_view end : {" in flight per thread", " per thread", " per warp"})
      part = without_suffix(part, end);
  return "with " + join_with_and(parts);
}

/// The same; "with 4 x 4 B" where a faster line of the group has as many bytes in flight, and with all
/// differences of `line` where these words fit a faster line as well.
std::string Analyst::difference_phrase(const Line& line, const Line& other, const Group& group) const {
  std::string words = difference_phrase(line, other);
  const std::size_t row = line.places.front();
  const double bytes = bytes_in_flight(rows_, row);
  const bool is_ambiguous = std::ranges::any_of(group, [&](const Line* each) {
    const std::size_t first = each->places.front();
    return bytes_in_flight(rows_, first) == bytes && top(*each) > top(line) &&
           !(rows_.cell(first, "ilp") == rows_.cell(row, "ilp"));
  });
  const std::string bytes_alone = "with " + amount("bytes_in_flight", bytes);
  if (is_ambiguous && words.starts_with(bytes_alone))
    return words.replace(
        0, bytes_alone.size(),
        text("with %.0f x %.0f B", rows_.number(row, "ilp"), rows_.number(row, "bytes_per_access")));
  const std::vector<std::string> parts = names_->differences(line, &other);
  const bool is_another = std::ranges::any_of(group, [&](const Line* each) {
    const std::vector<std::string> its = names_->differences(*each, &other);
    return top(*each) * near_best > top(line) && std::ranges::all_of(parts, [&](const std::string& part) {
             return std::ranges::find(its, part) != its.end();
           });
  });
  return is_another && !parts.empty() ? "with " + join_with_and(names_->differences(line)) : words;
}

/// The slowest of the lines below `level` that were measured at `enough` or more; nullptr without one.
const Line* Analyst::worst_line(const Group& group, double level, double enough) const {
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
Analyst::Reach Analyst::reach_of(const Group& group) const {
  Reach reach;
  reach.peak = *std::ranges::max_element(group, {}, [&](const Line* l) { return top(*l); });
  reach.level = near_best * top(*reach.peak);
  for (const Line* line : group) {
    const double needed = where_at_least(*line, reach.level).first;
    reach.is_same_for_all = reach.is_same_for_all && needed != infinite;
    if (needed == infinite) continue;
    if (needed < reach.few) {
      reach.few = needed;
      reach.first = line;
    }
    if (needed >= reach.most) {
      reach.most = needed;
      reach.latest = line;
    }
  }
  reach.is_same_for_all = reach.is_same_for_all && reach.few == reach.most;
  reach.low = worst_line(group, reach.level, reach.few);
  return reach;
}

/// Whether a line with capped registers comes near the best with less of the dial than any of the group.
bool Analyst::has_earlier_capped(const Reach& reach) const {
  return is_free(*reach.first) && std::ranges::any_of(curves_, [&](const Line& line) {
           return !is_free(line) && is_comparable(line, *reach.first) &&
                  where_at_least(line, reach.level).first < reach.few;
         });
}

/// " at the compiler's 32 registers": where a cap on the registers of this kernel makes it need fewer warps.
std::string Analyst::uncapped_clause(const Reach& reach) const {
  const std::size_t row = reach.latest->places.front();
  const bool is_better_capped = std::ranges::any_of(curves_, [&](const Line& line) {
    return !is_free(line) && is_comparable(line, *reach.latest) && reach.latest != &line &&
           names_->differences(line, reach.latest).size() == 1 &&
           where_at_least(line, reach.level).first < reach.most;
  });
  return is_better_capped && is_free(*reach.latest)
             ? text(" at the compiler's %.0f registers", rows_.number(row, "registers_per_thread"))
             : "";
}

/// "; with 4 B even 64 warps reach 60 %", "; with 1 point it takes 32 warps"; empty where lines agree.
std::string Analyst::contrast_of(const Reach& reach, const Group& group) const {
  if (reach.low != nullptr) {
    const double share = 100 * top(*reach.low) / top(*reach.peak);
    const double end = dial(reach.low->places.back());
    const bool is_rising =
        description_.is_over_residency() && fastest_of(reach.low->places) == reach.low->places.back();
    return "; " + difference_phrase(*reach.low, *reach.first, group) +
           (is_rising ? " even " + without_suffix(at(end), " per SM") + " reach " + below_near_best(share)
                      : " at most " + below_near_best(share));
  }
  if (reach.most <= reach.few) return "";
  return "; " + difference_phrase(*reach.latest, *reach.first, group) + " it takes " +
         (description_.dial == "warps_per_sm" ? without_suffix(at(reach.most), " per SM")
                                              : amount_at(reach.most));
}

Finding Analyst::enough_finding(const Reach& reach, const Group& group) const {
  const std::string contrast = contrast_of(reach, group);
  const Line* other = reach.low != nullptr ? reach.low : reach.most > reach.few ? reach.latest : nullptr;
  std::vector<std::string> how = names_->differences(*reach.first, other);
  if (how.empty()) how = names_->differences(*reach.first);
  if (reach.is_same_for_all) how.clear();
  const std::string what = subject_of(*reach.first);
  std::string words = what + " " + verb(what, "reach") + text(" %.0f %% of ", 100 * near_best) +
                      speed(top(*reach.peak), rows_.unit(reach.peak->places.front())) + " " +
                      value_and_parts(reach.few, how);
  if (has_earlier_capped(reach)) words = fit_sentence({words, " without a register cap"});
  if (!contrast.empty())
    words = fit_sentence({words, contrast, reach.low != nullptr ? "" : uncapped_clause(reach)});
  // The score is low where the best is far from the ceiling, or needs most of the warps.
  const std::size_t best = fastest_of(reach.peak->places);
  const double percent = rows_.number(best, "percent_of_ceiling");
  const double ceiling = percent > 0 ? std::min(1.0, percent / 100) : 1;
  double least = 1;
  for (const std::size_t p : reach.first->places)
    if (dial(p) == reach.few) least = occupancy(p);
  const bool is_telling = description_.is_over_residency() && least <= 0.4 && has_ceiling(best);
  return {.kind = Kind::enough,
          .words = words,
          .score = is_telling ? ceiling * (1 - 2 * least) : 0,
          .cases = cases_of({reach.first, contrast.empty() ? nullptr : other})};
}

Clauses Analyst::enough() const {
  Clauses found;
  std::size_t contrasted = 0;  // groups near the fastest whose lines differ
  double best = 0;
  for (const Group& group : groups()) {
    const Reach reach = reach_of(group);
    if (last(*reach.peak) < rows_.rate(reach.peak->places.front()))
      continue;  // it falls along the dial: ranges()
    const bool is_any_enough =
        std::ranges::none_of(group, [&](const Line* l) { return dial(l->places.front()) < reach.few; });
    if (!description_.is_over_residency() && is_any_enough && reach.is_same_for_all)
      continue;  // the dial does nothing
    if (best == 0) best = top(*reach.peak);
    const bool leads =
        top(*reach.peak) >= near_best * best && (reach.low != nullptr || reach.most > reach.few);
    found.insert(leads ? found.begin() + static_cast<std::ptrdiff_t>(contrasted) : found.end(),
                 enough_finding(reach, group));
    contrasted += leads ? 1 : 0;
  }
  return found;
}

}  // namespace occbench::findings
