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
std::string Analyst::where_and_how(double value, std::vector<std::string> parts) const {
  if (parts.empty() || !parts[0].ends_with(" in flight per thread")) {
    parts.insert(parts.begin(), at(value));
    return "with " + listed(parts);
  }
  std::string words = "with " + at(value) + " if each thread keeps " + without_end(parts[0], " per thread");
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

/// Whether a line with capped registers comes near the best with less of the dial than any of the group.
bool Analyst::is_sooner_capped(const Reach& it) const {
  return is_free(*it.first) && std::ranges::any_of(curves_, [&](const Line& line) {
           return !is_free(line) && is_comparable(line, *it.first) &&
                  where_at_least(line, it.level).first < it.few;
         });
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
           (is_rising ? " even " + without_end(at(end), " per SM") + " reach " + below_near_best(share)
                      : " at most " + below_near_best(share));
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
  if (is_sooner_capped(it)) words = within({words, " without a register cap"});
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

}  // namespace occbench::findings
