// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/columns.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/check.hpp"
#include "harness/io/join.hpp"

namespace occbench::commands {
namespace {

using Row = const InspectedKernel&;
using Rows = std::span<const InspectedKernel>;

template <typename T>
std::string with_thousands_or_unknown(const std::optional<T>& value) {
  return value ? with_thousands(*value) : "unknown";
}

/// Unknown without a device.
Value of_answer(Row row, auto value) { return row.device == nullptr ? Value() : Value(value); }

std::int64_t constant_bytes(Row row) {
  std::int64_t sum = 0;
  for (const auto& [bank, bytes] : row.kernel->constant_bytes) sum += static_cast<std::int64_t>(bytes);
  return sum;
}

/// "0:536 3:400"
std::string constant_banks(Row row) {
  std::string text;
  for (const auto& [bank, bytes] : row.kernel->constant_bytes)
    text += (text.empty() ? "" : " ") + std::to_string(bank) + ":" + std::to_string(bytes);
  return text;
}

Value step_change(const std::optional<UsefulStep>& step) { return step ? Value(step->change) : Value(); }
Value step_occupancy(const std::optional<UsefulStep>& step) {
  return step ? Value(step->occupancy) : Value();
}
std::string step_text(const std::optional<UsefulStep>& step) {
  if (!step) return "none";
  return step->change + ": " + (step->blocks_per_sm == 0 ? "cannot launch" : percent(step->occupancy));
}

std::string short_file_name(Row row) {
  constexpr std::size_t file_room = 28;
  std::string name = std::filesystem::path(row.kernel->file).filename().string();
  if (name.find('(') == std::string::npos)  // "lib.so)" of "a.whl(a/lib.so)"
    name.erase(std::min(name.find(')'), name.size()));
  return printable(name.size() <= file_room ? name : "..." + name.substr(name.size() - file_room + 3));
}

/// "100.0 % with 128, 256, 512 and 9 more"
std::string highest_occupancy(Row row) {
  constexpr std::size_t sizes_listed = 6;
  const InspectedKernel& best = row.ranked[0];
  if (!best.answer.launches()) return "cannot launch";
  std::vector<std::string> sizes;
  for (const InspectedKernel& each : row.ranked)
    if (each.answer.occupancy.fraction == best.answer.occupancy.fraction)
      sizes.push_back(with_thousands(each.query.footprint.block_size));
  return percent(best.answer.occupancy.fraction) + " with " + join_first(sizes, sizes_listed);
}

bool any(Rows rows, bool (*holds)(Row)) { return std::ranges::any_of(rows, holds); }
bool is_ranked(Rows rows) { return !rows[0].ranked.empty(); }
bool is_not_ranked(Rows rows) { return !is_ranked(rows); }

constexpr InspectColumn columns[] = {
    {{"kernel", [](Row r) { return Value(binary::demangle(r.kernel->use.name)); }, "kernel",
      [](Row r) { return table_name(*r.kernel); }},
     Type::text},
    {{"file", [](Row r) { return Value(r.kernel->file); }, "file", short_file_name,
      [](Rows rows) {
        return std::ranges::any_of(rows, [&](Row r) { return r.kernel->file != rows[0].kernel->file; });
      }},
     Type::text},
    {{"architecture", [](Row r) { return Value(r.kernel->architecture); }, "code for",
      [](Row r) { return r.kernel->architecture; },
      [](Rows rows) {
        return std::ranges::any_of(
            rows, [&](Row r) { return r.kernel->architecture != rows[0].kernel->architecture; });
      }},
     Type::text},
    {{"device", [](Row r) { return of_answer(r, r.device == nullptr ? "" : r.device->facts.name); }},
     Type::text},
    {{"registers_per_thread", [](Row r) { return or_unknown(r.kernel->use.registers_per_thread); },
      "registers",
      [](Row r) {
        return (r.kernel->is_linked ? "" : ">= ") +
               with_thousands(r.kernel->use.registers_per_thread.value_or(0));
      }},
     Type::number},
    {{"static_smem_bytes",
      [](Row r) {  // an unlinked kernel may get more
        return r.kernel->is_linked ? Value(static_cast<std::int64_t>(r.kernel->use.static_smem_bytes))
                                   : Value();
      }},
     Type::number},
    {{"dynamic_smem_bytes",
      [](Row r) { return of_answer(r, static_cast<std::int64_t>(r.query.footprint.dynamic_smem_bytes)); }},
     Type::number},
    {{nullptr, nullptr, "shared B",
      [](Row r) {
        if (!r.kernel->is_linked) return std::string("unknown");
        const theory::Footprint& f = r.query.footprint;
        return with_thousands(r.device == nullptr ? r.kernel->use.static_smem_bytes
                                                  : f.static_smem_bytes + f.dynamic_smem_bytes);
      }},
     Type::text},
    {{"stack_bytes", [](Row r) { return or_unknown(r.kernel->use.stack_bytes); }, "stack B",
      [](Row r) { return with_thousands_or_unknown(r.kernel->use.stack_bytes); },
      [](Rows rows) { return any(rows, [](Row r) { return r.kernel->use.stack_bytes != std::size_t{0}; }); }},
     Type::number},
    {{"spill_bytes", [](Row r) { return or_unknown(r.kernel->use.spill_bytes); }, "spilled B",
      [](Row r) { return with_thousands_or_unknown(r.kernel->use.spill_bytes); }},
     Type::number},
    {{"has_local_array", [](Row r) { return or_unknown(r.kernel->has_local_array); }}, Type::number},
    {{"barriers", [](Row r) { return or_unknown(r.kernel->use.barriers); }, "barriers",
      [](Row r) { return with_thousands(r.kernel->use.barriers.value_or(0)); },
      [](Rows rows) { return any(rows, [](Row r) { return r.kernel->use.barriers.value_or(0) > 1; }); }},
     Type::number},
    {{"virtual_resources", [](Row r) { return Value(std::int64_t{r.kernel->virtual_resources}); }},
     Type::number},
    {{"tensor_columns", [](Row r) { return or_unknown(r.kernel->tensor_columns); }}, Type::number},
    {{"is_linked", [](Row r) { return Value(std::int64_t{r.kernel->is_linked}); }}, Type::number},
    {{"launch_bound", [](Row r) { return or_unknown(r.kernel->launch_bound); }}, Type::number},
    {{"largest_block", [](Row r) { return or_unknown(r.largest_block); }, "largest block",
      [](Row r) { return with_thousands_or_unknown(r.largest_block); },
      [](Rows rows) {
        return any(rows, [](Row r) {
          return r.device != nullptr && r.largest_block != r.device->facts.sm.max_threads_per_block;
        });
      }},
     Type::number},
    {{"cluster_size", [](Row r) { return or_unknown(r.kernel->use.cluster_size); }}, Type::number},
    {{"constant_bytes", [](Row r) { return Value(constant_bytes(r)); }}, Type::number},
    {{"constant_banks", [](Row r) { return Value(constant_banks(r)); }}, Type::text},
    {{"code_bytes", [](Row r) { return Value(static_cast<std::int64_t>(r.kernel->code_bytes)); }, "code B",
      [](Row r) { return with_thousands(r.kernel->code_bytes); }},
     Type::number},
    {{nullptr, nullptr, "highest occupancy", highest_occupancy, is_ranked}, Type::text},
    {{nullptr, nullptr, "the API's pick",
      [](Row r) {
        const auto pick = r.device == nullptr ? std::nullopt : api_pick(*r.device, r.query);
        return pick ? with_thousands(*pick) : "none";
      },
      is_ranked},
     Type::text},
    {{"block_size", [](Row r) { return of_answer(r, std::int64_t{r.query.footprint.block_size}); }, "threads",
      [](Row r) { return r.device == nullptr ? "-" : with_thousands(r.query.footprint.block_size); },
      [](Rows rows) { return is_not_ranked(rows) && !any(rows, [](Row r) { return r.is_chosen; }); }},
     Type::number},
    {{nullptr, nullptr, "threads*",
      [](Row r) { return r.device == nullptr ? "-" : with_thousands(r.query.footprint.block_size); },
      [](Rows rows) { return is_not_ranked(rows) && any(rows, [](Row r) { return r.is_chosen; }); }},
     Type::text},
    {{"blocks_per_sm", [](Row r) { return of_answer(r, std::int64_t{r.answer.occupancy.blocks_per_sm}); }},
     Type::number},
    {{"warps_per_sm", [](Row r) { return of_answer(r, std::int64_t{r.answer.occupancy.warps_per_sm}); }},
     Type::number},
    {{"occupancy", [](Row r) { return of_answer(r, r.answer.occupancy.fraction); }, "occupancy",
      [](Row r) { return r.device == nullptr ? "unknown" : percent(r.answer.occupancy.fraction); },
      is_not_ranked},
     Type::number},
    {{"limiters", [](Row r) { return of_answer(r, theory::to_string(r.answer.occupancy.limiters)); },
      "limited by",
      [](Row r) {
        if (r.device == nullptr) return std::string("-");
        return r.answer.launches() ? theory::to_string(r.answer.occupancy.limiters) : "cannot launch";
      },
      is_not_ranked},
     Type::text},
    {{"gains_with", [](Row r) { return step_change(r.gains); }, "gains with",
      [](Row r) { return step_text(r.gains); }, is_not_ranked},
     Type::text},
    {{"gains_occupancy", [](Row r) { return step_occupancy(r.gains); }}, Type::number},
    {{"loses_with", [](Row r) { return step_change(r.loses); }, "loses with",
      [](Row r) { return step_text(r.loses); }, is_not_ranked},
     Type::text},
    {{"loses_occupancy", [](Row r) { return step_occupancy(r.loses); }}, Type::number},
    {{"findings", [](Row r) { return Value(findings_text(r.findings)); }}, Type::text},
    {{"status", [](Row r) { return Value(r.answer.status); }}, Type::text},
};

}  // namespace

std::span<const InspectColumn> inspect_columns() { return columns; }

const InspectColumn& inspect_column(const std::string& name) {
  const auto find = [&](auto matches) -> const InspectColumn* {
    const auto is_match = [&](const InspectColumn& c) { return c.name != nullptr && matches(c.name); };
    if (std::ranges::count_if(columns, is_match) != 1) return nullptr;
    return &*std::ranges::find_if(columns, is_match);
  };
  if (const auto* exact = find([&](std::string_view own) { return own == name; })) return *exact;
  if (const auto* only = find([&](std::string_view own) { return !name.empty() && own.starts_with(name); }))
    return *only;
  throw UserError(Exit::usage, "no column '" + name + "'; there are " + join(csv_header(columns)));
}

}  // namespace occbench::commands
