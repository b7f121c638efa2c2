// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/print.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr std::size_t rows_shown = 20, ranges_shown = 10, name_room = 32, part_room = 20;

std::string part(double share) { return text("%.1f %%", 100 * share); }

std::string signed_part(double change) { return text("%+.1f %%", 100 * change); }

std::string time_of(double us) {
  if (us < 1e3) return text("%.1f us", us);
  return us < 1e6 ? text("%.2f ms", us * 1e-3) : text("%.2f s", us * 1e-6);
}

std::string name_of(const Kernel& k) {
  if (k.after.empty()) return printable(binary::short_name(k.name, name_room));
  return printable(binary::short_name(k.name, part_room) + " after " +
                   binary::short_name(k.after, part_room));
}

std::string shape(const unsigned (&n)[3]) {
  std::string words = std::to_string(n[0]);
  if (n[1] > 1 || n[2] > 1) words += 'x' + std::to_string(n[1]);
  if (n[2] > 1) words += 'x' + std::to_string(n[2]);
  return words;
}

std::string share_name(double share) {
  for (const int whole : {2, 3, 4, 8})
    if (const double n = share * whole; std::abs(n - std::round(n)) < 1e-9)
      return text("%.0f/%d warps", n, whole);
  return text("%.0f %% warps", 100 * share);
}

/// What the level nearest to `share` changed. Another share of warps than asked for is said.
std::string level_cell(const Kernel& k, const Verdict& v, double share, std::vector<int>& shown) {
  const int target =
      std::clamp(static_cast<int>(std::lround(share * k.blocks_per_sm)), 1, std::max(1, k.blocks_per_sm - 1));
  const auto found = std::ranges::find(v.levels, target, &LevelFound::blocks_per_sm);
  if (found == v.levels.end() || std::ranges::find(shown, target) != shown.end()) return "";
  shown.push_back(target);
  constexpr double near = 0.05;
  const std::string said =
      signed_part(found->change.value) + text(" ±%.1f", 50 * (found->change.high - found->change.low));
  return std::abs(found->warps - share) < near ? said : said + text(" @%.0f %%", 100 * found->warps);
}

std::string verdict_cell(const Kernel& k, const Verdict& v) {
  std::string said = words_of(v.finding);
  if (v.finding == Finding::saturated && v.saturated_to) said += text(" to %.0f %%", 100 * *v.saturated_to);
  if (v.finding == Finding::needs_occupancy && v.l1->low > worth_it)
    said += ", and L1 (" + signed_part(v.l1->value) + " without)";
  if (v.finding == Finding::needs_l1) said += " (" + signed_part(v.l1->value) + " without)";
  if (v.finding == Finding::faster_at_lower_occupancy) {
    const auto best = std::ranges::min_element(
        v.levels, {}, [](const LevelFound& level) { return level.from_untouched.value; });
    said += " (" + signed_part(best->from_untouched.value) + text(" at %.0f %%)", 100 * best->warps);
  }
  if (v.finding == Finding::waves) said += text(" (%.1f)", k.waves(k.blocks_per_sm));
  if (!v.why.empty()) said += ": " + v.why;
  return said;
}

std::string next_cell(const Verdict& v) {
  if (v.next.needs.empty()) return "none";
  if (!v.gain) return v.next.needs;
  if (v.gain->value < no_change) return v.next.needs + ": not worth it";
  return v.next.needs +
         text(": %+.1f %% (%+.1f to %+.1f)", -100 * v.gain->value, -100 * v.gain->high, -100 * v.gain->low);
}

/// Kernels in CUDA graphs: those that change their graph's time most come first.
void print_graphs(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                  const std::vector<double>& levels) {
  std::vector<std::size_t> rows;
  std::map<std::string, std::uint64_t> alone;
  std::uint64_t kernels = 0;
  const auto change = [&](std::size_t i) {
    double most = -1;
    for (const LevelFound& level : verdicts[i].levels) most = std::max(most, std::abs(level.change.value));
    return most;
  };
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& k = all.kernels[i];
    if (!k.is_in_graph()) continue;
    kernels += k.launches * k.graph_kernels;
    if (verdicts[i].finding == Finding::skipped)
      alone[verdicts[i].why] += k.launches * k.graph_kernels;
    else
      rows.push_back(i);
  }
  if (kernels == 0) return;
  std::ranges::stable_sort(rows, std::greater<>(), change);
  std::vector<csv::Row> table = {{"in CUDA graphs", "grid", "graph", "times", "occupancy", "limited by"}};
  for (const double share : levels) table[0].push_back(share_name(share));
  table[0].insert(table[0].end(), {"verdict", "next step"});
  for (const std::size_t i : rows) {
    if (table.size() > rows_shown) break;
    const Kernel& k = all.kernels[i];
    const Verdict& v = verdicts[i];
    csv::Row row = {printable(binary::short_name(k.name, name_room)),
                    shape(k.grid),
                    k.whole ? std::to_string(*k.whole) : "-",
                    grouped(k.graph_kernels),
                    part(v.occupancy),
                    v.limiters == theory::Limiter::none ? "-" : theory::to_string(v.limiters)};
    std::vector<int> shown;
    for (const double share : levels) row.push_back(level_cell(k, v, share, shown));
    row.push_back(verdict_cell(k, v));
    row.push_back(next_cell(v));
    table.push_back(std::move(row));
  }
  if (table.size() > 1) {
    print_aligned(out, table);
    if (rows.size() > rows_shown)
      out << "and " << grouped(rows.size() - rows_shown) << " more in kernels.csv\n";
    out << "Changes are of the graph's time, with fewer warps in that kernel alone.\n\n";
  }
  std::string said;
  for (const auto& [reason, count] : alone)
    said += (said.empty() ? "" : ", ") + reason + " " +
            part(static_cast<double>(count) / static_cast<double>(kernels));
  if (!said.empty()) print_wrapped(out, "Skipped, of the kernels in graphs: " + said + ".");
}

void print_skipped(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts) {
  std::map<std::string, double> reasons;
  for (std::size_t i = 0; i < verdicts.size(); ++i)
    if (verdicts[i].finding == Finding::skipped && !all.kernels[i].is_in_graph())
      reasons[verdicts[i].why] += all.kernels[i].total_us();
  const double total = all.total_us();
  std::string said;
  for (const auto& [reason, us] : reasons)
    said += (said.empty() ? "" : ", ") + reason + " " + part(total > 0 ? us / total : 0);
  if (!said.empty()) print_wrapped(out, "Skipped, of GPU time: " + said + ".");
}

std::string processes(std::uint64_t n) { return grouped(n) + (n == 1 ? " process" : " processes"); }

/// Where CUPTI was asked for: whether it was to be had.
void print_timing(std::ostream& out, const Collected& all) {
  std::map<std::string, std::uint64_t> reasons;
  std::uint64_t recorded = 0;
  for (const AttachedProcess& process : all.processes) {
    if (process.timing == "activity") ++recorded;
    if (!process.why_events.empty()) ++reasons[process.why_events];
  }
  if (recorded > 0) print_wrapped(out, "Timed by CUPTI's records: " + processes(recorded) + ".");
  for (const auto& [why, n] : reasons)
    print_wrapped(out, "Timed by events: " + processes(n) + ": " + printable(why) + ".");
}

std::string range_cell(const Kernel& k) {
  return k.range.empty() ? "-" : clipped(printable(k.range), name_room);
}

void print_ranges(std::ostream& out, const Collected& all) {
  std::map<std::string, double> us;
  for (const Kernel& k : all.kernels)
    us[k.range.empty() ? "outside" : clipped(printable(k.range), name_room)] += k.total_us();
  std::vector<std::pair<std::string, double>> most(us.begin(), us.end());
  std::ranges::stable_sort(most, std::greater<>(), &std::pair<std::string, double>::second);
  const double total = all.total_us();
  std::string said = "By range, of GPU time: ";
  for (std::size_t i = 0; i < std::min(most.size(), ranges_shown); ++i)
    said += (i == 0 ? "" : ", ") + most[i].first + ' ' + part(total > 0 ? most[i].second / total : 0);
  print_wrapped(out, said + (most.size() > ranges_shown ? ", and more in kernels.csv." : "."));
}

}  // namespace

void print_attached(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                    const std::vector<double>& levels, bool is_observed) {
  std::uint64_t launches = 0, captured = 0, graphs = 0, replayed = 0, in_graphs = 0;
  for (const Kernel& k : all.kernels) {
    if (k.is_in_graph()) {
      ++in_graphs;
      continue;
    }
    launches += k.launches;
    captured += k.captured;
    graphs += k.is_graph() ? k.launches : 0;
    replayed += k.is_graph() ? k.launches * k.graph_kernels : 0;
  }
  const double total = all.total_us();
  std::string head = "occbench attach: " + grouped(launches) + " launches of " +
                     count_of(all.kernels.size() - in_graphs, "kernel") + " in " +
                     processes(all.processes.size()) + ", " + duration(total * 1e-6) + " of GPU time";
  for (const AttachedDevice& device : all.devices) head += ", " + printable(device.name);
  out << '\n';
  print_wrapped(out, head);
  out << '\n';
  const bool by_range = all.has_ranges();
  std::vector<csv::Row> table = {{"kernel", "grid", "block"}};
  if (!is_observed) table[0].pop_back();
  if (by_range) table[0].insert(table[0].begin() + 1, "range");
  table[0].insert(table[0].end(), {"launches", "time", "mean"});
  if (is_observed) table[0].insert(table[0].end(), {"regs", "shared B", "waves"});
  table[0].insert(table[0].end(), {"occupancy", "limited by"});
  if (!is_observed) {
    for (const double share : levels) table[0].push_back(share_name(share));
    table[0].emplace_back("verdict");
  }
  table[0].emplace_back("next step");
  for (std::size_t i = 0; i < all.kernels.size() && table.size() <= rows_shown; ++i) {
    const Kernel& k = all.kernels[i];
    if (k.is_in_graph()) continue;
    const Verdict& v = verdicts[i];
    static const theory::SmLimits none;
    const theory::SmLimits& sm = k.device < all.devices.size() ? all.devices[k.device].sm : none;
    csv::Row row = {name_of(k),
                    shape(k.grid) + (k.sms > 0 && k.sms < sm.sm_count ? text(" on %d SMs", k.sms) : "")};
    if (is_observed) row.push_back(shape(k.block));
    if (by_range) row.insert(row.begin() + 1, range_cell(k));
    row.insert(row.end(), {grouped(k.launches), part(total > 0 ? k.total_us() / total : 0),
                           k.untouched_timed == 0 ? "-" : time_of(k.mean_us())});
    if (is_observed)
      row.insert(row.end(),
                 {grouped(k.footprint.registers_per_thread),
                  grouped(k.footprint.static_smem_bytes + k.footprint.dynamic_smem_bytes),
                  k.blocks_per_sm > 0 && !k.is_graph() ? text("%.1f", k.waves(k.blocks_per_sm)) : "-"});
    row.push_back(k.blocks_per_sm > 0 && !k.is_graph() ? part(v.occupancy) : "-");
    row.push_back(v.limiters == theory::Limiter::none ? "-" : theory::to_string(v.limiters));
    std::vector<int> shown;
    if (!is_observed) {
      for (const double share : levels) row.push_back(level_cell(k, v, share, shown));
      row.push_back(verdict_cell(k, v));
    }
    row.push_back(next_cell(v));
    table.push_back(std::move(row));
  }
  print_aligned(out, table);
  if (all.kernels.size() - in_graphs > rows_shown)
    out << "and " << grouped(all.kernels.size() - in_graphs - rows_shown) << " more in kernels.csv\n";
  out << '\n';
  if (!is_observed) print_graphs(out, all, verdicts, levels);
  if (captured > 0)
    print_wrapped(
        out, grouped(captured) + " launches were captured into CUDA graphs: counted, not timed one by one.");
  if (graphs > 0)
    print_wrapped(out, grouped(graphs) + " launches of CUDA graphs ran " + grouped(replayed) +
                           " kernels: timed as wholes.");
  if (by_range) print_ranges(out, all);
  print_timing(out, all);
  if (is_observed) return;
  print_skipped(out, all, verdicts);
  if (const std::string said = sentence_of_graphs(all, verdicts); !said.empty()) print_wrapped(out, said);
  if (const std::string said = sentence(all, verdicts); !said.empty()) print_wrapped(out, said);
}

}  // namespace occbench::commands
