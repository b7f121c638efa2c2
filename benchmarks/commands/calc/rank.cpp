// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/rank.hpp"

#include <algorithm>

#include "benchmarks/commands/calc/columns.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {

namespace {

struct RankedLine {
  const RankedSize& ranked;
  bool is_api_pick;
};

const theory::Occupancy& occupancy_of(const RankedLine& l) { return l.ranked.answer.occupancy; }

constexpr TextColumn<RankedLine> ranked_columns[] = {
    {"block size",
     [](const RankedLine& l) {
       return with_thousands(l.ranked.query.footprint.block_size) +
              (l.is_api_pick ? " (the API's pick)" : "");
     }},
    {"blocks per SM", [](const RankedLine& l) { return std::to_string(occupancy_of(l).blocks_per_sm); }},
    {"warps", [](const RankedLine& l) { return std::to_string(occupancy_of(l).warps_per_sm); }},
    {"occupancy", [](const RankedLine& l) { return percent(occupancy_of(l).fraction); }},
    {"limited by",
     [](const RankedLine& l) {
       return l.ranked.answer.launches() ? theory::to_string(occupancy_of(l).limiters) : "cannot launch";
     }},
};

}  // namespace

std::vector<RankedSize> rank_block_sizes(const CalcDevice& device, const Query& query) {
  const theory::SmLimits& sm = device.facts.sm;
  std::vector<RankedSize> ranked;
  for (int threads = sm.warp_size; threads <= sm.max_threads_per_block; threads += sm.warp_size) {
    Query of_size = query;
    of_size.footprint.block_size = threads;
    ranked.push_back({of_size, answer(device, of_size)});
  }
  std::ranges::stable_sort(ranked, [](const RankedSize& a, const RankedSize& b) {
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
  const std::vector<RankedSize> ranked = rank_block_sizes(device, query);
  if (format == "json") {
    Json all = Json::array();
    for (const RankedSize& r : ranked) all.push_back(answer_json(device.facts, r.query, r.answer));
    out << all.dump(2) << '\n';
    return;
  }
  if (format == "csv") {
    std::vector<AnswerRow> rows;
    for (const RankedSize& r : ranked) rows.push_back({device.facts, r.query, r.answer});
    return print_csv(out, csv_columns(), rows);
  }
  const theory::Footprint& f = query.footprint;
  print_wrapped(out, device.facts.name + ": " + with_thousands(f.registers_per_thread) + " registers, " +
                         with_thousands(f.static_smem_bytes) + " B static + " +
                         with_thousands(f.dynamic_smem_bytes) +
                         " B dynamic shared memory; block sizes by occupancy");
  out << '\n';
  const std::optional<int> pick = api_pick(device, query);
  std::vector<RankedLine> lines;
  for (const RankedSize& r : ranked) lines.push_back({r, r.query.footprint.block_size == pick});
  print_aligned(out, table_of(ranked_columns, lines));
  if (const Answer& best = ranked.front().answer; best.status != "ok") {
    out << '\n';
    print_wrapped(out, best.status, "  ");
  }
}

}  // namespace occbench::commands
