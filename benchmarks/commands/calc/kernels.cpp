// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/kernels.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "benchmarks/commands/calc/columns.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t name_room = 44;
constexpr std::size_t names_listed = 3, sizes_listed = 6;

struct KernelRow {
  binary::KernelUse use;
  const CalcDevice* device;
  Query query;
  Answer answer;
  std::vector<Ranked> ranked;  ///< of `--block-size all`

  [[nodiscard]] bool has_run() const { return use.launches > 0; }
  [[nodiscard]] bool is_ranked() const { return !ranked.empty(); }
};

/// The kernels of the given name, and of the device's own architecture where there are some.
std::vector<binary::KernelUse> select_kernels(const binary::KernelUses& uses, const std::string& source,
                                              const CalcOptions& options, const std::string& cc) {
  std::vector<binary::KernelUse> kernels;
  for (const binary::KernelUse& use : uses.kernels)
    if (binary::demangled(use.name).find(options.kernel_name) != std::string::npos) kernels.push_back(use);
  if (kernels.empty()) {
    std::set<std::string> names;
    for (const binary::KernelUse& use : uses.kernels) names.insert(binary::short_name(use.name, name_room));
    std::string listed;
    for (auto name = names.begin(); name != names.end() && listed.size() < 200; ++name)
      listed += (listed.empty() ? "" : ", ") + *name;
    throw UserError(Exit::usage, source + ": no kernel has '" + options.kernel_name +
                                     "' in its name; there are " + listed);
  }
  const auto is_own = [&](const binary::KernelUse& use) { return use.cc == cc; };
  if (!cc.empty() && std::ranges::any_of(kernels, is_own))
    std::erase_if(kernels, [&](const binary::KernelUse& use) { return !is_own(use); });
  return kernels;
}

/// The file's numbers, or those of the command line instead.
Query query_of(const binary::KernelUse& use, bool has_run, const std::string& source,
               const CalcOptions& options) {
  Query query{.has_run = has_run};
  theory::Footprint& f = query.footprint;
  f.registers_per_thread = use.registers_per_thread.value_or(0);
  f.block_size = use.block_size.value_or(0);
  f.static_smem_bytes = use.static_smem_bytes;
  f.dynamic_smem_bytes = use.dynamic_smem_bytes.value_or(0);
  f.barriers = use.barriers.value_or(1);
  query.cluster_size = use.cluster_size.value_or(1);
  set_numbers(query, options.texts);
  if (!use.block_size && options.texts[0].empty())
    throw UserError(Exit::usage, source + ": gives no block size; add --block-size 256, or --block-size all");
  return query;
}

std::string next_cliff(const KernelRow& row, std::optional<theory::Cliff> theory::Cliffs::*side) {
  for (const Dial& dial : dials(row.device->facts.sm, row.query.footprint)) {
    const auto& cliff = dial.cliffs.*side;
    if (!cliff) continue;
    const bool is_smem = dial.name == std::string_view("dynamic_smem_bytes");
    return grouped(cliff->value) + (is_smem ? " B dynamic" : std::string(" ") + dial.unit + "s") +
           (cliff->blocks_per_sm == 0 ? ": cannot launch" : ": " + percent(cliff->occupancy));
  }
  return "none";
}

/// "100.0 % with 128, 256, 512 and 9 more"
std::string highest_occupancy(const std::vector<Ranked>& ranked) {
  const Answer& best = ranked.front().answer;
  if (!best.launches()) return best.status;
  std::vector<std::string> sizes;
  for (const Ranked& r : ranked)
    if (r.answer.launches() && r.answer.occupancy.fraction == best.occupancy.fraction)
      sizes.push_back(grouped(r.query.footprint.block_size));
  return percent(best.occupancy.fraction) + " with " + join_first(sizes, sizes_listed);
}

std::string name_of(const KernelRow& row) { return printable(binary::short_name(row.use.name, name_room)); }

template <class T>
Value or_unknown(const std::optional<T>& value) {
  return value ? Value(static_cast<std::int64_t>(*value)) : Value();
}

using Rows = std::span<const KernelRow>;
bool have_run(Rows rows) { return std::ranges::any_of(rows, &KernelRow::has_run); }
bool are_ranked(Rows rows) { return rows.front().is_ranked(); }
bool are_not_ranked(Rows rows) { return !are_ranked(rows); }

/// Before the columns of the answer.
constexpr Column<KernelRow> kernel_columns[] = {
    {"kernel", [](const KernelRow& r) { return Value(printable(binary::demangled(r.use.name))); }, "kernel",
     name_of},
    {nullptr, nullptr, "device", [](const KernelRow& r) { return r.device->facts.name; },
     [](Rows rows) {
       return std::ranges::any_of(
           rows, [&](const KernelRow& r) { return r.device->facts.name != rows[0].device->facts.name; });
     }},
    {"launches", [](const KernelRow& r) { return r.has_run() ? Value(r.use.launches) : Value(); }, "launches",
     [](const KernelRow& r) { return grouped(r.use.launches); }, have_run},
    {"time_us", [](const KernelRow& r) { return r.has_run() ? Value(r.use.time_us) : Value(); }, "time us",
     [](const KernelRow& r) { return significant(r.use.time_us); }, have_run},
    {"stack_bytes", [](const KernelRow& r) { return or_unknown(r.use.stack_bytes); }},
    {nullptr, nullptr, "threads", [](const KernelRow& r) { return grouped(r.query.footprint.block_size); },
     are_not_ranked},
    {nullptr, nullptr, "registers",
     [](const KernelRow& r) { return grouped(r.query.footprint.registers_per_thread); }},
    {nullptr, nullptr, "shared B",
     [](const KernelRow& r) {
       return grouped(r.query.footprint.static_smem_bytes + r.query.footprint.dynamic_smem_bytes);
     }},
    {"spill_bytes", [](const KernelRow& r) { return or_unknown(r.use.spill_bytes); }, "spilled B",
     [](const KernelRow& r) { return r.use.spill_bytes ? grouped(*r.use.spill_bytes) : "-"; },
     [](Rows rows) {
       return std::ranges::any_of(rows, [](const KernelRow& r) { return r.use.spill_bytes.has_value(); });
     }},
    {nullptr, nullptr, "highest occupancy", [](const KernelRow& r) { return highest_occupancy(r.ranked); },
     are_ranked},
    {nullptr, nullptr, "the API's pick",
     [](const KernelRow& r) {
       const auto pick = api_pick(*r.device, r.query);
       return pick ? grouped(*pick) : "none";
     },
     are_ranked},
    {nullptr, nullptr, "occupancy", [](const KernelRow& r) { return percent(r.answer.occupancy.fraction); },
     are_not_ranked},
    {nullptr, nullptr, "limited by",
     [](const KernelRow& r) {
       return r.answer.launches() ? theory::to_string(r.answer.occupancy.limiters) : "cannot launch";
     },
     are_not_ranked},
    {nullptr, nullptr, "gains with", [](const KernelRow& r) { return next_cliff(r, &theory::Cliffs::gains); },
     are_not_ranked},
    {nullptr, nullptr, "loses with", [](const KernelRow& r) { return next_cliff(r, &theory::Cliffs::loses); },
     are_not_ranked},
};

/// Statuses other than "ok", and the kernels that have each.
void print_statuses(std::ostream& out, const std::vector<KernelRow>& rows) {
  std::map<std::string, std::vector<std::string>> names_by_status;
  for (const KernelRow& row : rows)
    if (!row.is_ranked() && row.answer.status != "ok")
      names_by_status[row.answer.status].push_back(name_of(row));
  if (!names_by_status.empty()) out << '\n';
  for (const auto& [status, names] : names_by_status)
    print_wrapped(out, join_first(names, names_listed) + ": " + status, "  ");
}

void print_kernel_table(std::ostream& out, const std::string& source, const std::vector<KernelRow>& rows) {
  std::set<std::string> devices;
  for (const KernelRow& row : rows) devices.insert(row.device->facts.name);
  std::string title =
      source + ": " + std::to_string(rows.size()) + (rows.size() == 1 ? " kernel" : " kernels");
  for (const std::string& name : devices) title += (name == *devices.begin() ? ", on " : ", ") + name;
  print_wrapped(out, title);
  out << '\n';
  print_aligned(out, table_of(kernel_columns, rows));
  print_statuses(out, rows);
}

/// Calls `use` with each query of the row and its answer.
void for_each_answer(const KernelRow& row, const auto& use) {
  if (!row.is_ranked()) use(row.query, row.answer);
  for (const Ranked& r : row.ranked) use(r.query, r.answer);
}

void print_kernel_csv(std::ostream& out, const std::vector<KernelRow>& rows) {
  const auto print = [&](csv::Row cells, const csv::Row& more) {
    cells.insert(cells.end(), more.begin(), more.end());
    out << csv::format(cells);
  };
  const auto columns = csv_columns();
  print(csv_header(kernel_columns), csv_header(columns));
  for (const KernelRow& row : rows)
    for_each_answer(row, [&](const Query& query, const Answer& a) {
      print(csv_row(kernel_columns, row), csv_row(columns, AnswerRow{row.device->facts, query, a}));
    });
}

void print_kernel_json(std::ostream& out, const std::vector<KernelRow>& rows) {
  Json all = Json::array();
  for (const KernelRow& row : rows)
    for_each_answer(row, [&](const Query& query, const Answer& a) {
      Json one = json_of(kernel_columns, row);
      one.update(answer_json(row.device->facts, query, a));
      all.push_back(std::move(one));
    });
  out << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

bool run_kernels(const binary::KernelUses& uses, const std::string& source, std::ostream& out,
                 const CalcOptions& options, const DeviceResolver& resolve) {
  std::map<std::string, CalcDevice> devices;
  const auto device_of = [&](const binary::KernelUse& use) -> const CalcDevice* {
    const bool own = options.device.empty() && !use.cc.empty();
    const std::string word = own ? "cc" + use.cc : options.device;
    const auto [entry, is_new] = devices.try_emplace(word);
    if (is_new) entry->second = resolve(word);
    return &entry->second;
  };
  std::string cc;
  if (!options.device.empty()) {
    const theory::SmLimits& sm = device_of({})->facts.sm;
    cc = std::to_string(sm.cc_major) + "." + std::to_string(sm.cc_minor);
  }
  std::vector<KernelRow> rows;
  for (binary::KernelUse& use : select_kernels(uses, source, options, cc)) {
    KernelRow row{.use = std::move(use), .device = nullptr, .query = {}, .answer = {}, .ranked = {}};
    row.query = query_of(row.use, uses.has_run, source, options);
    row.device = device_of(row.use);
    if (options.texts[0] == all_block_sizes)
      row.ranked = rank_block_sizes(*row.device, row.query);
    else
      row.answer = answer(*row.device, row.query);
    rows.push_back(std::move(row));
  }
  if (uses.has_run)  // what takes longest matters most
    std::ranges::stable_sort(rows, std::greater(), [](const KernelRow& row) { return row.use.time_us; });
  if (options.format == "csv")
    print_kernel_csv(out, rows);
  else if (options.format == "json")
    print_kernel_json(out, rows);
  else
    print_kernel_table(out, uses.source, rows);
  return std::ranges::all_of(rows, [](const KernelRow& row) {
    return row.is_ranked() ? row.ranked.front().answer.launches() : row.answer.launches();
  });
}

}  // namespace occbench::commands
