// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_table.hpp"

#include <utility>

namespace occbench::binary {

bool NcuTable::read(const std::string& line) {
  if (line.starts_with("==") || (header_.empty() && !line.starts_with("\"ID\"") && !line.starts_with("ID,")))
    return false;
  csv::Record record = csv::parse(line);
  cells_ = std::move(record.fields);
  if (!cells_.empty() && cells_[0] == "ID") {
    header_ = cells_;
    units_.clear();
    at_.clear();
    for (std::size_t i = 0; i < header_.size(); ++i) at_.try_emplace(header_[i], i);
    ++tables_;
    return false;
  }
  const bool is_row = line.starts_with('"') && !cells_[0].empty() &&
                      cells_[0].find_first_not_of("0123456789") == std::string::npos;
  if (is_row && (cells_.size() < header_.size() || !record.complete)) is_cut_ = true;
  if (cells_.size() != header_.size()) return false;
  if (cells_[0].empty() || cells_[0].find_first_not_of("0123456789") != std::string::npos) {
    units_ = cells_;  // a raw page's second line
    return false;
  }
  return true;
}

std::string NcuTable::id() const {
  return std::to_string(tables_) + " " + cell("Process ID") + " " + cells_[0];
}

std::string NcuTable::cell(const std::string& name) const {
  const auto found = at_.find(name);
  return found == at_.end() ? std::string() : cells_[found->second];
}

void NcuTable::each_metric(
    const std::function<void(const std::string&, const std::string&, const std::string&)>& take) const {
  if (at_.contains("Metric Name")) {
    take(cell("Metric Name"), cell("Metric Value"), cell("Metric Unit"));
    return;
  }
  for (std::size_t i = 0; i < cells_.size(); ++i)
    take(header_[i], cells_[i], i < units_.size() ? units_[i] : "");
}

}  // namespace occbench::binary
