// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/whatif/print.hpp"

#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t title_room = 60;
constexpr double negligible = 0.03;  // smaller changes are within the errors of the model and of a GPU

struct WhatIfRow {
  const whatif::Anchored& kernel;
  const Change& change;

  [[nodiscard]] const theory::Footprint& footprint() const { return change.launch.footprint; }
  [[nodiscard]] bool is_measured() const { return change.dial == "as measured"; }
  [[nodiscard]] double time_s() const { return change.answer->time_ratio * kernel.kernel().time_s; }
};

/// Unknown without an answer.
Value of_answer(const WhatIfRow& row, auto member) {
  return row.change.answer ? Value(member(*row.change.answer)) : Value();
}

/// "32 registers", "blocks of 256", "on an a100"
std::string change_text(const WhatIfRow& row) {
  const Change& c = row.change;
  if (c.dial == "registers_per_thread") return c.value + " registers";
  if (c.dial == "block_size") return "blocks of " + c.value;
  if (c.dial == "dynamic_smem_bytes")
    return with_thousands(row.footprint().dynamic_smem_bytes) + " B dynamic";
  if (c.dial == "gpu") return "on " + c.value;
  return c.dial;
}

std::string micros(double seconds) { return significant(1e6 * seconds); }

using Row = const WhatIfRow&;
using Answer = whatif::Answer;

/// The table for people has rows with an answer.
constexpr Column<WhatIfRow> columns[] = {
    {"kernel", [](Row r) { return Value(printable(binary::demangle(r.kernel.kernel().program.variant))); }},
    {"dial", [](Row r) { return Value(r.change.dial); }, "change", change_text},
    {"value", [](Row r) { return Value(r.change.value); }},
    {"gpu", [](Row r) { return Value(r.change.gpu); }},
    {"registers_per_thread", [](Row r) { return Value(std::int64_t{r.footprint().registers_per_thread}); },
     "registers", [](Row r) { return with_thousands(r.footprint().registers_per_thread); }},
    {"block_size", [](Row r) { return Value(std::int64_t{r.footprint().block_size}); }, "threads",
     [](Row r) { return with_thousands(r.footprint().block_size); }},
    {"dynamic_smem_bytes",
     [](Row r) { return Value(static_cast<std::int64_t>(r.footprint().dynamic_smem_bytes)); }},
    {"grid_size", [](Row r) { return Value(std::int64_t{r.change.launch.grid_size}); }},
    {"blocks_per_sm",
     [](Row r) {
       return of_answer(r, [](const Answer& a) { return std::int64_t{a.occupancy.blocks_per_sm}; });
     },
     "blocks per SM", [](Row r) { return with_thousands(r.change.answer->occupancy.blocks_per_sm); }},
    {"warps_per_sm",
     [](Row r) {
       return of_answer(r, [](const Answer& a) { return std::int64_t{a.occupancy.warps_per_sm}; });
     }},
    {"occupancy", [](Row r) { return of_answer(r, [](const Answer& a) { return a.occupancy.fraction; }); },
     "occupancy", [](Row r) { return percent(r.change.answer->occupancy.fraction); }},
    {"limiters",
     [](Row r) {
       return of_answer(r, [](const Answer& a) { return theory::to_string(a.occupancy.limiters); });
     }},
    {nullptr, nullptr, "time us", [](Row r) { return micros(r.time_s()); }},
    {"time_ratio", [](Row r) { return of_answer(r, [](const Answer& a) { return a.time_ratio; }); }, "ratio",
     [](Row r) { return r.is_measured() ? "" : text("x %.2f", r.change.answer->time_ratio); }},
    {"time_ratio_low", [](Row r) { return of_answer(r, [](const Answer& a) { return a.low_ratio; }); }},
    {"time_ratio_high", [](Row r) { return of_answer(r, [](const Answer& a) { return a.high_ratio; }); },
     "90 % band",
     [](Row r) {
       return r.is_measured() ? ""
                              : text("%.2f to %.2f", r.change.answer->low_ratio, r.change.answer->high_ratio);
     }},
    {"time_s", [](Row r) { return r.change.answer ? Value(r.time_s()) : Value(); }},
    {"bound",
     [](Row r) {
       return of_answer(r, [](const Answer& a) { return std::string(theory::to_string(a.bound)); });
     },
     "bound", [](Row r) { return std::string(theory::to_string(r.change.answer->bound)); }},
    {"model_off", [](Row r) { return Value(r.kernel.model_error()); }},
    {"status", [](Row r) { return Value(r.change.status); }},
};

void print_table(std::ostream& out, const std::string& format, const whatif::Anchored& kernel,
                 const std::vector<WhatIfRow>& rows) {
  const whatif::Kernel& k = kernel.kernel();
  print_wrapped(
      out, printable(binary::short_name(k.program.variant, title_room)) + " on " + kernel.gpu().facts.name);
  print_wrapped(out, micros(k.time_s) + " us measured; model error before anchoring: " +
                         text("%+.1f %%", 100 * kernel.model_error()));
  out << '\n';
  std::vector<WhatIfRow> answered;
  for (const WhatIfRow& row : rows)
    if (row.change.answer) answered.push_back(row);
  print_cells(out, format, table_of(columns, answered));
  out << '\n';
  const auto print_note = [&out](const std::string& note) {
    constexpr std::size_t room = 78, max_lines = 9;
    for (const std::string& line : wrap_and_clip(note, room, max_lines)) out << "  " << line << '\n';
  };
  print_note("Ratio: predicted over measured time; below 1 is faster. Within " +
             text("%.0f %%", 100 * negligible) + " of 1: no difference.");
  for (const std::string& line : k.assumptions) print_note("Assumed unchanged: " + line + ".");
  for (const WhatIfRow& row : rows)
    if (!row.change.answer) print_note(change_text(row) + ": " + row.change.status);
}

}  // namespace

void print_whatif(std::ostream& out, const std::string& format, const whatif::Anchored& kernel,
                  const std::vector<Change>& changes) {
  std::vector<WhatIfRow> rows;
  for (const Change& change : changes) rows.push_back({kernel, change});
  if (format == "csv") return print_csv(out, columns, rows);
  if (format != "json") return print_table(out, format, kernel, rows);
  Json all = Json::array();
  for (const WhatIfRow& row : rows) all.push_back(json_of(columns, row));
  out << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace occbench::commands
