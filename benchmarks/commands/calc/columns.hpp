// SPDX-License-Identifier: Apache-2.0
// The columns of calc's answers, for a batch, CSV and JSON.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "benchmarks/commands/calc/query.hpp"
#include "benchmarks/report/columns.hpp"

namespace occbench::commands {

struct AnswerRow {
  const theory::DeviceSpec& device;
  const Query& query;
  const Answer& answer;
  // Of a prediction:
  const theory::KernelClass* kernel = nullptr;
  std::optional<theory::ClassModel::Outcome> outcome = {};
  const char* cliff = "";  ///< the dial whose next cliff this row is at
};

/// Which tables have a column. A batch has its own query columns, `answer`, and `grid` if it gives grids; CSV
/// has `query`, `answer`, `more` and `grid` in this order; JSON has all, in the order of the list.
enum class Part { query, answer, grid, more, json };

[[nodiscard]] std::vector<Column<AnswerRow>> answer_columns(std::initializer_list<Part> parts);
[[nodiscard]] std::vector<Column<AnswerRow>> csv_columns();

/// Of `--predict`, in a batch and CSV.
[[nodiscard]] std::span<const Column<AnswerRow>> predicted_columns();
/// The column of CSV before them.
inline constexpr Column<AnswerRow> cliff_column = {"cliff",
                                                   [](const AnswerRow& r) { return Value(r.cliff); }};

/// All columns, and what is nested: the limits of each resource, what is unused, and the next cliffs.
[[nodiscard]] Json answer_json(const theory::DeviceSpec& device, const Query& query, const Answer& a);

}  // namespace occbench::commands
