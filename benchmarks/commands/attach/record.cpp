// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "benchmarks/commands/attach/columns.hpp"
#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/io/gzip.hpp"
#include "harness/record/build.hpp"
#include "harness/record/environment.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

std::string seconds(double us) { return shortest(to_picoseconds(us * 1e-6)); }

struct KernelRow {
  std::size_t id;
  const Kernel& k;
  const Verdict& v;
  const AttachedDevice* device;  ///< null: not known
  double total_us;               ///< of the whole program
};
using R = const KernelRow&;

std::string axis(const unsigned (&n)[3], int at) { return std::to_string(n[at]); }

std::string change_cell(const std::optional<Change>& change, double Change::*value) {
  return change ? shortest(*change.*value) : "";
}

bool has_waves(R r) { return r.device != nullptr && r.k.blocks_per_sm > 0 && !r.k.is_graph(); }

constexpr CsvColumn<KernelRow> kernel_columns[] = {
    {"kernel_id", [](R r) { return std::to_string(r.id); }},
    {"kernel", [](R r) { return csv::no_formula(binary::demangle(r.k.name)); }},
    {"symbol", [](R r) { return csv::no_formula(r.k.name); }},
    {"gpu_uuid", [](R r) { return r.device == nullptr ? "" : r.device->uuid; }},
    {"grid_x", [](R r) { return axis(r.k.grid, 0); }},
    {"grid_y", [](R r) { return axis(r.k.grid, 1); }},
    {"grid_z", [](R r) { return axis(r.k.grid, 2); }},
    {"block_x", [](R r) { return axis(r.k.block, 0); }},
    {"block_y", [](R r) { return axis(r.k.block, 1); }},
    {"block_z", [](R r) { return axis(r.k.block, 2); }},
    {"registers_per_thread", [](R r) { return std::to_string(r.k.footprint.registers_per_thread); }},
    {"static_smem_bytes", [](R r) { return std::to_string(r.k.footprint.static_smem_bytes); }},
    {"dynamic_smem_bytes", [](R r) { return std::to_string(r.k.footprint.dynamic_smem_bytes); }},
    {"local_bytes", [](R r) { return std::to_string(r.k.local_bytes); }},
    {"arguments", [](R r) { return r.k.arguments; }},
    {"launches", [](R r) { return std::to_string(r.k.launches); }},
    {"captured", [](R r) { return std::to_string(r.k.captured); }},
    {"graph_kernels", [](R r) { return r.k.graph_kernels == 0 ? "" : std::to_string(r.k.graph_kernels); }},
    {"timed", [](R r) { return std::to_string(r.k.timed); }},
    {"overlapped", [](R r) { return std::to_string(r.k.overlapping); }},
    {"time_mean_s", [](R r) { return seconds(r.k.mean_us()); }},
    {"time_total_s", [](R r) { return seconds(r.k.total_us()); }},
    {"gpu_time_share", [](R r) { return shortest(r.total_us > 0 ? r.k.total_us() / r.total_us : 0); }},
    {"blocks_per_sm", [](R r) { return std::to_string(r.k.is_graph() ? 0 : r.k.blocks_per_sm); }},
    {"occupancy", [](R r) { return shortest(r.v.occupancy); }},
    {"limiter", [](R r) { return std::string(theory::to_string(r.v.limiters)); }},
    {"waves", [](R r) { return has_waves(r) ? shortest(r.k.waves(r.k.blocks_per_sm)) : ""; }},
    {"verdict", [](R r) { return std::string(attach::to_string(r.v.finding)); }},
    {"why", [](R r) { return r.v.why; }},
    {"l1_change", [](R r) { return change_cell(r.v.l1, &Change::value); }},
    {"l1_change_low", [](R r) { return change_cell(r.v.l1, &Change::low); }},
    {"l1_change_high", [](R r) { return change_cell(r.v.l1, &Change::high); }},
    {"next_step", [](R r) { return r.v.next.needs; }},
    {"next_blocks_per_sm",
     [](R r) { return r.v.next.needs.empty() ? "" : std::to_string(r.v.next.blocks_per_sm); }},
    {"gain", [](R r) { return change_cell(r.v.gain, &Change::value); }},
    {"gain_low", [](R r) { return change_cell(r.v.gain, &Change::low); }},
    {"gain_high", [](R r) { return change_cell(r.v.gain, &Change::high); }},
    {"range", [](R r) { return csv::no_formula(r.k.range); }},
    {"graph_id", [](R r) { return r.k.whole ? std::to_string(*r.k.whole) : ""; }},
    {"after", [](R r) { return csv::no_formula(binary::demangle(r.k.after)); }},
    {"sm_count", [](R r) { return std::to_string(r.k.sms); }},
    {"sm_verdict", [](R r) { return std::string(to_string(r.v.by_sms.finding)); }},
    {"spare_sms", [](R r) { return r.v.by_sms.spare_sms ? std::to_string(*r.v.by_sms.spare_sms) : ""; }},
};

std::string kernels_csv(const Collected& all, const std::vector<Verdict>& verdicts) {
  constexpr std::span<const CsvColumn<KernelRow>> columns = kernel_columns;
  std::string text = csv_header(columns);
  const double total_us = all.total_us();
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& k = all.kernels[i];
    const AttachedDevice* const device = k.device < all.devices.size() ? &all.devices[k.device] : nullptr;
    text += csv_line(columns, {i, k, verdicts[i], device, total_us});
  }
  return text;
}

constexpr const char* fewer_sms_arm = "fewer SMs";
std::string arm_name(int arm) { return arm == untouched ? "untouched" : arm == pinned ? "pinned" : "lower"; }

struct ArmRow {
  std::size_t kernel_id;
  std::string name;
  int sms;
  const Arm& arm;
  std::optional<statistics::MedianInterval> time_us;
};

constexpr CsvColumn<ArmRow> arm_columns[] = {
    {"kernel_id", [](const ArmRow& r) { return std::to_string(r.kernel_id); }},
    {"arm", [](const ArmRow& r) { return r.name; }},
    {"blocks_per_sm", [](const ArmRow& r) { return std::to_string(r.arm.blocks_per_sm); }},
    {"added_smem_bytes", [](const ArmRow& r) { return std::to_string(r.arm.added_smem_bytes); }},
    {"samples", [](const ArmRow& r) { return std::to_string(r.arm.times_us.size()); }},
    {"time_median_s", [](const ArmRow& r) { return r.time_us ? seconds(r.time_us->median) : ""; }},
    {"time_ci95_low_s", [](const ArmRow& r) { return r.time_us ? seconds(r.time_us->low) : ""; }},
    {"time_ci95_high_s", [](const ArmRow& r) { return r.time_us ? seconds(r.time_us->high) : ""; }},
    {"sm_count", [](const ArmRow& r) { return std::to_string(r.sms); }},
};

std::string arms_csv(const Collected& all) {
  constexpr std::span<const CsvColumn<ArmRow>> columns = arm_columns;
  std::string text = csv_header(columns);
  const auto add = [&](ArmRow row) {
    if (!row.arm.times_us.empty()) row.time_us = statistics::median_interval(row.arm.times_us);
    text += csv_line(columns, row);
  };
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& k = all.kernels[i];
    for (const auto& [number, arm] : k.arms) add({i, arm_name(number), k.sms, arm, std::nullopt});
    for (auto share = k.fewer_sms.rbegin(); share != k.fewer_sms.rend(); ++share)
      add({i, fewer_sms_arm, share->first, share->second, std::nullopt});
  }
  return text;
}

struct CounterRow {
  std::size_t kernel_id;
  const SampledCounters& counted;
};

template <Quantity q>
std::string share_cell(const CounterRow& r) {
  const auto share = r.counted.share(q);
  return share ? shortest(*share) : "";
}

constexpr CsvColumn<CounterRow> counter_columns[] = {
    {"kernel_id", [](const CounterRow& r) { return std::to_string(r.kernel_id); }},
    {"samples", [](const CounterRow& r) { return std::to_string(r.counted.samples); }},
    {quantity_column[dram], share_cell<dram>},
    {quantity_column[l2], share_cell<l2>},
    {quantity_column[l1], share_cell<l1>},
    {quantity_column[tensor], share_cell<tensor>},
    {quantity_column[fp32], share_cell<fp32>},
    {quantity_column[issue], share_cell<issue>},
};

/// Of the kernels that were sampled.
std::string counters_csv(const Collected& all) {
  constexpr std::span<const CsvColumn<CounterRow>> columns = counter_columns;
  std::string text = csv_header(columns);
  for (std::size_t i = 0; i < all.kernels.size(); ++i)
    if (all.kernels[i].counters().samples > 0) text += csv_line(columns, {i, all.kernels[i].counters()});
  return text;
}

struct LaunchRow {
  const Collected& all;
  const TimedLaunch& timed;
};
using L = const LaunchRow&;

std::string flag(L l, Flag which) { return (l.timed.launch.flags & which) != 0 ? "1" : "0"; }

std::string blocks_cell(L l) {
  const Kernel& k = l.all.kernels[l.timed.kernel];
  const int arm = l.timed.fewer_sms > 0 ? untouched : l.timed.launch.arm;
  const auto found = k.arms.find(arm);
  return std::to_string(arm >= first_level && found != k.arms.end() ? found->second.blocks_per_sm
                                                                    : k.blocks_per_sm);
}

constexpr CsvColumn<LaunchRow> launch_columns[] = {
    {"process", [](L l) { return l.all.processes[l.timed.process].id; }},
    {"kernel_id", [](L l) { return std::to_string(l.timed.kernel); }},
    {"sequence", [](L l) { return std::to_string(l.timed.launch.sequence); }},
    {"thread", [](L l) { return std::to_string(l.timed.launch.thread); }},
    {"arm", [](L l) { return l.timed.fewer_sms > 0 ? fewer_sms_arm : arm_name(l.timed.launch.arm); }},
    {"blocks_per_sm", blocks_cell},
    {"time_s", [](L l) { return seconds(static_cast<double>(l.timed.launch.time_us)); }},
    {"warm_up", [](L l) { return flag(l, warm_up); }},
    {"overlapped", [](L l) { return flag(l, overlapped); }},
    {"drawn", [](L l) { return flag(l, drawn); }},
    {"timed_by",
     [](L l) { return std::string((l.timed.launch.flags & by_record) != 0 ? "activity" : "events"); }},
    {"sm_count",
     [](L l) {
       return std::to_string(l.timed.fewer_sms > 0 ? l.timed.fewer_sms : l.all.kernels[l.timed.kernel].sms);
     }},
};

void write_launches(const std::filesystem::path& path, const Collected& all) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  constexpr std::span<const CsvColumn<LaunchRow>> columns = launch_columns;
  std::string text = csv_header(columns);
  if (!create_file(path, text)) fail(path, "is there already");
  const Descriptor file = open_for_append(path);
  text.clear();
  for (const TimedLaunch& launch : all.launches) {
    text += csv_line(columns, {all, launch});
    if (text.size() < chunk) continue;
    append_whole(file, text, path, "");
    text.clear();
  }
  append_whole(file, text, path, "");
  pack_file(path);
}

nlohmann::json gpu_json(const AttachedDevice& d) {
  return {{"name", d.name},
          {"uuid", d.uuid},
          {"compute_capability", std::to_string(d.sm.cc_major) + "." + std::to_string(d.sm.cc_minor)},
          {"sm_count", d.sm.sm_count},
          {"warp_size", d.sm.warp_size},
          {"max_threads_per_sm", d.sm.max_threads_per_sm},
          {"max_blocks_per_sm", d.sm.max_blocks_per_sm},
          {"registers_per_sm", d.sm.registers_per_sm},
          {"smem_per_sm_bytes", d.sm.smem_per_sm_bytes},
          {"smem_per_block_optin_bytes", d.sm.smem_per_block_optin_bytes},
          {"smem_reserved_per_block_bytes", d.sm.smem_reserved_per_block_bytes}};
}

}  // namespace

void record_attached(const std::filesystem::path& folder, const Collected& all,
                     const std::vector<Verdict>& verdicts, const nlohmann::json& run) {
  nlohmann::json env{{"schema_version", schema_version},
                     {"kind", "attach"},
                     {"created_utc", utc_now()},
                     {"occbench_version", build_info.version},
                     {"git_commit", build_info.commit},
                     {"git_dirty", build_info.dirty},
                     {"build_type", build_info.build_type},
                     {"source", "measured"},
                     {"gpu", all.devices.empty() ? nlohmann::json::object() : gpu_json(all.devices.front())},
                     {"gpus", nlohmann::json::array()},
                     {"processes", nlohmann::json::array()},
                     {"complaints", all.warnings}};
  if (all.time.wall_s > 0)
    env["time"] = {{"wall_s", to_picoseconds(all.time.wall_s)},
                   {"launching_s", to_picoseconds(all.time.launching_s)},
                   {"gpu_busy_s", to_picoseconds(all.time.busy_s)}};
  for (const AttachedDevice& device : all.devices) env["gpus"].push_back(gpu_json(device));
  for (const AttachedProcess& process : all.processes)
    env["processes"].push_back({{"id", process.id},
                                {"command", process.command},
                                {"timing", process.timing},
                                {"why_events", process.why_events}});
  env.update(run);
  replace_file(folder / "kernels.csv", kernels_csv(all, verdicts));
  replace_file(folder / "arms.csv", arms_csv(all));
  if (std::ranges::any_of(all.kernels, [](const Kernel& k) { return k.counters().samples > 0; }))
    replace_file(folder / "counters.csv", counters_csv(all));
  write_launches(folder / "launches.csv", all);
  constexpr int indent = 2;
  replace_file(folder / "env.json",
               env.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace occbench::commands
