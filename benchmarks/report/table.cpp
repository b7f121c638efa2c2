// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "benchmarks/report/format.hpp"
#include "benchmarks/report/terminal.hpp"

namespace occbench::commands {
namespace {

constexpr std::string_view gap = "   ", indent = "    ";

/// The width of the stream's terminal; nullopt without one.
std::optional<std::size_t> columns_of(const std::ostream& out) {
  if (&out == &std::cout) return terminal_columns(STDOUT_FILENO);
  if (&out == &std::cerr) return terminal_columns(STDERR_FILENO);
  return std::nullopt;
}

/// "registers 40   spilled B 0": each non-empty cell after its header, in lines of at most `room` characters.
void print_paragraphs(std::ostream& out, const std::vector<csv::Row>& rows, std::size_t room) {
  const csv::Row& header = rows.front();
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) {
    out << "  " << header[0] << ' ' << row->front() << '\n';
    std::string line(indent);
    for (std::size_t i = 1; i < row->size(); ++i) {
      if ((*row)[i].empty()) continue;
      const std::string words = header[i] + ' ' + (*row)[i];
      if (indent.size() + words.size() > room) {  // lines of its own
        if (line.size() > indent.size()) out << line << '\n';
        line = indent;
        for (const std::string& part : wrap(words, room - 2 * indent.size(), words.size())) {
          out << line << part << '\n';
          line = std::string(2 * indent.size(), ' ');
        }
        line = indent;
        continue;
      }
      const bool is_first = line.size() == indent.size();
      if (!is_first && line.size() + gap.size() + words.size() > room) {
        out << line << '\n';
        line = indent;
      } else if (!is_first) {
        line += gap;
      }
      line += words;
    }
    if (line.size() > indent.size()) out << line << '\n';
  }
}

}  // namespace

void print_aligned(std::ostream& out, const std::vector<csv::Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const csv::Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  const std::size_t cells = std::accumulate(widths.begin(), widths.end(), std::size_t{2});
  const auto whole = [&](std::string_view between) { return cells + between.size() * (widths.size() - 1); };
  const auto room = columns_of(out);
  std::string_view between = gap;
  while (room && *room < whole(between) && between.size() > 1) between.remove_suffix(1);
  if (room && *room < whole(between)) return print_paragraphs(out, rows, *room);
  for (const csv::Row& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + pad : std::string(between) + pad + row[i];
    }
    out << line << '\n';
  }
}

void print_wrapped(std::ostream& out, const std::string& words, const std::string& head) {
  const auto columns = columns_of(out);
  if (!columns || head.size() + words.size() <= *columns) {
    out << head << words << '\n';
    return;
  }
  constexpr std::size_t least_room = 30;
  std::string before = head;
  if (head.size() + least_room > *columns && head.size() > indent.size()) {
    out << head.substr(0, head.find_last_not_of(' ') + 1) << '\n';
    before = indent;
  }
  const std::size_t room = *columns > before.size() ? *columns - before.size() : 1;
  for (const std::string& line : wrap(words, room, words.size())) {
    out << before << line << '\n';
    before.assign(before.size(), ' ');
  }
}

void print_cells(std::ostream& out, const std::string& format, const std::vector<csv::Row>& rows) {
  if (format != "markdown") return print_aligned(out, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& cell : rows[i]) {
      out << "| ";
      for (const char c : cell)
        if (c == '|' || c == '<' || c == '*' || c == '_')
          out << '\\' << c;
        else
          out << c;
      out << ' ';
    }
    out << "|\n";
    if (i > 0) continue;
    for (std::size_t column = 0; column < rows[0].size(); ++column) out << (column == 0 ? "|---" : "|---:");
    out << "|\n";
  }
}

}  // namespace occbench::commands
