// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_table.hpp"

#include <algorithm>
#include <utility>

namespace occbench::binary {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// A launch has an ID; a summary begins with the process or device. pandas adds an index before them.
bool is_header(const csv::Row& cells) {
  constexpr const char* first[] = {"ID", "Process ID", "Device", "Kernel Name"};
  return cells.size() > 1 && std::ranges::find(first, cells[cells[0].empty() ? 1 : 0]) != std::end(first) &&
         std::ranges::find(cells, "Kernel Name") != cells.end();
}

/// The column of a summary used for a metric: the mean for times, the largest for footprints.
const char* summary_column(const std::string& metric) {
  return metric == "Duration" || metric == "gpu__time_duration.sum" ? "Average" : "Maximum";
}

}  // namespace

csv::Record table_cells(std::string_view line, char separator) {
  constexpr std::string_view blanks = " \t";
  const auto trim = [&](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
  };
  if (separator != '|') return csv::parse(line, separator);
  line = trim(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  csv::Record record = csv::parse(line, separator);
  for (std::string& cell : record.fields) cell = trim(cell);
  return record;
}

bool NcuTable::read_header(const std::string& line) {
  if (line.find("Kernel Name") == std::string::npos) return false;
  const auto* const found = std::ranges::find_if(
      separators, [&](char separator) { return is_header(table_cells(line, separator).fields); });
  if (found == std::end(separators)) return false;
  separator_ = *found;
  header_ = table_cells(line, separator_).fields;
  units_.clear();
  at_.clear();
  for (std::size_t i = 0; i < header_.size(); ++i) at_.try_emplace(header_[i], i);
  needed_cells_ = header_.size();
  if (is_details()) {
    needed_cells_ = 0;
    for (const char* const value : {"Metric Value", "Maximum", "Average"})
      if (at_.contains(value)) needed_cells_ = std::max(needed_cells_, at_.at(value) + 1);
  }
  ++tables_;
  return true;
}

bool NcuTable::read(const std::string& printed) {
  const std::size_t indent = std::min(printed.find_first_not_of(" \t"), printed.size());
  std::string line = printed.substr(indent);
  if (line.starts_with("==")) return false;
  if (read_header(line)) {
    indent_ = indent;
    return false;
  }
  constexpr const char* rule = "|-: ";  // below Markdown's header
  if (header_.empty() || line.find_first_not_of(rule) == std::string::npos) return false;
  if (separator_ == '\t') line = printed.substr(std::min(indent, indent_));  // the first cells may be empty
  csv::Record record = table_cells(line, separator_);
  cells_ = std::move(record.fields);
  const bool is_quoted = line.starts_with('"');
  const bool is_value_cut =
      is_quoted && is_details() && cells_.size() == needed_cells_ && line.ends_with(separator_);
  const bool is_short = cells_.size() < needed_cells_ || is_value_cut;
  const bool may_be_row = is_quoted && (line.size() == 1 || is_number(cells_[0]));
  if (may_be_row && (is_short || !record.complete)) is_cut_ = true;
  if (is_short || cells_.size() > header_.size() || !record.complete) return false;
  cells_.resize(header_.size());
  if (at_.contains("ID") && !is_number(cell("ID"))) {
    units_ = cells_;  // second line of page raw
    return false;
  }
  return !cell("Kernel Name").empty();
}

std::string NcuTable::id() const {
  std::string text = std::to_string(tables_);
  const bool has_id = at_.contains("ID");
  for (const char* const name : {"Process ID", "Device", "ID"}) text += ' ' + cell(name);
  if (!has_id)
    for (const char* const name : {"Kernel Name", "Block Size", "Grid Size"}) text += '\n' + cell(name);
  return text;
}

std::string NcuTable::cell(const std::string& name) const {
  const auto found = at_.find(name);
  return found == at_.end() ? std::string() : cells_[found->second];
}

void NcuTable::each_metric(
    const std::function<void(const std::string&, const std::string&, const std::string&)>& take) const {
  if (is_details()) {
    const std::string name = cell("Metric Name");
    take(name, cell(at_.contains("Metric Value") ? "Metric Value" : summary_column(name)),
         cell("Metric Unit"));
    return;
  }
  for (std::size_t i = 0; i < cells_.size(); ++i)
    take(header_[i], cells_[i], i < units_.size() ? units_[i] : "");
}

}  // namespace occbench::binary
