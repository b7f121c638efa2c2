// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/columns.hpp"

#include <algorithm>
#include <string_view>

#include "benchmarks/framework/numbers.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {
namespace {

template <typename T>
Value number_or_unknown(const std::optional<T>& value) {
  return value ? Value(static_cast<std::int64_t>(*value)) : Value();
}

Value of_answer(const Inspected& row, auto value) { return row.device == nullptr ? Value() : Value(value); }

std::int64_t constant_bytes(const Inspected& row) {
  std::int64_t sum = 0;
  for (const auto& [bank, bytes] : row.kernel->constant_bytes) sum += static_cast<std::int64_t>(bytes);
  return sum;
}

/// "0:536 3:400"
std::string constant_banks(const Inspected& row) {
  std::string text;
  for (const auto& [bank, bytes] : row.kernel->constant_bytes)
    text += (text.empty() ? "" : " ") + std::to_string(bank) + ":" + std::to_string(bytes);
  return text;
}

Value step_text(const std::optional<UsefulStep>& step) { return step ? Value(step->text) : Value(); }
Value step_occupancy(const std::optional<UsefulStep>& step) {
  return step ? Value(step->occupancy) : Value();
}

// What an unlinked kernel will have is not known yet.
Value of_linked(const Inspected& row, Value value) { return row.kernel->is_linked ? value : Value(); }

constexpr InspectColumn columns[] = {
    {"kernel", false, [](const Inspected& r) { return Value(binary::demangled(r.kernel->use.name)); }},
    {"file", false, [](const Inspected& r) { return Value(r.kernel->file); }},
    {"architecture", false, [](const Inspected& r) { return Value(r.kernel->architecture); }},
    {"device", false,
     [](const Inspected& r) { return of_answer(r, r.device == nullptr ? "" : r.device->facts.name); }},
    {"registers_per_thread", true,
     [](const Inspected& r) { return number_or_unknown(r.kernel->use.registers_per_thread); }},
    {"static_smem_bytes", true,
     [](const Inspected& r) {
       return of_linked(r, static_cast<std::int64_t>(r.kernel->use.static_smem_bytes));
     }},
    {"dynamic_smem_bytes", true,
     [](const Inspected& r) {
       return of_answer(r, static_cast<std::int64_t>(r.query.footprint.dynamic_smem_bytes));
     }},
    {"stack_bytes", true, [](const Inspected& r) { return number_or_unknown(r.kernel->use.stack_bytes); }},
    {"spill_bytes", true, [](const Inspected& r) { return number_or_unknown(r.kernel->use.spill_bytes); }},
    {"has_local_array", true,
     [](const Inspected& r) { return number_or_unknown(r.kernel->has_local_array); }},
    {"barriers", true, [](const Inspected& r) { return number_or_unknown(r.kernel->use.barriers); }},
    {"launch_bound", true, [](const Inspected& r) { return number_or_unknown(r.kernel->launch_bound); }},
    {"largest_block", true, [](const Inspected& r) { return number_or_unknown(r.largest_block); }},
    {"cluster_size", true, [](const Inspected& r) { return number_or_unknown(r.kernel->use.cluster_size); }},
    {"constant_bytes", true, [](const Inspected& r) { return Value(constant_bytes(r)); }},
    {"constant_banks", false, [](const Inspected& r) { return Value(constant_banks(r)); }},
    {"code_bytes", true,
     [](const Inspected& r) { return Value(static_cast<std::int64_t>(r.kernel->code_bytes)); }},
    {"block_size", true,
     [](const Inspected& r) { return of_answer(r, std::int64_t{r.query.footprint.block_size}); }},
    {"blocks_per_sm", true,
     [](const Inspected& r) { return of_answer(r, std::int64_t{r.answer.occupancy.blocks_per_sm}); }},
    {"warps_per_sm", true,
     [](const Inspected& r) { return of_answer(r, std::int64_t{r.answer.occupancy.warps_per_sm}); }},
    {"occupancy", true, [](const Inspected& r) { return of_answer(r, r.answer.occupancy.fraction); }},
    {"limiters", false,
     [](const Inspected& r) { return of_answer(r, theory::to_string(r.answer.occupancy.limiters)); }},
    {"gains_with", false, [](const Inspected& r) { return step_text(r.gains); }},
    {"gains_occupancy", true, [](const Inspected& r) { return step_occupancy(r.gains); }},
    {"loses_with", false, [](const Inspected& r) { return step_text(r.loses); }},
    {"loses_occupancy", true, [](const Inspected& r) { return step_occupancy(r.loses); }},
    {"findings", false, [](const Inspected& r) { return Value(findings_text(r.findings)); }},
    {"status", false, [](const Inspected& r) { return Value(r.answer.status); }},
};

}  // namespace

std::span<const InspectColumn> inspect_columns() { return columns; }

const InspectColumn& inspect_column(const std::string& name) {
  const auto found = std::ranges::find_if(columns, [&](const InspectColumn& c) { return c.name == name; });
  if (found != std::end(columns)) return *found;
  const auto begins = [&](const InspectColumn& c) {
    return !name.empty() && std::string_view(c.name).starts_with(name);
  };
  if (std::ranges::count_if(columns, begins) == 1) return *std::ranges::find_if(columns, begins);
  std::string known;
  for (const InspectColumn& column : columns) known += (known.empty() ? "" : ", ") + std::string(column.name);
  throw UserError(Exit::usage, "no column '" + name + "'; there are " + known);
}

std::string cell(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return shortest(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return csv::no_formula(*text);
  return {};
}

nlohmann::ordered_json to_json(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

}  // namespace occbench::commands
