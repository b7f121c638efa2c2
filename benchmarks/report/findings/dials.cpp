// SPDX-License-Identifier: Apache-2.0
// Effects of other dials, of register caps, and against baselines.
#include "benchmarks/report/findings/analyst.hpp"

namespace occbench::findings {

namespace {
constexpr double least_of_other_dial = 0.02;
}  // namespace

/// " (reads, blocks of 128, no register cap)": the values that all rows of an effect of `column` share. If
/// the sentence is too long, the cap is dropped first, then the subject.
std::string Analyst::common_values(const Effect& effect, const std::string& column,
                                   const std::vector<std::string>& names, bool has_subject) const {
  std::vector<std::string> common;
  if (has_subject) common.push_back(subject(rows_, effect.row));
  for (const std::string& other : names) {
    const Cell cell = rows_.cell(effect.row, other);
    if (other == column || cell.is_empty || !cell.text.empty()) continue;
    if (const std::string words = value_of(description_.name, other, cell); !words.empty())
      common.push_back(words);
  }
  const bool has_caps = description_.is_over_residency() && std::ranges::any_of(places_, [&](std::size_t p) {
                          return rows_.text(p, "family") == rows_.text(effect.row, "family") &&
                                 rows_.text(p, "register_route") != "free";
                        });
  if (has_caps) common.emplace_back("no register cap");
  for (bool is_cut = false; !common.empty(); is_cut = true) {
    std::string words;
    for (const std::string& each : common) words += (words.empty() ? " (" : ", ") + each;
    if (fit_sentence({effect.words, words + ")"}) != effect.words) return words + ")";
    common.erase(is_cut || !has_caps ? common.begin() : common.end() - 1);
  }
  return "";
}

/// The largest value of each other dial against the smallest, all else being equal. Not of forms that have a
/// baseline (see baselines()), nor of register caps.
Clauses Analyst::other_dials() const {
  RowIndices places;
  for (const std::size_t p : places_)
    if (!description_.is_over_residency() || rows_.text(p, "register_route") == "free") places.push_back(p);
  std::vector<std::string> names;
  const auto consider = [&](const std::string& column) {
    if (column == description_.dial || !rows_.has(column) || std::ranges::find(names, column) != names.end())
      return;
    if (group_by(rows_, {column}, places).size() > 1) names.push_back(column);
  };
  for (const std::string& column : requested_columns()) consider(column);
  for (const std::string& column : description_.split_by) consider(column);
  std::set<std::string> with_baseline;
  for (const std::size_t p : places)
    if (!rows_.text(p, "baseline").empty()) with_baseline.insert(rows_.text(p, "family"));
  Clauses found;
  for (const std::string& column : names) {
    if (column == "register_route" || column == "register_cap" ||
        std::ranges::find(description_.split_by, column) != description_.split_by.end())
      continue;
    RowIndices some;
    for (const std::size_t p : places)
      if (column != "form" || !with_baseline.contains(rows_.text(p, "family"))) some.push_back(p);
    std::vector<std::string> key{"family", "throughput_unit"};
    for (const std::string& other : names)
      if (other != column) key.push_back(other);
    std::vector<Effect> effects;
    for (const auto& [_, part] : group_by(rows_, key, some))
      if (auto effect = effect_of(part, column)) effects.push_back(*std::move(effect));
    if (effects.empty()) continue;
    const Effect& most = *std::ranges::max_element(effects, {}, &Effect::size);
    const bool has_subject = effects.size() > 1 && column != "form";
    found.push_back({.kind = Kind::other_dial,
                     .words = most.words + common_values(most, column, names, has_subject),
                     .effect = most.size,
                     .cases = {rows_.text(most.row, "case_id")}});
  }
  return found;
}

/// "ILP 8 instead of 1 gives 5.00 x the rate with 8 warps per SM, 1.25 x with 64"
std::optional<Analyst::Effect> Analyst::effect_of(const RowIndices& places, const std::string& column) const {
  const auto by = group_by(rows_, {column}, places);
  std::vector<const std::pair<const std::vector<Cell>, RowIndices>*> ends;
  for (const auto& part : by)
    if (!part.first[0].is_empty) ends.push_back(&part);
  if (ends.size() < 2) return std::nullopt;
  const auto rates_of = [&](const RowIndices& some) {
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
    words = value_of(description_.name, column, most) + " instead of " + amount(column, least);
  const bool is_singular = words.starts_with("ILP") || words.starts_with("a ");
  words += text(" give%s %.2f x the rate with ", is_singular ? "s" : "", ratios.front().second) +
           at(ratios.front().first);
  if (ratios.size() > 1)
    words += text(", %.2f x with ", ratios.back().second) + amount_at(ratios.back().first);
  return Effect{size, words, row};
}

/// " in blocks of 128", where the other row has blocks of another size.
std::string Analyst::block_size_phrase(std::size_t row, std::size_t other) const {
  if (rows_.cell(row, "block_size") == rows_.cell(other, "block_size")) return "";
  return " in blocks of " + amount("block_size", rows_.number(row, "block_size"));
}

/// Register caps against the compiler's own choice: the best of each curve, and the costliest.
Clauses Analyst::register_caps() const {
  std::vector<std::string> key{"family", "curve", "throughput_unit"};
  for (const std::string& column : requested_columns())
    if (column != description_.dial && column != "register_route" && column != "register_cap" &&
        column != "form" && column != "barriers" && column != "block_size" && rows_.has(column))
      key.push_back(column);
  struct Capped {
    double ratio = 0;
    Finding finding = {};
  };
  std::map<std::pair<std::string, std::string>, std::vector<Capped>> by_curve;
  for (const auto& [cells, part] : group_by(rows_, key, places_)) {
    RowIndices free;
    for (const std::size_t p : part)
      if (rows_.text(p, "register_route") == "free") free.push_back(p);
    if (free.empty()) continue;
    for (const auto& [cap, line] : group_by(rows_, {"register_route", "register_cap"}, part)) {
      if (cap[0].is_empty || cap[1].is_empty || cap[0].text == "free") continue;
      const std::size_t best = fastest_of(line);
      const std::size_t usual = fastest_of(free);
      const double ratio = rows_.rate(best) / rows_.rate(usual);
      const std::string what = subject(rows_, best);
      const double spilled = rows_.number(best, "local_bytes");
      const bool is_sure = ratio > 1 ? is_beyond_noise(best, usual) : is_beyond_noise(usual, best);
      by_curve[{cells[0].text, cells[1].text}].push_back(
          {.ratio = ratio,
           .finding = {
               .kind = Kind::register_cap,
               .words = what + " " + loss_or_gain(ratio, 1, is_plural(what)) + " at best with " +
                        text("%.0f registers", rows_.number(best, "registers_per_thread")) +
                        block_size_phrase(best, usual) +
                        text(" instead of the compiler's %.0f", rows_.number(usual, "registers_per_thread")) +
                        block_size_phrase(usual, best) +
                        (spilled > 0 ? text(" (%.0f B spilled)", spilled) : ""),
               .effect = std::abs(std::log(ratio)),
               .score = !is_sure || std::abs(1 - ratio) < min_loss ? 0
                        : ratio > 1                                ? std::min(1.0, ratio - 1)
                                                                   : 0.7 * (1 - ratio),
               .cases = {rows_.text(best, "case_id"), rows_.text(usual, "case_id")}}});
    }
  }
  std::vector<Capped> best;
  const Capped* worst = nullptr;
  for (const auto& [_, some] : by_curve) {
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
  if (is_news) {  // a cap that is too tight goes last
    found.push_back(worst->finding);
    found.back().effect = found.back().score = 0;
  }
  return found;
}

/// The time of a loop iteration over the baseline's at as many warps: the largest of each form.
Clauses Analyst::baselines() const {
  const auto cycles = [&](std::size_t row) { return rows_.cycles(row); };
  const std::vector<double> baseline_cycles = baseline_values(rows_, places_, cycles);
  std::map<std::vector<Cell>, std::vector<std::pair<std::size_t, double>>> by;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t p = places_[i];
    const double ratio = rows_.cycles(p) / baseline_cycles[i];
    if (rows_.text(p, "baseline").empty() || rows_.text(p, "baseline") == rows_.text(p, "variant")) continue;
    if (!std::isnan(ratio)) by[{rows_.cell(p, "family"), rows_.cell(p, "form")}].emplace_back(p, ratio);
  }
  Clauses found;
  for (const auto& [_, part] : by) {
    const auto& [row, ratio] =
        *std::ranges::max_element(part, {}, [](const auto& each) { return std::abs(std::log(each.second)); });
    std::vector<std::string> where;
    if (description_.dial != "warps_per_sm" && !std::isnan(dial(row))) where.push_back(at(dial(row)));
    where.push_back(value_of(description_.name, "warps_per_sm", rows_.number(row, "warps_per_sm")));
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

}  // namespace occbench::findings
