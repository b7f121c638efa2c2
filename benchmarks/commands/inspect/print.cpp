// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/print.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t name_room = 44, file_room = 28, names_listed = 3, sizes_listed = 6;

std::string step(const std::optional<UsefulStep>& step) {
  if (!step) return "none";
  return step->text + ": " + (step->blocks_per_sm == 0 ? "cannot launch" : percent(step->occupancy));
}

std::string file_name(const Inspected& row) {
  const std::string name = std::filesystem::path(row.kernel->file).filename().string();
  return name.size() <= file_room ? name : "..." + name.substr(name.size() - file_room + 3);
}

/// Rows of one kernel, which follow one another: of each block size, highest occupancy first.
using Group = std::pair<std::size_t, std::size_t>;  // the first, and behind the last
std::vector<Group> by_kernel(const std::vector<Inspected>& rows) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i > 0 && rows[i].kernel == rows[i - 1].kernel)
      groups.back().second = i + 1;
    else
      groups.emplace_back(i, i + 1);
  return groups;
}

/// "100.0 % with 128, 256, 512 and 9 more"
std::string highest(const std::vector<Inspected>& rows, const Group& group) {
  const Inspected& best = rows[group.first];
  if (!best.answer.launches()) return "cannot launch";
  std::vector<std::string> sizes;
  for (std::size_t i = group.first; i < group.second; ++i)
    if (rows[i].answer.occupancy.fraction == best.answer.occupancy.fraction)
      sizes.push_back(grouped(rows[i].query.footprint.block_size));
  return percent(best.answer.occupancy.fraction) + " with " + listed(sizes, sizes_listed);
}

/// A column of the table; without `is_wanted` by some kernel it is left out.
struct TableColumn {
  std::string header;
  std::string (*cell)(const Inspected& row);
  bool is_wanted = true;
};

std::vector<TableColumn> facts(const std::vector<Inspected>& rows) {
  const auto some = [&](auto holds) { return std::ranges::any_of(rows, holds); };
  const auto unequal = [&](auto value) {
    return some([&](const Inspected& r) { return value(r) != value(rows.front()); });
  };
  return {
      {"file", [](const Inspected& r) { return printable(file_name(r)); },
       unequal([](const Inspected& r) -> const std::string& { return r.kernel->file; })},
      {"code for", [](const Inspected& r) { return r.kernel->architecture; },
       unequal([](const Inspected& r) -> const std::string& { return r.kernel->architecture; })},
      {"registers",
       [](const Inspected& r) { return grouped(r.kernel->use.registers_per_thread.value_or(0)); }},
      {"shared B",
       [](const Inspected& r) {
         if (!r.kernel->is_linked) return std::string("unknown");
         const theory::Footprint& f = r.query.footprint;
         return grouped(r.device == nullptr ? r.kernel->use.static_smem_bytes
                                            : f.static_smem_bytes + f.dynamic_smem_bytes);
       }},
      {"stack B",
       [](const Inspected& r) {
         return r.kernel->use.stack_bytes ? grouped(*r.kernel->use.stack_bytes) : "unknown";
       },
       some([](const Inspected& r) { return r.kernel->use.stack_bytes != std::size_t{0}; })},
      {"spilled B",
       [](const Inspected& r) {
         return r.kernel->use.spill_bytes ? grouped(*r.kernel->use.spill_bytes) : "unknown";
       }},
      {"barriers", [](const Inspected& r) { return grouped(r.kernel->use.barriers.value_or(0)); },
       some([](const Inspected& r) { return r.kernel->use.barriers.value_or(0) > 1; })},
      {"largest block",
       [](const Inspected& r) { return r.largest_block ? grouped(*r.largest_block) : "unknown"; },
       some([](const Inspected& r) {
         return r.device != nullptr && r.largest_block != r.device->facts.sm.max_threads_per_block;
       })},
      {"code B", [](const Inspected& r) { return grouped(r.kernel->code_bytes); }},
  };
}

std::vector<TableColumn> answers(const std::vector<Inspected>& rows) {
  const auto some = [&](auto holds) { return std::ranges::any_of(rows, holds); };
  return {
      {some(&Inspected::is_chosen) ? "threads*" : "threads",
       [](const Inspected& r) { return r.device == nullptr ? "-" : grouped(r.query.footprint.block_size); }},
      {"occupancy",
       [](const Inspected& r) {
         return r.device == nullptr ? "unknown" : percent(r.answer.occupancy.fraction);
       }},
      {"limited by",
       [](const Inspected& r) {
         if (r.device == nullptr) return std::string("-");
         return r.answer.launches() ? theory::to_string(r.answer.occupancy.limiters) : "cannot launch";
       }},
      {"gains with", [](const Inspected& r) { return step(r.gains); }},
      {"loses with", [](const Inspected& r) { return step(r.loses); }},
  };
}

/// What each finding means, in the order of its bits.
constexpr std::pair<Finding, const char*> meanings[] = {
    {Finding::register_cliff, "one register over a cliff"},
    {Finding::runtime_barrier, "a barrier's id is in a register, so all 16 barriers are taken"},
    {Finding::spills, "spills registers"},
    {Finding::static_smem_over_48k, "more than 48 KiB of static shared memory"},
    {Finding::code_over_icache, "code longer than the SM's instruction cache"}};

void print_remarks(std::ostream& out, const std::vector<Inspected>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> remarks;
  const auto add = [&](const std::string& what, auto holds) {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> times;  // instances, and copies for other architectures, have one name
    for (const Inspected& row : rows)
      if (holds(row) && times[table_name(*row.kernel)]++ == 0) names.push_back(table_name(*row.kernel));
    for (std::string& name : names)
      if (const std::size_t count = times[name]; count > 1) name += " (" + grouped(count) + " times)";
    if (!names.empty()) remarks.emplace_back(what, std::move(names));
  };
  for (const auto& [finding, meaning] : meanings)
    add(meaning, [&](const Inspected& r) { return (r.findings & static_cast<unsigned>(finding)) != 0; });
  std::set<std::string> statuses;
  for (const Inspected& row : rows)
    if (row.answer.status != "ok") statuses.insert(row.answer.status);
  for (const std::string& status : statuses)
    add(status, [&](const Inspected& r) { return r.answer.status == status; });
  add("not linked yet: shared memory and stack are not known",
      [](const Inspected& r) { return !r.kernel->is_linked; });
  if (!remarks.empty()) out << '\n';
  for (const auto& [what, names] : remarks)
    print_wrapped(out, listed(names, names_listed) + ": " + what, "  ");
  if (std::ranges::any_of(rows, &Inspected::is_chosen)) {
    out << '\n';
    print_wrapped(out, "* the size nearest to 256 that has the highest occupancy; --block-size sets it",
                  "  ");
  }
}

}  // namespace

std::string table_name(const binary::CompiledKernel& kernel) {
  return printable(binary::short_name(kernel.use.name, name_room));
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += " and " + grouped(names.size() - most) + " more";
  return text;
}

void print_inspected(std::ostream& out, const std::string& format, const std::string& title,
                     const std::vector<Inspected>& rows) {
  print_wrapped(out, title);
  out << '\n';
  const std::vector<Group> groups = by_kernel(rows);
  const bool ranks = groups.size() < rows.size();
  std::vector<TableColumn> columns = facts(rows);
  if (!ranks) std::ranges::copy(answers(rows), std::back_inserter(columns));
  std::erase_if(columns, [](const TableColumn& column) { return !column.is_wanted; });

  std::vector<csv::Row> table = {{"kernel"}};
  for (const TableColumn& column : columns) table[0].push_back(column.header);
  if (ranks) table[0].insert(table[0].end(), {"highest occupancy", "the API's pick"});
  std::vector<Inspected> firsts;
  for (const Group& group : groups) {
    const Inspected& row = rows[group.first];
    firsts.push_back(row);
    csv::Row cells = {table_name(*row.kernel)};
    for (const TableColumn& column : columns) cells.push_back(column.cell(row));
    if (ranks) {
      const auto pick = row.device == nullptr ? std::nullopt : api_pick(*row.device, row.query);
      cells.insert(cells.end(), {highest(rows, group), pick ? grouped(*pick) : "none"});
    }
    table.push_back(std::move(cells));
  }
  print_cells(out, format, table);
  print_remarks(out, firsts);
}

void print_all_columns(std::ostream& out, const std::string& format, const std::vector<Inspected>& rows) {
  const auto columns = inspect_columns();
  if (format == "csv") {
    csv::Row header;
    for (const InspectColumn& column : columns) header.emplace_back(column.name);
    out << csv::format(header);
    for (const Inspected& row : rows) {
      csv::Row cells;
      for (const InspectColumn& column : columns) cells.push_back(cell(column.of(row)));
      out << csv::format(cells);
    }
    return;
  }
  out << '[';
  for (std::size_t i = 0; i < rows.size(); ++i) {  // one by one: there may be many
    nlohmann::ordered_json one;
    for (const InspectColumn& column : columns) one[column.name] = to_json(column.of(rows[i]));
    out << (i == 0 ? "\n " : ",\n ") << one.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  out << "\n]\n";
}

}  // namespace occbench::commands
