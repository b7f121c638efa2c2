// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/whatif/print.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "benchmarks/commands/calc/payoff.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "benchmarks/report/words.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t title_room = 60;
constexpr double nothing = 0.03;  // less is not told apart from chance, in the model or on a GPU

const char* const columns[] = {"kernel",
                               "dial",
                               "value",
                               "gpu",
                               "registers_per_thread",
                               "block_size",
                               "dynamic_smem_bytes",
                               "grid_size",
                               "blocks_per_sm",
                               "warps_per_sm",
                               "occupancy",
                               "limiters",
                               "time_ratio",
                               "time_ratio_low",
                               "time_ratio_high",
                               "time_s",
                               "bound",
                               "model_off",
                               "status"};

using Json = nlohmann::ordered_json;

/// In the order of `columns`; null where there is no answer.
std::vector<Json> cells(const whatif::Anchored& kernel, const WhatIf& row) {
  const theory::Footprint& f = row.launch.footprint;
  std::vector<Json> all = {printable(binary::demangled(kernel.kernel().program.variant)),
                           row.dial,
                           row.value,
                           row.gpu,
                           f.registers_per_thread,
                           f.block_size,
                           f.dynamic_smem_bytes,
                           row.launch.grid_size};
  if (const auto& a = row.answer) {
    for (Json cell : std::initializer_list<Json>{
             a->occupancy.blocks_per_sm, a->occupancy.warps_per_sm, a->occupancy.fraction,
             theory::to_string(a->occupancy.limiters), a->time_ratio, a->low_ratio, a->high_ratio,
             a->time_ratio * kernel.kernel().time_s, std::string(theory::to_string(a->bound))})
      all.push_back(std::move(cell));
  } else {
    all.resize(std::size(columns) - 2);
  }
  all.insert(all.end(), {kernel.model_error(), row.status});
  return all;
}

std::string text_of(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_number_float()) return shortest(cell.get<double>());
  return cell.is_string() ? csv::no_formula(cell.get<std::string>()) : cell.dump();
}

std::string times(double ratio) { return text("x %.2f", ratio); }

std::string micros(double seconds) { return significant(1e6 * seconds); }

/// "32 registers", "blocks of 256", "on an a100"
std::string words_of(const WhatIf& row) {
  if (row.dial == "registers_per_thread") return row.value + " registers";
  if (row.dial == "block_size") return "blocks of " + row.value;
  if (row.dial == "dynamic_smem_bytes")
    return grouped(row.launch.footprint.dynamic_smem_bytes) + " B dynamic";
  if (row.dial == "gpu") return "on " + row.value;
  return row.dial;
}

}  // namespace

void print_whatif(std::ostream& out, const std::string& format, const whatif::Anchored& kernel,
                  const std::vector<WhatIf>& rows) {
  if (format == "csv") {
    out << csv::format(csv::Row(std::begin(columns), std::end(columns)));
    for (const WhatIf& row : rows) {
      csv::Row line;
      for (const Json& cell : cells(kernel, row)) line.push_back(text_of(cell));
      out << csv::format(line);
    }
    return;
  }
  if (format == "json") {
    Json all = Json::array();
    for (const WhatIf& row : rows) {
      const std::vector<Json> line = cells(kernel, row);
      Json one;
      for (std::size_t i = 0; i < line.size(); ++i) one[columns[i]] = line[i];
      all.push_back(std::move(one));
    }
    out << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return;
  }
  const whatif::Kernel& k = kernel.kernel();
  print_wrapped(
      out, printable(binary::short_name(k.program.variant, title_room)) + " on " + kernel.gpu().facts.name);
  print_wrapped(out, micros(k.time_s) + " us measured, " + text("%+.1f %%", 100 * kernel.model_error()) +
                         " by the model before it is anchored");
  out << '\n';
  std::vector<csv::Row> table = {{"change", "registers", "threads", "blocks per SM", "occupancy", "time us",
                                  "ratio", "90 % band", "bound"}};
  std::vector<std::string> refused;
  for (const WhatIf& row : rows) {
    if (!row.answer) {
      refused.push_back(words_of(row) + ": " + row.status);
      continue;
    }
    const whatif::Answer& a = *row.answer;
    const bool is_base = row.dial == "as measured";
    table.push_back({words_of(row), grouped(row.launch.footprint.registers_per_thread),
                     grouped(row.launch.footprint.block_size), grouped(a.occupancy.blocks_per_sm),
                     percent(a.occupancy.fraction), micros(a.time_ratio * k.time_s),
                     is_base ? "" : times(a.time_ratio),
                     is_base ? "" : text("%.2f to %.2f", a.low_ratio, a.high_ratio),
                     std::string(theory::to_string(a.bound))});
  }
  print_cells(out, format, table);
  out << '\n';
  const auto say = [&out](const std::string& words) {
    constexpr std::size_t room = 78, most_lines = 9;
    for (const std::string& line : wrapped(words, room, most_lines)) out << "  " << line << '\n';
  };
  say("A ratio is of times: below 1 is faster. What lies within " + text("%.0f %%", 100 * nothing) +
      " of 1 is chance.");
  for (const std::string& line : k.assumed) say("Taken as it was: " + line + ".");
  for (const std::string& line : refused) say(line);
}

}  // namespace occbench::commands
