// SPDX-License-Identifier: Apache-2.0
// What spilled registers cost by who has too few of them, and by where they spill to.
#include <optional>
#include <set>

#include "benchmarks/report/findings/own/view.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/join.hpp"

namespace occbench::findings {

namespace {

/// A kernel that spills to shared memory, and the same kernel that spills to local memory.
struct Pair {
  std::size_t smem, local;
};

std::optional<Pair> pair_of(const View& v, std::size_t smem) {
  const std::string& baseline = v.text(smem, "baseline");
  if (baseline.empty()) return std::nullopt;
  for (const std::size_t p : v.places)
    if (v.text(p, "variant") == baseline &&
        v.text(p, "asked_resident_blocks") == v.text(smem, "asked_resident_blocks"))
      return Pair{smem, p};
  return std::nullopt;
}

/// "gain 2.4 to 26.7 %", "lose 30.0 %", "change by -0.1 to +0.9 %"
std::string gains(const View& v, const std::vector<Pair>& pairs) {
  std::vector<double> ratios;
  for (const Pair& pair : pairs) ratios.push_back(v.rows.rate(pair.smem) / v.rows.rate(pair.local));
  const auto [low, high] = std::ranges::minmax(ratios);
  if (high - low < case_precision) return loss_or_gain(high, 1, true);
  if (low >= 1) return text("gain %.1f to %.1f %%", 100 * (low - 1), 100 * (high - 1));
  if (high <= 1) return text("lose %.1f to %.1f %%", 100 * (1 - high), 100 * (1 - low));
  return text("change by %+.1f to %+.1f %%", 100 * (low - 1), 100 * (high - 1));
}

/// "8 to 5", "6 to 5": blocks per SM.
std::vector<std::string> lost_blocks(const View& v, const std::vector<Pair>& pairs) {
  std::set<std::pair<double, double>, std::greater<>> found;
  for (const Pair& pair : pairs)
    found.emplace(v.number(pair.local, "blocks_per_sm"), v.number(pair.smem, "blocks_per_sm"));
  std::vector<std::string> words;
  for (const auto& [before, after] : found) words.push_back(text("%.0f to %.0f", before, after));
  return words;
}

}  // namespace

Sentences smem_spilling(const View& v) {
  struct Kernel {
    std::vector<Pair> equal, fewer;  // blocks per SM
  };
  std::map<std::string, Kernel> kernels;  // by curve
  for (const std::size_t p : v.places)
    if (const auto pair = pair_of(v, p)) {
      Kernel& kernel = kernels[v.text(p, "curve")];
      const bool is_equal = v.number(p, "blocks_per_sm") == v.number(pair->local, "blocks_per_sm");
      (is_equal ? kernel.equal : kernel.fewer).push_back(*pair);
    }
  Sentences clauses;
  const auto add = [&](const std::vector<Pair>& pairs, const std::string& where) {
    const auto [smem, local] = pairs.front();
    clauses.emplace_back(v.what(smem) + " " + gains(v, pairs) + " against local memory " + where,
                         RowIndices{smem, local});
  };
  for (const auto& [_, kernel] : kernels) {
    if (!kernel.equal.empty()) add(kernel.equal, "with as many blocks per SM");
    if (!kernel.fewer.empty())
      add(kernel.fewer, "with fewer blocks (" + join(lost_blocks(v, kernel.fewer)) + " per SM)");
  }
  return clauses;
}

Sentences warp_roles(const View& v) {
  const RowIndices clean = v.only([&](std::size_t p) { return v.number(p, "local_bytes") == 0; });
  RowIndices spilling = v.only([&](std::size_t p) { return v.number(p, "local_bytes") > 0; });
  if (clean.empty()) return {};
  const auto registers = [&](std::size_t p) { return v.number(p, "register_cap"); };
  const std::size_t fewest = v.least(clean, "register_cap");
  Sentences clauses;
  if (!spilling.empty()) {
    std::ranges::sort(spilling, std::greater{}, registers);
    std::vector<std::string> losses;
    for (const std::size_t p : spilling)
      losses.push_back(
          text("%+.1f %% with %.0f", 100 * (v.rows.rate(p) / v.rows.rate(fewest) - 1), registers(p)));
    clauses.emplace_back(v.what(fewest) +
                             text(" spill below %.0f registers per consumer thread: ", registers(fewest)) +
                             join(losses),
                         RowIndices{fewest});
  }
  if (clean.size() > 1) {
    const auto [low, high] = ends_of(clean, [&](std::size_t p) { return v.rows.rate(p); });
    const double spread = high / low - 1;
    clauses.push_back(
        text("from %.0f to %.0f registers per consumer thread nothing spills, and the rate ",
             registers(fewest), registers(v.most(clean, "register_cap"))) +
        (spread < case_precision ? "does not change" : text("changes by %.1f %%", 100 * spread)));
  }
  return clauses;
}

}  // namespace occbench::findings
