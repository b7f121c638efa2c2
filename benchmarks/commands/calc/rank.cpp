// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/rank.hpp"

#include <algorithm>

#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

std::vector<Ranked> rank_block_sizes(const CalcDevice& device, const Query& query) {
  const theory::SmLimits& sm = device.facts.sm;
  std::vector<Ranked> ranked;
  for (int threads = sm.warp_size; threads <= sm.max_threads_per_block; threads += sm.warp_size) {
    Query of_size = query;
    of_size.footprint.block_size = threads;
    ranked.push_back({of_size, answer(device, of_size)});
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    return std::pair(a.answer.launches(), a.answer.occupancy.fraction) >
           std::pair(b.answer.launches(), b.answer.occupancy.fraction);
  });
  return ranked;
}

std::optional<int> api_pick(const CalcDevice& device, const Query& query) {
  return theory::potential_block_size(device.facts.sm, query.footprint);
}

void print_ranked(std::ostream& out, const std::string& format, const CalcDevice& device,
                  const Query& query) {
  const std::vector<Ranked> ranked = rank_block_sizes(device, query);
  if (format == "json") {
    Json all = Json::array();
    for (const Ranked& r : ranked) all.push_back(answer_json(device.facts, r.query, r.answer));
    out << all.dump(2) << '\n';
    return;
  }
  if (format == "csv") {
    out << csv::format(answer_header());
    for (const Ranked& r : ranked) out << csv::format(answer_row(device, r.query, r.answer));
    return;
  }
  const theory::Footprint& f = query.footprint;
  print_wrapped(out, device.facts.name + ": " + grouped(f.registers_per_thread) + " registers, " +
                         grouped(f.static_smem_bytes) + " B static + " + grouped(f.dynamic_smem_bytes) +
                         " B dynamic shared memory; block sizes by occupancy");
  out << '\n';
  const std::optional<int> pick = api_pick(device, query);
  std::vector<csv::Row> rows = {{"block size", "blocks per SM", "warps", "occupancy", "limited by"}};
  for (const auto& [q, a] : ranked) {
    const std::string mark = q.footprint.block_size == pick ? " (the API's pick)" : "";
    rows.push_back({grouped(q.footprint.block_size) + mark, std::to_string(a.occupancy.blocks_per_sm),
                    std::to_string(a.occupancy.warps_per_sm), percent(a.occupancy.fraction),
                    a.launches() ? theory::to_string(a.occupancy.limiters) : "cannot launch"});
  }
  print_aligned(out, rows);
  if (const Answer& best = ranked.front().answer; best.status != "ok") {
    out << '\n';
    print_wrapped(out, best.status, "  ");
  }
}

}  // namespace occbench::commands
