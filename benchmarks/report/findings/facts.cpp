// SPDX-License-Identifier: Apache-2.0
// What needs no comparison along the dial: the best, latencies, the clock, the model's misses.
#include "benchmarks/report/findings/analyst.hpp"

namespace occbench::findings {

namespace {
constexpr double far_off = 0.1;     // error of the model that is a miss
constexpr double least_gap = 0.03;  // of occupancy, between plain division and the SM
}  // namespace

Clauses Analyst::fastest() const {
  std::set<std::string> units;
  for (const Line& line : curves_) units.insert(rows_.unit(line.places.front()));
  std::map<std::string, RowIndices> by;
  for (const std::size_t p : places_)
    if (curves_.empty() || units.contains(rows_.unit(p))) by[rows_.unit(p)].push_back(p);
  std::vector<const RowIndices*> parts;
  for (const auto& [unit, part] : by) parts.push_back(&part);
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const RowIndices* part) { return part->size(); });
  Clauses found;
  for (const RowIndices* part : parts) {
    const std::size_t row = fastest_of(*part);
    std::string where = value_of(description_.name, "occupancy_theoretical", occupancy(row));
    if (description_.dial != "occupancy_theoretical" && !std::isnan(dial(row)))
      where = at(dial(row)) + (description_.is_over_residency() ? "" : ", " + where);
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
  return {{.kind = Kind::fastest, .words = fit_sentence(parts)}};
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
  if (!(low < (1 - min_loss) * high)) return {};
  return {{.kind = Kind::note, .words = text("the SM clock moved between %.2f and %.2f GHz", low, high)}};
}

/// Where the occupancy API's block size is surely slower than another; of the kernel that loses most.
Clauses Analyst::api_pick() const {
  std::optional<Finding> found;
  if (description_.dial != "block_size") return {};
  for (const Line& line : curves_) {
    const std::size_t best = fastest_of(line.places);
    for (const std::size_t p : line.places) {
      if (rows_.number(p, "block_size_api") != rows_.number(p, "block_size")) continue;
      const double loss = 1 - rows_.rate(p) / rows_.rate(best);
      if (loss < min_loss || !is_beyond_noise(best, p) || (found && loss <= found->score)) continue;
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

/// Where the course text's plain division and the SM are furthest apart: observed occupancy where measured,
/// else theoretical.
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
  const bool is_by_smem = rows_.text(row, "limiters").find("shared_memory") != std::string::npos;
  const double smem = rows_.number(row, "static_smem_bytes") + rows_.number(row, "dynamic_smem_bytes");
  return {{.kind = Kind::textbook,
           .words = text("for %.0f registers", rows_.number(row, "registers_per_thread")) +
                    (is_by_smem ? ", " + amount("dynamic_smem_bytes", smem) + " of shared memory" : "") +
                    " and blocks of " + amount("block_size", rows_.number(row, "block_size")) +
                    text(" plain division gives %.0f %% occupancy; the SM has %.0f %%", 100 * plain_at,
                         100 * real_at),
           .score = 0.5 * widest,
           .cases = {rows_.text(row, "case_id")}}};
}

/// Where predictions are far from what was measured.
Clauses Analyst::model_misses() const {
  if (environment_.value("source", nlohmann::json()) == nlohmann::json("model") ||
      description_.is_outside_model)
    return {};
  std::size_t predicted = 0;
  std::size_t far = 0;
  double worst = 0;
  std::size_t row = 0;
  for (const std::size_t p : places_) {
    const double prediction = rows_.number(p, "throughput_predicted");
    if (!(prediction > 0)) continue;
    ++predicted;
    const double error = prediction / rows_.number(p, "throughput") - 1;
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
           .words = text("the model misses %zu of ", far) + count_of(predicted, "case") +
                    text(" by over %.0f %%, most for ", 100 * far_off) + short_name(row) +
                    (std::isnan(dial(row)) ? "" : " at " + at(dial(row))) + text(": %+.0f %%", 100 * worst),
           .score = is_sure ? std::min(0.4, 0.4 * std::abs(std::log1p(worst))) : 0,
           .cases = {rows_.text(row, "case_id")}}};
}

}  // namespace occbench::findings
