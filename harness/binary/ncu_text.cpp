// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_text.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace occbench::binary {
namespace {

constexpr std::string_view cell_borders = " \t|";  // pasted tables may be Markdown

std::string_view strip_borders(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t|>"), text.size()));
  return text.substr(0, text.find_last_not_of(cell_borders) + 1);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(cell_borders), text.size()));
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find_first_of(cell_borders), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// "9.0" from ", Context 1, Stream 7, Device 0, CC 9.0" for "CC", or "".
std::string attribute(std::string_view attributes, std::string_view name) {
  const std::string key = ", " + std::string(name) + " ";
  const std::size_t at = attributes.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view value = attributes.substr(at + key.size());
  return std::string(value.substr(0, value.find(',')));
}

/// Start of the attributes in a kernel's line; npos if there are none.
std::size_t attributes_at(std::string_view line) {
  const std::size_t context = line.rfind(", Context ");
  if (context != std::string_view::npos && line.find(", Stream ", context) != std::string_view::npos)
    return context;
  const std::size_t device = line.rfind(", Device ");  // in a summary
  return device != std::string_view::npos && line.find(", CC ", device) != std::string_view::npos
             ? device
             : std::string_view::npos;
}

/// Removes ", 2020-Mar-12 10:35:21", printed by ncu until 2021.
std::string_view without_date(std::string_view name) {
  const std::size_t comma = name.rfind(", ");
  constexpr std::size_t date_length = 22;
  const bool is_date = comma != std::string_view::npos && name.size() - comma == date_length &&
                       name[comma + 6] == '-' && name[name.size() - 3] == ':';
  return is_date ? name.substr(0, comma) : name;
}

}  // namespace

bool NcuText::read_kernel(std::string_view line) {
  const std::size_t at = attributes_at(line);
  if (at == std::string_view::npos) return false;
  const std::string_view attributes = line.substr(at);
  std::string_view name = without_date(line.substr(0, at));
  NcuLaunches::Kernel kernel{.cc = attribute(attributes, "CC")};
  const std::size_t shape = name.rfind(")x(");
  if (name.ends_with(')') && shape != std::string_view::npos) {
    const std::size_t grid = name.rfind(" (", shape);
    if (grid == std::string_view::npos) return false;
    kernel.grid = name.substr(grid + 1, shape - grid);
    kernel.block = name.substr(shape + 2);
    name = name.substr(0, grid);
  }
  kernel.name = name;
  const std::string invocations = attribute(attributes, "Invocations");
  std::from_chars(invocations.data(), invocations.data() + invocations.size(), kernel.launches);
  kernel.launches = std::max<std::int64_t>(kernel.launches, 1);
  start(kernel);
  return true;
}

void NcuText::start(const NcuLaunches::Kernel& kernel) {
  launches_.start(process_ + " " + std::to_string(++kernels_), kernel);
  seen_.clear();
}

void NcuText::read_metric(std::string_view line) {
  const std::string_view metric = NcuLaunches::known_at(line);
  if (metric.empty()) return;
  std::vector<std::string_view> words = split_words(line.substr(metric.size()));
  const auto is_number = [](std::string_view word) { return read_number(word, "", '.', false).has_value(); };
  std::size_t numbers = 0;
  while (numbers < words.size() && is_number(words[words.size() - 1 - numbers])) ++numbers;
  if (numbers == 0 || words.size() - numbers > 1) return;
  if (kernels_ == 0 || !seen_.insert(std::string(metric)).second) start({.name = "unnamed kernel"});
  seen_.emplace(metric);
  const std::string_view unit = words.size() > numbers ? words[0] : std::string_view();
  // A summary has minimum, maximum and mean: times use the mean, footprints the largest.
  const bool is_mean = metric == "Duration" || metric == "gpu__time_duration.sum";
  const bool takes_largest = is_summary_ && numbers >= 3 && !is_mean;
  launches_.add(metric, unit, words[words.size() - (takes_largest ? 2 : 1)]);
}

bool NcuText::is_short_row(std::string_view row, std::size_t end) {
  if (table_end_ > 0) return end < table_end_;
  const bool is_padded = row.find("  ") != std::string_view::npos;
  const bool is_short = rows_ >= 2 && is_padded && end < rows_end_;  // one row shows no width
  if (rows_++ == 0) rows_end_ = is_padded ? end : 0;
  if (end != rows_end_) rows_end_ = 0;
  return is_short;
}

void NcuText::read(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \t\r\n") + 1;
  line = strip_borders(line);
  if (line.starts_with("---") && line.find_first_not_of("- ") == std::string_view::npos) table_end_ = end;
  ends_in_short_row_ = !NcuLaunches::known_at(line).empty() && is_short_row(line, end);
  if (line.starts_with("Section: ")) has_section_ = true;
  if (line.starts_with("Metric Name"))
    is_summary_ = line.find("Maximum") != std::string_view::npos;
  else if (line.starts_with('[') && line.find("] ") != std::string_view::npos &&
           line.find('@') != std::string_view::npos)
    process_ = line.substr(1, line.find(']') - 1);
  else if (!read_kernel(line))
    read_metric(line);
}

}  // namespace occbench::binary
