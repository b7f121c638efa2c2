// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/commands/calc/columns.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/rounded_smem.hpp"
#include "harness/io/check.hpp"
#include "harness/io/join.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t names_listed = 3, sizes_listed = 6;

struct KernelRow {
  std::string form;  ///< what the file was taken for
  binary::KernelUse use;
  const CalcDevice* device = nullptr;
  Query query{};
  Answer answer{};
  std::vector<RankedSize> ranked{};  ///< of `--block-size all`
  std::string rounded_smem{};        ///< "45.57 Kbyte/block", where the bytes are not known exactly
  double underfilled_us = 0;         ///< time in launches of less than a wave
  double few_blocks_us = 0;          ///< time in launches with fewer blocks than SMs

  [[nodiscard]] bool has_run() const { return use.launches > 0; }
  [[nodiscard]] bool is_timed() const { return use.time_us > 0; }
  [[nodiscard]] bool is_ranked() const { return !ranked.empty(); }
};

/// The kernels of the given name, and of the device's own architecture where there are some.
std::vector<binary::KernelUse> select_kernels(const binary::KernelUses& uses, const std::string& source,
                                              const CalcOptions& options, const std::string& cc) {
  std::vector<binary::KernelUse> kernels;
  for (const binary::KernelUse& use : uses.kernels)
    if (binary::demangle(use.name).find(options.kernel_name) != std::string::npos) kernels.push_back(use);
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

/// The grid that took most time, or was launched most, or is the largest of these; 0 if unknown.
std::int64_t main_grid(const binary::KernelUse& use) {
  const auto most = std::ranges::max_element(use.grids, {}, [](const auto& grid) {
    return std::tuple(grid.second.time_us, grid.second.launches, grid.first);
  });
  return most == use.grids.end() ? 0 : most->first;
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
  query.grid_blocks = main_grid(use);
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
    return with_thousands(cliff->value) + (is_smem ? " B dynamic" : std::string(" ") + dial.unit + "s") +
           (cliff->blocks_per_sm == 0 ? ": cannot launch" : ": " + percent(cliff->occupancy));
  }
  return "none";
}

/// "100.0 % with 128, 256, 512 and 9 more"
std::string highest_occupancy(const std::vector<RankedSize>& ranked) {
  const Answer& best = ranked.front().answer;
  if (!best.launches()) return best.status;
  std::vector<std::string> sizes;
  for (const RankedSize& r : ranked)
    if (r.answer.launches() && r.answer.occupancy.fraction == best.occupancy.fraction)
      sizes.push_back(with_thousands(r.query.footprint.block_size));
  return percent(best.occupancy.fraction) + " with " + join_first(sizes, sizes_listed);
}

std::string name_of(const KernelRow& row) { return printable(binary::short_name(row.use.name, name_room)); }

using Rows = std::span<const KernelRow>;
bool any(Rows rows, bool (*holds)(const KernelRow&)) { return std::ranges::any_of(rows, holds); }
bool have_run(Rows rows) { return std::ranges::any_of(rows, &KernelRow::has_run); }
bool are_ranked(Rows rows) { return rows.front().is_ranked(); }
bool are_not_ranked(Rows rows) { return !are_ranked(rows); }

std::int64_t grid_count(const KernelRow& row) { return static_cast<std::int64_t>(row.use.grids.size()); }
bool is_one_of_several(const KernelRow& row) {
  return grid_count(row) > 1 && row.use.grids.contains(row.query.grid_blocks);
}

/// Before the columns of the answer.
constexpr Column<KernelRow> kernel_columns[] = {
    {"kernel", [](const auto& r) { return Value(printable(binary::demangle(r.use.name))); }, "kernel",
     name_of},
    {"form", [](const auto& r) { return Value(r.form); }},
    {nullptr, nullptr, "device", [](const auto& r) { return r.device->facts.name; },
     [](Rows rows) {
       return std::ranges::any_of(
           rows, [&](const auto& r) { return r.device->facts.name != rows[0].device->facts.name; });
     }},
    {"launches", [](const auto& r) { return r.has_run() ? Value(r.use.launches) : Value(); }, "launches",
     [](const auto& r) { return with_thousands(r.use.launches); }, have_run},
    {"time_us",
     [](const auto& r) { return r.is_timed() ? Value(us_to_picoseconds(r.use.time_us)) : Value(); },
     "time us", [](const auto& r) { return r.is_timed() ? significant(r.use.time_us) : "-"; },
     [](Rows rows) { return std::ranges::any_of(rows, &KernelRow::is_timed); }},
    {"grids", [](const auto& r) { return r.use.grids.empty() ? Value() : Value(grid_count(r)); }, "grid",
     [](const auto& r) {
       return with_thousands(r.query.grid_blocks) +
              (is_one_of_several(r) ? " (of " + with_thousands(grid_count(r)) + " grids)" : "");
     },
     [](Rows rows) { return any(rows, is_one_of_several); }},
    {"rounded_smem",
     [](const auto& r) { return r.rounded_smem.empty() ? Value() : Value(printable(r.rounded_smem)); }},
    {"stack_bytes", [](const auto& r) { return or_unknown(r.use.stack_bytes); }},
    {nullptr, nullptr, "threads", [](const auto& r) { return with_thousands(r.query.footprint.block_size); },
     are_not_ranked},
    {nullptr, nullptr, "registers",
     [](const auto& r) { return with_thousands(r.query.footprint.registers_per_thread); }},
    {nullptr, nullptr, "shared B",
     [](const auto& r) {
       return with_thousands(r.query.footprint.static_smem_bytes + r.query.footprint.dynamic_smem_bytes);
     }},
    {"spill_bytes", [](const auto& r) { return or_unknown(r.use.spill_bytes); }, "spilled B",
     [](const auto& r) { return r.use.spill_bytes ? with_thousands(*r.use.spill_bytes) : "-"; },
     [](Rows rows) { return any(rows, [](const auto& r) { return r.use.spill_bytes.has_value(); }); }},
    {nullptr, nullptr, "highest occupancy", [](const auto& r) { return highest_occupancy(r.ranked); },
     are_ranked},
    {nullptr, nullptr, "the API's pick",
     [](const auto& r) {
       const auto pick = api_pick(*r.device, r.query);
       return pick ? with_thousands(*pick) : "none";
     },
     are_ranked},
    {nullptr, nullptr, "occupancy", [](const auto& r) { return percent(r.answer.occupancy.fraction); },
     are_not_ranked},
    {nullptr, nullptr, "limited by",
     [](const auto& r) {
       return r.answer.launches() ? theory::to_string(r.answer.occupancy.limiters) : "cannot launch";
     },
     are_not_ranked},
    {nullptr, nullptr, "waves",
     [](const auto& r) { return r.answer.grid ? significant(r.answer.grid->waves) : "-"; },
     [](Rows rows) { return any(rows, [](const auto& r) { return r.answer.grid.has_value(); }); }},
    {nullptr, nullptr, "idle SMs",
     [](const auto& r) { return r.answer.grid ? with_thousands(r.answer.grid->idle_sms) : "-"; },
     [](Rows rows) {
       return any(rows, [](const auto& r) { return r.answer.grid && r.answer.grid->idle_sms > 0; });
     }},
    {nullptr, nullptr, "gains with", [](const auto& r) { return next_cliff(r, &theory::Cliffs::gains); },
     are_not_ranked},
    {nullptr, nullptr, "loses with", [](const auto& r) { return next_cliff(r, &theory::Cliffs::loses); },
     are_not_ranked},
};

/// Counts the time of launches that do not fill the device.
void count_underfilled(KernelRow& row) {
  const theory::SmLimits& sm = row.device->facts.sm;
  for (const auto& [blocks, use] : row.use.grids) {
    const auto fill = theory::grid_fill(sm, row.query.footprint, row.answer.occupancy, blocks);
    if (fill && fill->is_underfilled()) row.underfilled_us += use.time_us;
    if (fill && blocks < sm.sm_count) row.few_blocks_us += use.time_us;
  }
}

/// Occupancy per SM is not the question where the grid does not fill the GPU.
void print_underfilled(std::ostream& out, const std::vector<KernelRow>& rows) {
  double all = 0, known = 0, underfilled = 0, few = 0;
  for (const KernelRow& row : rows) {
    all += row.use.time_us;
    if (row.use.grids.empty() || row.device->facts.sm.sm_count < 1 || row.is_ranked()) continue;
    known += row.use.time_us;
    underfilled += row.underfilled_us;
    few += row.few_blocks_us;
  }
  if (all <= 0) return;
  out << '\n';
  if (known <= 0)
    return print_wrapped(
        out, "waves are unknown: the file lacks the grid or the number of SMs (--device NAME)", "  ");
  print_wrapped(out,
                percent(underfilled / known) + " of GPU time in launches that fill less than the GPU, " +
                    percent(few / known) + " in launches of fewer blocks than SMs" +
                    (known < all ? " (" + percent(known / all) + " of the time has a known grid)" : ""),
                "  ");
}

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
  print_wrapped(out, source + ": " + std::to_string(rows.size()) +
                         (rows.size() == 1 ? " kernel" : " kernels") + ", on " + join(devices));
  out << '\n';
  print_aligned(out, table_of(kernel_columns, rows));
  print_statuses(out, rows);
  print_underfilled(out, rows);
}

/// Calls `use` with each query of the row and its answer.
void for_each_answer(const KernelRow& row, const auto& use) {
  if (!row.is_ranked()) use(row.query, row.answer);
  for (const RankedSize& r : row.ranked) use(r.query, r.answer);
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

/// Before device linking a count is only the least: ptxas gives a kernel that calls a function of another
/// file 24 registers, and nvlink more.
std::string link_remark(const binary::KernelUse& use) {
  constexpr int caller_registers = 24;
  const int registers = use.registers_per_thread.value_or(0);
  if (use.is_linked.value_or(registers != caller_registers)) return {};
  return "; at least " + std::to_string(registers) + " registers" +
         (use.is_linked ? ", not linked yet: " : ", if compiled with -rdc=true: ") +
         "`nvlink -v` or `occbench inspect PROGRAM` has the count after device linking";
}

/// Several counts allow as many blocks; how many fewer would gain a block differs.
std::string barrier_remark(const KernelRow& row, const binary::BarrierCount& count) {
  if (count.least == count.most || row.query.footprint.barriers != count.taken ||
      !theory::has(row.answer.occupancy.limiters, theory::Limiter::barriers))
    return {};
  return "; " + std::to_string(count.least) + " to " + std::to_string(count.most) +
         " barriers by 'Block Limit Barriers': " + std::to_string(count.taken) + " is taken";
}

using DevicesByName = std::map<std::pair<std::string, int>, CalcDevice>;  // and by SMs

/// That of --device, or else the one that the file says; each is resolved once. Throws std::invalid_argument
/// on an unknown one.
const CalcDevice& device_of(const binary::KernelUse& use, const CalcOptions& options,
                            const DeviceResolver& resolve, DevicesByName& devices) {
  const bool is_given = !options.device.empty();
  const std::string word = is_given || (use.cc.empty() && use.device_name.empty()) ? options.device
                           : use.cc.empty()                                        ? use.device_name
                                                                                   : "cc" + use.cc;
  const int sms = is_given ? 0 : use.sm_count.value_or(0);
  auto entry = devices.find({word, sms});
  if (entry == devices.end()) {
    entry = devices.emplace(std::pair(word, sms), resolve(word)).first;
    if (sms > 0) entry->second.facts.sm.sm_count = sms;
  }
  return entry->second;
}

/// The SM that the file's limits are of: --device may ask for another.
theory::SmLimits reported_sm(const KernelRow& row, const CalcOptions& options) try {
  if (options.device.empty() || row.use.cc.empty()) return row.device->facts.sm;
  return theory::find_device("cc" + row.use.cc).sm;
} catch (const std::invalid_argument&) {
  return row.device->facts.sm;
}

/// Answers a row that has its kernel and its device.
void answer_row(KernelRow& row, bool has_run, const std::string& source, const CalcOptions& options) {
  if (row.use.may_hold_reserved_smem && row.device->facts.sm.cc_major >= 9)
    row.use.static_smem_bytes -= binary::reserved_smem_bytes;
  const theory::SmLimits reported = reported_sm(row, options);
  const auto barriers = binary::barriers_by_limit(reported, row.use);
  if (barriers) row.use.barriers = barriers->taken;
  row.query = query_of(row.use, has_run, source, options);
  const bool is_smem_given = !options.texts[2].empty() || !options.texts[3].empty();
  binary::SmemRounding rounding;
  if (!is_smem_given)
    rounding = binary::resolve_rounded_smem(reported, row.device->facts.sm, row.use, row.query);
  row.rounded_smem = rounding.figures;
  if (options.texts[0] == all_block_sizes)
    row.ranked = rank_block_sizes(*row.device, row.query);
  else
    row.answer = answer(*row.device, row.query);
  if (row.answer.launches()) row.answer.status += link_remark(row.use);
  if (!rounding.remark.empty()) row.answer.status += "; " + rounding.remark;
  if (barriers) row.answer.status += barrier_remark(row, *barriers);
  count_underfilled(row);
}

}  // namespace

bool run_kernels(const binary::KernelUses& uses, const std::string& source, std::ostream& out,
                 const CalcOptions& options, const DeviceResolver& resolve) {
  DevicesByName devices;
  std::map<std::string, std::size_t> unknown;  // kernels by architecture
  std::string cc;
  if (!options.device.empty()) {
    const theory::SmLimits& sm = device_of({}, options, resolve, devices).facts.sm;
    cc = std::to_string(sm.cc_major) + "." + std::to_string(sm.cc_minor);
  }
  std::vector<KernelRow> rows;
  std::vector<binary::KernelUse> kernels;
  if (!uses.kernels.empty()) kernels = select_kernels(uses, source, options, cc);
  for (binary::KernelUse& use : kernels) {
    KernelRow row{.form = uses.source, .use = std::move(use)};
    try {
      row.device = &device_of(row.use, options, resolve, devices);
    } catch (const std::invalid_argument&) {
      if (!options.device.empty() || row.use.cc.empty()) throw;
      ++unknown[row.use.cc];
      continue;
    }
    answer_row(row, uses.has_run, source, options);
    rows.push_back(std::move(row));
  }
  print_left_out(uses, unknown, source);
  if (rows.empty() && uses.refused.empty())
    throw UserError(Exit::usage, source + ": no kernel is for an architecture that calc knows");
  if (uses.has_run)  // what takes longest matters most
    std::ranges::stable_sort(rows, std::greater(), [](const KernelRow& row) { return row.use.time_us; });
  if (options.format == "csv")
    print_kernel_csv(out, rows);
  else if (options.format == "json")
    print_kernel_json(out, rows);
  else if (!rows.empty())
    print_kernel_table(out, uses.source, rows);
  return uses.refused.empty() && std::ranges::all_of(rows, [](const KernelRow& row) {
           return row.is_ranked() ? row.ranked.front().answer.launches() : row.answer.launches();
         });
}

}  // namespace occbench::commands
