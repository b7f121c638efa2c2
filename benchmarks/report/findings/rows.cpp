// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "benchmarks/report/curves.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/printable.hpp"
#include "harness/record/schema.hpp"

namespace occbench::findings {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double min_throughput = 1e-200;  // a lower rate is 0 in larger units, and no divisor

/// Columns, and what they were called until schema 6.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> old_names{
    {{"cycles_per_iteration", "cycles_per_pass"},            // retired
     {"own_cycles_per_iteration", "own_cycles_per_pass"}}};  // retired

double parse(const std::string& cell) {
  double value = not_a_number;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

struct Scale {
  std::string_view unit;
  double divisor;
  std::string_view name;
};
constexpr std::array<Scale, 3> scales{
    {{"byte/s", 1e9, "GB/s"}, {"flop/s", 1e12, "TFLOP/s"}, {"operation/s", 1e9, "G operations/s"}}};

const Scale* scale_of(std::string_view unit) {
  const auto* const found = std::ranges::find(scales, unit, &Scale::unit);
  return found == scales.end() ? nullptr : found;
}

/// Of rows that have the same value of the dial and that no column tells apart, the fastest.
RowIndices fastest_of_each(const Rows& rows, const RowIndices& places, std::string_view dial) {
  std::map<double, std::size_t> positions;  // in `fastest`, by value
  RowIndices fastest;
  for (const std::size_t place : places) {
    const auto [at, is_first] = positions.try_emplace(rows.number(place, dial), fastest.size());
    if (is_first)
      fastest.push_back(place);
    else if (rows.number(place, "throughput") > rows.number(fastest[at->second], "throughput"))
      fastest[at->second] = place;
  }
  return fastest;
}

/// Rows of one curve, cut by the first of `names` that vary until no value of the dial is there twice.
void cut(const Rows& rows, const RowIndices& places, std::string_view dial,
         std::span<const std::string> names, const std::vector<std::pair<std::string, Cell>>& fixed,
         std::vector<Line>& lines) {
  const std::size_t count = values_of(rows, places, dial);
  if (count == places.size()) {
    lines.push_back({.parts = fixed, .places = places});
    return;
  }
  for (std::size_t position = 0; position < names.size(); ++position) {
    const auto by = group_by(rows, {names[position]}, places);
    if (by.size() < 2) continue;
    // A column that leaves no curve follows the dial, as a register cap does.
    const bool leaves_a_curve = std::ranges::any_of(
        by, [&](const auto& part) { return values_of(rows, part.second, dial) >= min_points; });
    if (count >= min_points && !leaves_a_curve) continue;
    for (const auto& [cells, part] : by) {
      auto more = fixed;
      if (!cells[0].is_empty) more.emplace_back(names[position], cells[0]);
      cut(rows, part, dial, names.subspan(position + 1), more, lines);
    }
    return;
  }
  lines.push_back({.parts = fixed, .places = fastest_of_each(rows, places, dial)});
}

}  // namespace

Rows::Rows(std::vector<std::string> header, std::vector<std::vector<std::string>> cells,
           const std::string& name)
    : cells_(std::move(cells)), numbers_(header.size()) {
  for (std::size_t i = 0; i < header.size(); ++i) columns_.emplace(header[i], i);
  for (const char* column : {"experiment", "family", "variant", "curve", "status", "throughput",
                             "throughput_unit", "register_route", "occupancy_theoretical", "warps_per_sm"})
    if (!columns_.contains(column)) throw UserError(Exit::file, name + ": no column " + column);
  const std::size_t status = columns_.at("status");
  std::erase_if(cells_, [&](const auto& row) { return row[status] != "valid"; });
  // Ties go to the first row: by name, since a resumed run has its rows in another order.
  if (const auto id = columns_.find("case_id"); id != columns_.end())
    std::ranges::stable_sort(cells_, {},
                             [&](const auto& row) -> const std::string& { return row[id->second]; });
  // A name in a sentence stands between backticks, and has none of its own.
  for (const char* column : {"family", "variant", "curve", "form", "baseline"})
    if (const auto at = columns_.find(column); at != columns_.end())
      for (auto& row : cells_) {
        std::erase(row[at->second], '`');
        row[at->second] = printable(row[at->second]);
      }
  const std::vector<std::string> known = case_columns();
  for (const auto& [column, at] : columns_) {
    const bool is_old =
        std::ranges::find(old_names, column, [](const auto& r) { return r.second; }) != old_names.end();
    const bool is_new =
        std::ranges::find(old_names, column, [](const auto& r) { return r.first; }) != old_names.end();
    if (is_text_column(column) || (!is_old && !is_new && std::ranges::find(known, column) == known.end()))
      continue;
    std::vector<double>& numbers = numbers_[at];
    numbers.reserve(cells_.size());
    for (const auto& row : cells_) numbers.push_back(parse(row[at]));
  }
}

Rows Rows::of_csv(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  const auto header = csv::read(in);
  if (!header || !header->complete) throw UserError(Exit::file, name + " holds no row");
  RowCheck check(name, "cases.csv", header->fields);
  std::vector<std::vector<std::string>> cells;
  for (std::optional<csv::Record> row; (row = csv::read(in)) && check.is_whole(*row);) {
    check.check(row->fields);
    cells.push_back(std::move(row->fields));
  }
  return {header->fields, std::move(cells), name};
}

Rows Rows::of(const std::vector<CaseResult>& results) {
  std::vector<std::vector<std::string>> cells;
  for (const CaseResult& result : results) cells.push_back(case_fields(result));
  return {case_columns(), std::move(cells), "results"};
}

std::size_t Rows::index_of(std::string_view column) const {
  if (const auto found = columns_.find(column); found != columns_.end()) return found->second;
  const auto* const old = std::ranges::find(old_names, column, [](const auto& r) { return r.first; });
  if (old == old_names.end()) return absent;
  const auto found = columns_.find(old->second);
  return found == columns_.end() ? absent : found->second;
}

double Rows::number(std::size_t row, std::string_view column) const {
  const std::size_t at = index_of(column);
  return at == absent || numbers_[at].empty() ? not_a_number : numbers_[at][row];
}

const std::string& Rows::text(std::size_t row, std::string_view column) const {
  static const std::string none;
  const std::size_t at = index_of(column);
  return at == absent ? none : cells_[row][at];
}

Cell Rows::cell(std::size_t row, std::string_view column) const {
  if (is_text_column(column)) {
    const std::string& words = text(row, column);
    return {.is_empty = words.empty(), .text = words};
  }
  const double value = number(row, column);
  return {.is_empty = std::isnan(value), .number = std::isnan(value) ? 0 : value};
}

RowIndices Rows::of_experiment(std::string_view name) const {
  RowIndices places;
  for (std::size_t row = 0; row < size(); ++row)
    if (text(row, "experiment") == name && number(row, "throughput") > min_throughput) places.push_back(row);
  return places;
}

std::vector<std::string> Rows::experiments() const {
  std::set<std::string> names;
  for (std::size_t row = 0; row < size(); ++row) names.insert(text(row, "experiment"));
  names.erase("");
  return {names.begin(), names.end()};
}

double Rows::rate(std::size_t row) const {
  const Scale* scale = scale_of(text(row, "throughput_unit"));
  return number(row, "throughput") / (scale == nullptr ? 1 : scale->divisor);
}

std::string Rows::unit(std::size_t row) const {
  const Scale* scale = scale_of(text(row, "throughput_unit"));
  return scale == nullptr ? text(row, "throughput_unit") : std::string(scale->name);
}

double Rows::cycles(std::size_t row) const {
  const double own = number(row, "own_cycles_per_iteration");
  return own > 0 ? own : number(row, "cycles_per_iteration");
}

Description description_of(const nlohmann::json& environment, const std::string& experiment) {
  Description description{.name = experiment};
  const auto all = environment.find("experiments");
  if (all == environment.end() || !all->is_object()) return description;
  const auto found = all->find(experiment);
  if (found == all->end() || !found->is_object()) return description;
  const std::vector<std::string> known = case_columns();
  const auto is_column = [&](const nlohmann::json& name) {
    return name.is_string() && std::ranges::find(known, name.get<std::string>()) != known.end();
  };
  const auto entry = [&](const char* name) { return found->value(name, nlohmann::json()); };
  if (const auto dial = entry("dial"); is_column(dial) && !is_text_column(dial.get<std::string>()))
    description.dial = dial.get<std::string>();
  const auto& asked = requested_columns();
  for (const char* name : {"split_by", "parted_by"})  // the second is retired: until schema 6
    if (const auto columns = entry(name); columns.is_array())
      for (const auto& column : columns)
        if (is_column(column) && (!is_text_column(column.get<std::string>()) ||
                                  std::ranges::find(asked, column.get<std::string>()) != asked.end()))
          description.split_by.push_back(column.get<std::string>());
  if (const auto scale = entry("scale"); scale.is_string()) description.scale = scale.get<std::string>();
  description.compares_kernels = entry("compares_kernels") == nlohmann::json(true);
  const auto outside = entry("outside_model");
  description.is_outside_model = outside.is_string() && !outside.get<std::string>().empty();
  return description;
}

std::map<std::vector<Cell>, RowIndices> group_by(const Rows& rows, const std::vector<std::string>& columns,
                                                 const RowIndices& places) {
  std::map<std::vector<Cell>, RowIndices> by;
  for (const std::size_t place : places) {
    std::vector<Cell> key;
    key.reserve(columns.size());
    for (const std::string& column : columns) key.push_back(rows.cell(place, column));
    by[std::move(key)].push_back(place);
  }
  return by;
}

std::vector<Line> lines_of(const Rows& rows, const RowIndices& places, const Description& description) {
  const std::string& dial = description.dial;
  RowIndices on_dial;
  for (const std::size_t place : places)
    if (!std::isnan(rows.number(place, dial))) on_dial.push_back(place);
  std::vector<std::string> keys{"family", "curve"};
  for (const std::string& name : description.split_by)
    if (name != dial && rows.has(name)) keys.push_back(name);
  std::vector<std::string> more;
  for (const std::string& name : requested_columns())
    if (name != dial && std::ranges::find(keys, name) == keys.end() && rows.has(name)) more.push_back(name);
  std::vector<Line> lines;
  for (const auto& [cells, part] : group_by(rows, keys, on_dial)) {
    std::vector<std::pair<std::string, Cell>> fixed;
    for (std::size_t i = 2; i < keys.size(); ++i)
      if (!cells[i].is_empty) fixed.emplace_back(keys[i], cells[i]);
    cut(rows, part, dial, more, fixed, lines);
  }
  for (Line& line : lines)
    std::ranges::stable_sort(line.places, {}, [&](std::size_t place) { return rows.number(place, dial); });
  return lines;
}

std::size_t values_of(const Rows& rows, const RowIndices& places, std::string_view dial) {
  std::set<double> values;
  for (const std::size_t place : places)
    if (const double value = rows.number(place, dial); !std::isnan(value)) values.insert(value);
  return values.size();
}

}  // namespace occbench::findings
