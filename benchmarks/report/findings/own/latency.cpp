// SPDX-License-Identifier: Apache-2.0
// Cycles of one load: from caches, DRAM and shared memory.
#include <array>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

Sentences pointer_chase(const View& v) {
  Sentences clauses;
  const auto cycles = [&](std::size_t p) { return v.rows.cycles(p); };
  const auto median_of = [&](const RowIndices& some, const std::function<double(std::size_t)>& value) {
    std::vector<double> values;
    for (const std::size_t p : some) values.push_back(value(p));
    return median(values);
  };
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> levels{
      {{"l1", "L1"}, {"l2", "L2"}, {"dram", "DRAM"}}};
  std::map<std::string_view, double> idle;
  std::string words;
  RowIndices rows;
  for (const auto& [variant, level] : levels) {
    const RowIndices chain = v.only([&](std::size_t p) { return v.text(p, "variant") == variant; });
    const double count = median_of(chain, [&](std::size_t p) { return cycles_by_events(v, p); });
    if (!(count > 0)) continue;
    rows.push_back(chain.front());
    idle[variant] = count;
    words += text(words.empty() ? "%.0f cycles from " : ", %.0f from ", count) + std::string(level);
  }
  if (!idle.empty()) clauses.emplace_back("a dependent load takes " + words, rows);
  if (const RowIndices loaded = v.of_form("loaded"); !loaded.empty() && idle.contains("dram")) {
    const std::size_t top = v.most(loaded);
    clauses.push_back("under " + v.speed(top) + " of other reads a load takes " +
                      format_number(std::round(cycles(top))) +
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
  std::string differences;
  for (const auto& [variant, level] : levels) {
    const double timed = median_of(
        v.only(v.of_form("timed"), [&](std::size_t p) { return v.text(p, "baseline") == variant; }), cycles);
    if (idle.contains(variant) && !std::isnan(timed))
      differences += (differences.empty() ? "" : ", ") +
                     text("%+.1f %% in ", 100 * (timed / idle[variant] - 1)) + std::string(level);
  }
  if (!differences.empty())
    clauses.push_back("the clock around single loads differs from events by " + differences);
  return clauses;
}

Sentences shared_latency(const View& v) {
  Sentences clauses;
  const RowIndices reads = v.of_form("read");
  if (!reads.empty()) {
    const double lanes = v.number(v.most(reads, "bank_conflict"), "bank_conflict");
    if (lanes > 1) {
      const std::size_t best =
          v.most(v.only(reads, [&](std::size_t p) { return v.number(p, "bank_conflict") == lanes; }));
      clauses.emplace_back(
          text("%g lanes on one bank leave %.1f %% of the shared-memory bandwidth; 1/%g is %.1f %%", lanes,
               v.number(best, "percent_of_ceiling"), lanes, 100 / lanes),
          RowIndices{best});
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

}  // namespace occbench::findings
