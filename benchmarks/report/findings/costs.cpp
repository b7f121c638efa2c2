// SPDX-License-Identifier: Apache-2.0
// What a value of the dial costs: losses, ranges, cliffs, more warps.
#include "benchmarks/report/findings/analyst.hpp"

namespace occbench::findings {

/// The row of a line that is next to its best and as low as its worst, within min_loss.
std::size_t Analyst::begin_of_worst(const Line& line) const {
  const std::size_t best = fastest_of(line.places);
  const std::size_t worst = slowest_of(line.places);
  const double level = (1 + min_loss) * rows_.rate(worst);
  std::size_t found = worst;
  for (const std::size_t p : line.places) {
    const bool is_on_its_side = (dial(p) > dial(best)) == (dial(worst) > dial(best));
    if (is_on_its_side && rows_.rate(p) <= level &&
        std::abs(dial(p) - dial(best)) < std::abs(dial(found) - dial(best)))
      found = p;
  }
  return found;
}

/// What a value of the dial costs: the line that loses most of its best, and the one that loses least at the
/// same value, with as many warps if possible.
Clauses Analyst::losses() const {
  if (curves_.empty()) return {};
  const auto share_of = [&](std::size_t row, const Line& line) { return rows_.rate(row) / top(line); };
  const Line& line = *std::ranges::min_element(
      curves_, {}, [&](const Line& each) { return share_of(slowest_of(each.places), each); });
  const auto percent_lost = [&](double share) {
    return share > 1 - case_precision ? text("less than %.1f %%", 100 * case_precision)
                                      : text("%.0f %%", 100 * (1 - share));
  };
  const std::size_t low = begin_of_worst(line);
  const double share = share_of(low, line);
  const std::string what = name(line);
  std::string words = what + " " + verb(what, "lose") + " " + percent_lost(share);
  if (share <= 1 - case_precision)
    words += std::string(dial(low) > dial(fastest_of(line.places)) ? " by " : " with ") + at(dial(low)) +
             (description_.dial == "occupancy_theoretical"
                  ? ""
                  : " (" + value_of(description_.name, "occupancy_theoretical", occupancy(low)) + ")");
  else
    words += " along the dial";
  const Line* other = nullptr;
  std::pair<bool, double> best;  // has as many warps, share
  for (const Line& each : curves_)
    for (const std::size_t p : each.places) {
      if (&each == &line || dial(p) != dial(low)) continue;
      const std::pair its{rows_.cell(p, "warps_per_sm") == rows_.cell(low, "warps_per_sm"),
                          share_of(p, each)};
      if (other != nullptr && its <= best) continue;
      best = its;
      other = &each;
    }
  if (other != nullptr)
    words += ", " + (subject_of(*other) == subject_of(line) ? name(*other) : subject_of(*other)) + " " +
             percent_lost(best.second);
  return {{.kind = Kind::loss, .words = words, .cases = cases_of({&line, other})}};
}

/// Of lines that fall along the dial: the range in which the one that falls most keeps near_best.
Clauses Analyst::ranges() const {
  Clauses found;
  if (description_.is_over_residency()) return found;
  for (const auto& group : groups()) {
    const auto share_of = [&](const Line* line) { return last(*line) / top(*line); };
    const Line& line = **std::ranges::min_element(group, {}, share_of);
    const double share = share_of(&line);
    if (share >= near_best - case_precision) continue;
    const auto is_near = [&](std::size_t p) { return rows_.rate(p) >= near_best * top(line); };
    const auto best = std::ranges::find(line.places, fastest_of(line.places));
    const auto end = std::find_if_not(best, line.places.end(), is_near);
    auto begin = best;
    while (begin != line.places.begin() && is_near(begin[-1])) --begin;
    if (end == line.places.begin() + 1) continue;  // it falls from its first value on
    const double near = dial(end[-1]);
    const std::string where =
        begin == line.places.begin() ? "up to " + at(near)
        : begin == end - 1           ? "with " + at(near)
                           : "with " + span_of(description_.name, description_.dial, dial(*begin), near);
    const std::string what = name(line);
    found.push_back(
        {.kind = Kind::range,
         .words = what + " " + verb(what, "lose") + text(" at most %.0f %% ", 100 - 100 * near_best) + where +
                  text(", and %.0f %% with ", 100 * (1 - share)) + amount_at(dial(line.places.back())),
         .effect = -std::log(share),
         .cases = cases_of({&line})});
  }
  return found;
}

/// ", FMA chains nothing": another subject, which loses nothing at this step.
std::string Analyst::unaffected_subject(std::size_t before, std::size_t after) const {
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
    if (a && b && std::abs(1 - *b / *a) < case_precision) return ", " + subject_of(line) + " nothing";
  }
  return "";
}

/// The largest loss between neighbours on each curve, with the change of residency and spills. Not along
/// residency itself: see costs_of_more_warps().
Clauses Analyst::cliffs() const {
  std::map<std::string, Finding> deepest;  // by curve
  std::map<std::string, double> losses;
  for (const Line& line : curves_) {
    if (description_.is_over_residency()) break;
    const std::string& curve = rows_.text(line.places.front(), "curve");
    for (std::size_t i = 1; i < line.places.size(); ++i) {
      const std::size_t before = line.places[i - 1];
      const std::size_t after = line.places[i];
      const double loss = 1 - rows_.rate(after) / rows_.rate(before);
      if (loss < min_cliff || loss <= losses[curve]) continue;
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
                          span_of(description_.name, description_.dial, dial(before), dial(after));
      for (std::size_t n = 0; n < why.size(); ++n) words += (n == 0 ? " (" : ", ") + why[n];
      if (!why.empty()) words += ")";
      const bool takes_residency = rows_.number(after, "warps_per_sm") < rows_.number(before, "warps_per_sm");
      const bool is_sure =
          is_beyond_noise(before, after) && spills_alike(before, after) && has_ceiling(before);
      deepest[curve] = {.kind = takes_residency ? Kind::cliff : Kind::step,
                        .words = fit_sentence({words, unaffected_subject(before, after)}),
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
    if (!description_.is_over_residency()) break;
    const double loss = 1 - last(line) / top(line);
    if (loss < min_loss) continue;
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
                     .effect = -std::log1p(-min_loss)});
  return found;
}

}  // namespace occbench::findings
