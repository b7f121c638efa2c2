// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr std::size_t rows_shown = 20, ranges_shown = 10, name_room = 32;

bool has_occupancy(const Kernel& k) { return k.blocks_per_sm > 0 && !k.is_graph(); }

std::string share_name(double share) {
  for (const int whole : {2, 3, 4, 8})
    if (const double n = share * whole; std::abs(n - std::round(n)) < 1e-9)
      return text("%.0f/%d warps", n, whole);
  return text("%.0f %% warps", 100 * share);
}

int target_of(const Kernel& k, double share) {
  return std::clamp(static_cast<int>(std::lround(share * k.blocks_per_sm)), 1,
                    std::max(1, k.blocks_per_sm - 1));
}

/// What the level of `levels[n]` changed, with its own share of the warps where that is another. Empty where
/// a level before it is the same.
std::string level_cell(const Kernel& k, const Verdict& v, const std::vector<double>& levels, std::size_t n) {
  const int target = target_of(k, levels[n]);
  const auto found = std::ranges::find(v.levels, target, &LevelResult::blocks_per_sm);
  const auto is_before = [&](double share) { return target_of(k, share) == target; };
  if (found == v.levels.end() ||
      std::any_of(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(n), is_before))
    return "";
  constexpr double near = 0.05;
  const std::string change =
      signed_part(found->change.value) + text(" ±%.1f", 50 * (found->change.high - found->change.low));
  return std::abs(found->warps - levels[n]) < near ? change : change + text(" @%.0f %%", 100 * found->warps);
}

std::string verdict_cell(const Kernel& k, const Verdict& v) { return describe_verdict(k, v).sentence; }

std::string next_cell(const Kernel& k, const Verdict& v) { return describe_verdict(k, v).advice; }

/// A column of a table of kernels.
struct TableColumn {
  std::string head;
  std::function<std::string(const Kernel&, const Verdict&)> cell;
};

/// The kernels with these numbers, as far as there is room.
void print_rows(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                const std::vector<TableColumn>& columns, const std::vector<std::size_t>& numbers) {
  std::vector<csv::Row> table(1);
  for (const TableColumn& column : columns) table[0].push_back(column.head);
  for (std::size_t n = 0; n < std::min(numbers.size(), rows_shown); ++n) {
    csv::Row& row = table.emplace_back();
    for (const TableColumn& column : columns)
      row.push_back(column.cell(all.kernels[numbers[n]], verdicts[numbers[n]]));
  }
  print_aligned(out, table);
  if (numbers.size() > rows_shown)
    out << "and " << with_thousands(numbers.size() - rows_shown) << " more in kernels.csv\n";
}

void add_level_columns(std::vector<TableColumn>& columns, const std::vector<double>& levels) {
  for (std::size_t n = 0; n < levels.size(); ++n)
    columns.push_back({share_name(levels[n]), [&levels, n](const Kernel& k, const Verdict& v) {
                         return level_cell(k, v, levels, n);
                       }});
  columns.push_back({"verdict", verdict_cell});
}

std::string limiter_cell(const Kernel&, const Verdict& v) {
  return v.limiters == theory::Limiter::none ? "-" : theory::to_string(v.limiters);
}

std::string range_cell(const Kernel& k) {
  return k.range.empty() ? "-" : clip(printable(k.range), name_room);
}

std::vector<TableColumn> columns_of_kernels(const Collected& all, const std::vector<double>& levels,
                                            bool is_observed) {
  using K = const Kernel&;
  using V = const Verdict&;
  const double total = all.total_us();
  std::vector<TableColumn> columns = {{"kernel", [](K k, V) { return name_of(k, name_room); }}};
  if (all.has_ranges()) columns.push_back({"range", [](K k, V) { return range_cell(k); }});
  columns.push_back({"grid", [&all](K k, V) { return grid_of(all, k); }});
  if (is_observed) columns.push_back({"block", [](K k, V) { return shape_of(k.block); }});
  columns.push_back({"launches", [](K k, V) { return with_thousands(k.launches); }});
  columns.push_back({"time", [total](K k, V) { return part(total > 0 ? k.total_us() / total : 0); }});
  columns.push_back({"mean", [](K k, V) { return time_of(k.mean_us()); }});
  if (is_observed) {
    columns.push_back({"regs", [](K k, V) { return with_thousands(k.footprint.registers_per_thread); }});
    columns.push_back({"shared B", [](K k, V) {
                         return with_thousands(k.footprint.static_smem_bytes +
                                               k.footprint.dynamic_smem_bytes);
                       }});
    columns.push_back(
        {"waves", [](K k, V) { return has_occupancy(k) ? text("%.1f", k.waves(k.blocks_per_sm)) : "-"; }});
  }
  columns.push_back({"occupancy", [](K k, V v) { return has_occupancy(k) ? part(v.occupancy) : "-"; }});
  columns.push_back({"limited by", limiter_cell});
  if (!is_observed) add_level_columns(columns, levels);
  columns.push_back({"next step", next_cell});
  return columns;
}

std::vector<TableColumn> columns_of_graphs(const std::vector<double>& levels) {
  using K = const Kernel&;
  using V = const Verdict&;
  std::vector<TableColumn> columns = {
      {"in CUDA graphs", [](K k, V) { return short_name_of(k.name, name_room); }},
      {"grid", [](K k, V) { return shape_of(k.grid); }},
      {"graph", [](K k, V) { return k.whole ? std::to_string(*k.whole) : "-"; }},
      {"times", [](K k, V) { return with_thousands(k.graph_kernels); }},
      {"occupancy", [](K, V v) { return part(v.occupancy); }},
      {"limited by", limiter_cell},
  };
  add_level_columns(columns, levels);
  columns.push_back({"next step", next_cell});
  return columns;
}

/// "cluster launch 20.1 %, NCCL 3.0 %": each reason with its part of `total`.
std::string parts_of(const std::map<std::string, double>& reasons, double total) {
  std::string parts;
  for (const auto& [reason, amount] : reasons)
    parts += (parts.empty() ? "" : ", ") + reason + " " + part(total > 0 ? amount / total : 0);
  return parts;
}

/// Kernels in CUDA graphs: those that change their graph's time most come first.
void print_graphs(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                  const std::vector<double>& levels) {
  std::vector<std::size_t> numbers;
  std::map<std::string, double> skipped;
  std::uint64_t kernels = 0;
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& k = all.kernels[i];
    if (!k.is_in_graph()) continue;
    kernels += k.launches * k.graph_kernels;
    if (verdicts[i].finding == Finding::skipped)
      skipped[verdicts[i].why] += static_cast<double>(k.launches * k.graph_kernels);
    else
      numbers.push_back(i);
  }
  if (kernels == 0) return;
  std::ranges::stable_sort(numbers, std::greater<>(), [&](std::size_t i) {
    double most = -1;
    for (const LevelResult& level : verdicts[i].levels) most = std::max(most, std::abs(level.change.value));
    return most;
  });
  if (!numbers.empty()) {
    print_rows(out, all, verdicts, columns_of_graphs(levels), numbers);
    out << "Changes are of the graph's time, with fewer warps in that kernel alone.\n\n";
  }
  if (const std::string parts = parts_of(skipped, static_cast<double>(kernels)); !parts.empty())
    print_wrapped(out, "Skipped, of the kernels in graphs: " + parts + ".");
}

std::string processes(std::uint64_t n) { return with_thousands(n) + (n == 1 ? " process" : " processes"); }

/// Where --timing asked for CUPTI: whether it could be used.
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

void print_ranges(std::ostream& out, const Collected& all) {
  std::map<std::string, double> us;
  for (const Kernel& k : all.kernels)
    us[k.range.empty() ? "outside" : clip(printable(k.range), name_room)] += k.total_us();
  std::vector<std::pair<std::string, double>> most(us.begin(), us.end());
  std::ranges::stable_sort(most, std::greater<>(), &std::pair<std::string, double>::second);
  const double total = all.total_us();
  std::string line = "By range, of GPU time: ";
  for (std::size_t i = 0; i < std::min(most.size(), ranges_shown); ++i)
    line += (i == 0 ? "" : ", ") + most[i].first + ' ' + part(total > 0 ? most[i].second / total : 0);
  print_wrapped(out, line + (most.size() > ranges_shown ? ", and more in kernels.csv." : "."));
}

/// What was launched, counted.
struct Totals {
  std::uint64_t launches = 0, captured = 0, graphs = 0, replayed = 0;
  std::vector<std::size_t> kernels;  ///< numbers of those outside graphs, and of whole graphs

  explicit Totals(const Collected& all) {
    for (std::size_t i = 0; i < all.kernels.size(); ++i) {
      const Kernel& k = all.kernels[i];
      if (k.is_in_graph()) continue;
      kernels.push_back(i);
      launches += k.launches;
      captured += k.captured;
      graphs += k.is_graph() ? k.launches : 0;
      replayed += k.is_graph() ? k.launches * k.graph_kernels : 0;
    }
  }
};

void print_head(std::ostream& out, const Collected& all, const Totals& totals) {
  std::string head = "occbench attach: " + with_thousands(totals.launches) + " launches of " +
                     count_of(totals.kernels.size(), "kernel") + " in " + processes(all.processes.size()) +
                     ", " + duration(all.total_us() * 1e-6) + " of GPU time";
  for (const AttachedDevice& device : all.devices) head += ", " + printable(device.name);
  out << '\n';
  print_wrapped(out, head);
  if (const std::string time = sentence_of_time(all); !time.empty()) print_wrapped(out, time);
  out << '\n';
}

}  // namespace

void print_attached(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                    const std::vector<double>& levels, bool is_observed) {
  const Totals totals(all);
  print_head(out, all, totals);
  print_rows(out, all, verdicts, columns_of_kernels(all, levels, is_observed), totals.kernels);
  out << '\n';
  if (!is_observed) print_graphs(out, all, verdicts, levels);
  if (totals.captured > 0)
    print_wrapped(out, with_thousands(totals.captured) +
                           " launches were captured into CUDA graphs: counted, not timed one by one.");
  if (totals.graphs > 0)
    print_wrapped(out, with_thousands(totals.graphs) + " launches of CUDA graphs ran " +
                           with_thousands(totals.replayed) + " kernels: timed as wholes.");
  if (all.has_ranges()) print_ranges(out, all);
  print_timing(out, all);
  if (is_observed && std::ranges::none_of(verdicts, [](const Verdict& v) { return is_judged(v.finding); }))
    return;
  for (const std::string& line :
       {sentence_of_graphs(all, verdicts), sentence(all, verdicts), sentence_of_judged(all, verdicts)})
    if (!line.empty()) print_wrapped(out, line);
}

}  // namespace occbench::commands
