// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/nsys_csv.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "harness/binary/ncu_table.hpp"
#include "harness/binary/rounded_smem.hpp"

namespace occbench::binary {
namespace {

struct NsysColumn {
  std::string_view nsys, nvprof;
};

// In the order of NsysCsv::Field.
constexpr NsysColumn nsys_columns[] = {{"Duration", "Duration"},   {"GrdX", "Grid X"},
                                       {"GrdY", "Grid Y"},         {"GrdZ", "Grid Z"},
                                       {"BlkX", "Block X"},        {"BlkY", "Block Y"},
                                       {"BlkZ", "Block Z"},        {"Reg/Trd", "Registers Per Thread"},
                                       {"StcSMem", "Static SMem"}, {"DymSMem", "Dynamic SMem"},
                                       {"Device", "Device"},       {"Name", "Name"}};

/// "NVIDIA A100-SXM4-80GB (0)" -> "NVIDIA A100-SXM4-80GB"; "kernel(int) [118]" -> "kernel(int)"
std::string without_number(const std::string& text, char open, char close) {
  const std::size_t at = text.rfind(std::string(" ") + open);
  if (at == std::string::npos || !text.ends_with(close)) return text;
  const bool is_number = text.find_first_not_of("0123456789", at + 2) == text.size() - 1;
  return is_number ? text.substr(0, at) : text;
}

csv::Row split(const std::string& line, std::string_view separator) {
  csv::Row cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end + separator.size();
  }
  return cells;
}

std::string trim(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

/// Splits at two or more blanks.
csv::Row titles(const std::string& line) {
  csv::Row cells;
  for (const std::string& part : split(line, "  "))
    if (std::string title = trim(part); !title.empty()) cells.push_back(std::move(title));
  return cells;
}

}  // namespace

bool NsysCsv::read_header(const csv::Row& cells) {
  std::array<std::size_t, field_count> at{};
  std::array<std::string, field_count> units;
  bool has_nvprof_names = false;
  for (std::size_t field = 0; field < field_count; ++field) {
    const auto found = std::ranges::find_if(cells, [&](const std::string& cell) {
      const std::string_view title = std::string_view(cell).substr(0, cell.find_first_of("("));
      const std::string_view text = title.substr(0, title.find_last_not_of(' ') + 1);
      return text == nsys_columns[field].nsys || text == nsys_columns[field].nvprof;
    });
    if (found == cells.end()) return false;
    has_nvprof_names |= field == grid_x && *found == nsys_columns[field].nvprof;
    at[field] = static_cast<std::size_t>(found - cells.begin());
    if (const std::size_t open = found->find('('); open != std::string::npos && found->ends_with(')'))
      units[field] = found->substr(open + 1, found->size() - open - 2);
  }
  header_ = cells, at_ = at, units_ = units, is_nsys_ = true, is_nvprof_ = has_nvprof_names;
  return true;
}

const std::string& NsysCsv::cell(const csv::Row& cells, Field field) const { return cells[at_[field]]; }

std::optional<ReportNumber> NsysCsv::number(const csv::Row& cells, Field field) const {
  return read_number(cell(cells, field), units_[field], '.', false);
}

bool NsysCsv::read_any_header(const std::string& line) {
  spans_.clear();
  layout_ = Layout::cells;
  for (const char separator : separators) {
    separator_ = separator;
    if (read_header(table_cells(line, separator).fields)) return true;
  }
  layout_ = Layout::columns;
  return read_header(titles(line));
}

csv::Row NsysCsv::cells_of(const std::string& line) {
  if (layout_ == Layout::cells) {
    csv::Record record = table_cells(line, separator_);
    if (!record.complete) record.fields.resize(std::min(record.fields.size(), header_.size() - 1));
    return std::move(record.fields);
  }
  if (line.find_first_not_of("- ") == line.npos) {
    spans_.clear();
    for (std::size_t at = 0; (at = line.find('-', at)) != line.npos;) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      spans_.push_back({at, end});
      at = end;
    }
    if (spans_.size() != header_.size()) spans_.clear();
    return {};
  }
  csv::Row cells;
  for (std::size_t end = 0; const Span& span : spans_) {
    if (span.begin >= line.size()) break;
    const std::string_view between = std::string_view(line).substr(end, span.begin - end);
    if (between.find_first_not_of(' ') != between.npos) return {};  // not a row
    const bool is_last = &span == &spans_.back();
    end = is_last ? line.size() : span.end;
    cells.push_back(trim(std::string_view(line).substr(span.begin, end - span.begin)));
  }
  return cells;
}

void NsysCsv::read(const std::string& printed) {
  const std::string line = printed.substr(std::min(printed.find_first_not_of('\t'), printed.size()));
  const bool may_be_header =
      line.find("Reg/Trd") != std::string::npos || line.find("Registers Per Thread") != std::string::npos;
  if (header_.empty() && !may_be_header) return;
  if (may_be_header && read_any_header(line)) return;
  if (line.starts_with("Processing [")) header_.clear();  // another report's table follows
  if (header_.empty() || line.starts_with("==")) return;
  const csv::Row cells = cells_of(line);
  if (cells.size() >= header_.size()) return read_row(cells);
  if (!cells.empty()) is_cut_ |= std::isdigit(static_cast<unsigned char>(cells[0].c_str()[0])) != 0;
}

void NsysCsv::read_row(const csv::Row& cells) {
  if (cell(cells, grid_x).empty() && !number(cells, duration)) {  // nvprof's second line
    for (std::size_t field = 0; field < field_count; ++field) {
      units_[field] = cells[at_[field]];
      if (units_[field] == "KB" || units_[field] == "MB") units_[field].insert(1, "i");  // 1,024 each
    }
    return;
  }
  std::array<std::int64_t, 7> counts{};  // grid, block and registers
  bool is_copy = true, is_known = true;  // a copy has none of these
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto field = static_cast<Field>(grid_x + i);
    const auto value = number(cells, field);
    is_copy &= cell(cells, field).find_first_of("123456789") == std::string::npos;
    if (!value || value->value < 0 || value->value > 4294967295.0)
      is_known = false;
    else
      counts[i] = std::llround(value->value);
  }
  if (is_copy) return;
  const double blocks =
      static_cast<double>(counts[0]) * static_cast<double>(counts[1]) * static_cast<double>(counts[2]);
  const double threads =
      static_cast<double>(counts[3]) * static_cast<double>(counts[4]) * static_cast<double>(counts[5]);
  if (!is_known || blocks < 1 || blocks > 4e18 || threads < 1 || threads > 1e6) {
    ++unknown_launches_;
    return;
  }
  const auto time = number(cells, duration), fixed = number(cells, static_smem),
             dynamic = number(cells, dynamic_smem);
  const auto text_of = [&](Field field) { return cell(cells, field) + " " + units_[field]; };
  KernelUse use{.name = is_nvprof_ ? without_number(cell(cells, name), '[', ']') : cell(cells, name),
                .registers_per_thread = static_cast<int>(std::min<std::int64_t>(counts[6], 1000000)),
                .block_size = static_cast<int>(threads),
                .static_smem_bytes = fixed ? roundest(fixed->least, fixed->most) : 0,
                .dynamic_smem_bytes = dynamic ? roundest(dynamic->least, dynamic->most) : 0,
                .launches = 1,
                .time_us = time ? time->value : 0};
  use.grids = {{static_cast<std::int64_t>(blocks), {1, use.time_us}}};
  use.device_name = without_number(cell(cells, device), '(', ')');
  use.rounded_static_smem = rounded_bytes(fixed, text_of(static_smem));
  use.rounded_dynamic_smem = rounded_bytes(dynamic, text_of(dynamic_smem));
  launches_.add(std::move(use));
}

}  // namespace occbench::binary
