// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/kernels.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t name_room = 44;
constexpr std::size_t names_listed = 3;

/// A kernel with all that calc needs, and what it answers.
struct Row {
  binary::KernelUse use;
  const CalcDevice* device;
  Query query;
  Answer answer;
  std::vector<Ranked> ranked;  ///< of `--block-size all`
};

/// The kernels that are asked for: those of a name, and of the device's own architecture where it has some.
std::vector<binary::KernelUse> asked(const binary::KernelUses& uses, const std::string& source,
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
    throw UserError(Exit::usage,
                    source + ": no kernel's name holds '" + options.kernel_name + "'; it has " + listed);
  }
  const auto is_own = [&](const binary::KernelUse& use) { return use.cc == cc; };
  if (!cc.empty() && std::ranges::any_of(kernels, is_own))
    std::erase_if(kernels, [&](const binary::KernelUse& use) { return !is_own(use); });
  return kernels;
}

/// The file's numbers, and those of the command line instead of them.
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
    throw UserError(Exit::usage, source + ": says no block size; add --block-size 256, or --block-size all");
  return query;
}

std::string loses_or_gains(const Row& row, std::optional<theory::Cliff> theory::Cliffs::*side) {
  for (const Dial& dial : dials(row.device->facts.sm, row.query.footprint)) {
    const auto& cliff = dial.cliffs.*side;
    if (!cliff) continue;
    const bool is_smem = dial.name == std::string_view("dynamic_smem_bytes");
    const bool is_block = dial.name == std::string_view("block_size");
    return grouped(cliff->value) +
           (is_smem    ? " B dynamic"
            : is_block ? " threads"
                       : std::string(" ") + dial.unit + "s") +
           (cliff->blocks_per_sm == 0 ? ": cannot launch" : ": " + percent(cliff->occupancy));
  }
  return "none";
}

/// "100.0 % with 128, 256, 512 and 9 more"
std::string best_of(const std::vector<Ranked>& ranked) {
  const Answer& best = ranked.front().answer;
  if (!best.launches()) return best.status;
  std::string sizes;
  std::size_t count = 0;
  for (const Ranked& r : ranked)
    if (r.answer.launches() && r.answer.occupancy.fraction == best.occupancy.fraction &&
        ++count <= names_listed * 2)
      sizes += (sizes.empty() ? "" : ", ") + grouped(r.query.footprint.block_size);
  if (count > names_listed * 2) sizes += " and " + std::to_string(count - names_listed * 2) + " more";
  return percent(best.occupancy.fraction) + " with " + sizes;
}

void print_kernels(std::ostream& out, const binary::KernelUses& uses, const std::vector<Row>& rows) {
  const bool ranks = !rows.front().ranked.empty();
  const bool spills = std::ranges::any_of(rows, [](const Row& r) { return r.use.spill_bytes.has_value(); });
  std::map<std::string, int> devices;
  for (const Row& row : rows) ++devices[row.device->facts.name];
  std::string title =
      uses.source + ": " + std::to_string(rows.size()) + (rows.size() == 1 ? " kernel" : " kernels");
  for (const auto& [name, count] : devices) title += (name == devices.begin()->first ? ", on " : ", ") + name;
  print_wrapped(out, title);
  out << '\n';

  csv::Row header = {"kernel"};
  if (devices.size() > 1) header.emplace_back("device");
  if (uses.has_run) header.insert(header.end(), {"launches", "time us"});
  if (!ranks) header.emplace_back("threads");
  header.insert(header.end(), {"registers", "shared B"});
  if (spills) header.emplace_back("spilled B");
  if (ranks)
    header.insert(header.end(), {"highest occupancy", "the API's pick"});
  else
    header.insert(header.end(), {"occupancy", "limited by", "gains with", "loses with"});
  std::vector<csv::Row> table = {header};
  std::map<std::string, std::vector<std::string>> remarks;  // and the kernels that each is about
  for (const Row& row : rows) {
    const theory::Footprint& f = row.query.footprint;
    const std::string name = printable(binary::short_name(row.use.name, name_room));
    csv::Row cells = {name};
    if (devices.size() > 1) cells.push_back(row.device->facts.name);
    if (uses.has_run) cells.insert(cells.end(), {grouped(row.use.launches), significant(row.use.time_us)});
    if (!ranks) cells.push_back(grouped(f.block_size));
    cells.push_back(grouped(f.registers_per_thread));
    cells.push_back(grouped(f.static_smem_bytes + f.dynamic_smem_bytes));
    if (spills) cells.push_back(row.use.spill_bytes ? grouped(*row.use.spill_bytes) : "-");
    if (ranks) {
      const auto pick = api_pick(*row.device, row.query);
      cells.insert(cells.end(), {best_of(row.ranked), pick ? grouped(*pick) : "none"});
    } else {
      const bool launches = row.answer.launches();
      cells.push_back(percent(row.answer.occupancy.fraction));
      cells.push_back(launches ? theory::to_string(row.answer.occupancy.limiters) : "cannot launch");
      cells.push_back(loses_or_gains(row, &theory::Cliffs::gains));
      cells.push_back(loses_or_gains(row, &theory::Cliffs::loses));
      if (row.answer.status != "ok") remarks[row.answer.status].push_back(name);
    }
    table.push_back(cells);
  }
  print_aligned(out, table);
  if (!remarks.empty()) out << '\n';
  for (const auto& [remark, names] : remarks) {
    std::string about;
    for (std::size_t i = 0; i < std::min(names.size(), names_listed); ++i)
      about += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > names_listed) about += " and " + std::to_string(names.size() - names_listed) + " more";
    print_wrapped(out, about + ": " + remark, "  ");
  }
}

void print_csv(std::ostream& out, const std::vector<Row>& rows) {
  csv::Row header = {"kernel", "launches", "time_us", "stack_bytes", "spill_bytes"};
  for (std::string& name : answer_header()) header.push_back(std::move(name));
  out << csv::format(header);
  for (const Row& row : rows) {
    const auto or_empty = [](const auto& value) { return value ? std::to_string(*value) : std::string(); };
    const bool has_run = row.use.launches > 0;
    const csv::Row own = {csv::no_formula(binary::demangled(row.use.name)),
                          has_run ? std::to_string(row.use.launches) : "",
                          has_run ? shortest(row.use.time_us) : "", or_empty(row.use.stack_bytes),
                          or_empty(row.use.spill_bytes)};
    const auto print = [&](const Query& query, const Answer& a) {
      csv::Row cells = own;
      for (std::string& cell : answer_row(*row.device, query, a)) cells.push_back(std::move(cell));
      out << csv::format(cells);
    };
    if (row.ranked.empty()) print(row.query, row.answer);
    for (const Ranked& r : row.ranked) print(r.query, r.answer);
  }
}

void print_json(std::ostream& out, const std::vector<Row>& rows) {
  Json all = Json::array();
  for (const Row& row : rows) {
    const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    const bool has_run = row.use.launches > 0;
    Json own = {{"kernel", printable(binary::demangled(row.use.name))},
                {"launches", has_run ? Json(row.use.launches) : Json(nullptr)},
                {"time_us", has_run ? Json(row.use.time_us) : Json(nullptr)},
                {"stack_bytes", or_null(row.use.stack_bytes)},
                {"spill_bytes", or_null(row.use.spill_bytes)}};
    const auto add = [&](const Query& query, const Answer& a) {
      Json one = own;
      one.update(answer_json(row.device->facts, query, a));
      all.push_back(std::move(one));
    };
    if (row.ranked.empty()) add(row.query, row.answer);
    for (const Ranked& r : row.ranked) add(r.query, r.answer);
  }
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
  std::vector<Row> rows;
  const bool ranks = options.texts[0] == all_block_sizes;
  for (binary::KernelUse& use : asked(uses, source, options, cc)) {
    Row row{.use = std::move(use), .device = nullptr, .query = {}, .answer = {}, .ranked = {}};
    row.query = query_of(row.use, uses.has_run, source, options);
    row.device = device_of(row.use);
    if (ranks)
      row.ranked = rank_block_sizes(*row.device, row.query);
    else
      row.answer = answer(*row.device, row.query);
    rows.push_back(std::move(row));
  }
  if (uses.has_run)  // what takes longest matters most
    std::ranges::stable_sort(rows, std::greater(), [](const Row& row) { return row.use.time_us; });
  if (options.format == "csv")
    print_csv(out, rows);
  else if (options.format == "json")
    print_json(out, rows);
  else
    print_kernels(out, uses, rows);
  return std::ranges::all_of(rows, [](const Row& row) {
    return row.ranked.empty() ? row.answer.launches() : row.ranked.front().answer.launches();
  });
}

}  // namespace occbench::commands
