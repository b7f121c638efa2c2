// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/record.hpp"

#include <array>
#include <ctime>

#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/io/gzip.hpp"
#include "harness/record/build.hpp"
#include "harness/record/record.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string seconds(double us) { return shortest(us * 1e-6); }

void add_change(csv::Row& row, const std::optional<Change>& change) {
  if (change)
    row.insert(row.end(), {shortest(change->value), shortest(change->low), shortest(change->high)});
  else
    row.insert(row.end(), 3, "");
}

std::string kernels_csv(const Collected& all, const std::vector<Verdict>& verdicts) {
  csv::Row header = {"kernel_id",
                     "kernel",
                     "symbol",
                     "gpu_uuid",
                     "grid_x",
                     "grid_y",
                     "grid_z",
                     "block_x",
                     "block_y",
                     "block_z",
                     "registers_per_thread",
                     "static_smem_bytes",
                     "dynamic_smem_bytes",
                     "local_bytes",
                     "arguments",
                     "launches",
                     "captured",
                     "graph_kernels",
                     "timed",
                     "overlapped",
                     "time_mean_s",
                     "time_total_s",
                     "gpu_time_share",
                     "blocks_per_sm",
                     "occupancy",
                     "limiter",
                     "waves",
                     "verdict",
                     "why",
                     "l1_change",
                     "l1_change_low",
                     "l1_change_high",
                     "next_step",
                     "next_blocks_per_sm",
                     "gain",
                     "gain_low",
                     "gain_high",
                     "range",
                     "graph_id",
                     "after",
                     "sm_count"};
  std::string text = csv::format(header);
  const double total = all.total_us();
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Kernel& k = all.kernels[i];
    const Verdict& v = verdicts[i];
    const AttachedDevice* const device = k.device < all.devices.size() ? &all.devices[k.device] : nullptr;
    csv::Row row = {std::to_string(i), csv::no_formula(binary::demangled(k.name)), csv::no_formula(k.name),
                    device == nullptr ? "" : device->uuid};
    for (const unsigned n : k.grid) row.push_back(std::to_string(n));
    for (const unsigned n : k.block) row.push_back(std::to_string(n));
    row.insert(
        row.end(),
        {std::to_string(k.footprint.registers_per_thread), std::to_string(k.footprint.static_smem_bytes),
         std::to_string(k.footprint.dynamic_smem_bytes), std::to_string(k.local_bytes), k.arguments,
         std::to_string(k.launches), std::to_string(k.captured),
         k.graph_kernels == 0 ? "" : std::to_string(k.graph_kernels), std::to_string(k.timed),
         std::to_string(k.overlapping), seconds(k.mean_us()), seconds(k.total_us()),
         shortest(total > 0 ? k.total_us() / total : 0), std::to_string(k.is_graph() ? 0 : k.blocks_per_sm),
         shortest(v.occupancy), theory::to_string(v.limiters),
         device == nullptr || k.blocks_per_sm < 1 || k.is_graph() ? "" : shortest(k.waves(k.blocks_per_sm)),
         words_of(v.finding), v.why});
    add_change(row, v.l1);
    row.push_back(v.next.needs);
    row.push_back(v.next.needs.empty() ? "" : std::to_string(v.next.blocks_per_sm));
    add_change(row, v.gain);
    row.push_back(csv::no_formula(k.range));
    row.push_back(k.whole ? std::to_string(*k.whole) : "");
    row.push_back(csv::no_formula(binary::demangled(k.after)));
    row.push_back(std::to_string(k.sms));
    text += csv::format(row);
  }
  return text;
}

std::string arm_name(int arm) { return arm == untouched ? "untouched" : arm == pinned ? "pinned" : "lower"; }

std::string arms_csv(const Collected& all) {
  std::string text = csv::format({"kernel_id", "arm", "blocks_per_sm", "added_smem_bytes", "samples",
                                  "time_median_s", "time_ci95_low_s", "time_ci95_high_s"});
  for (std::size_t i = 0; i < all.kernels.size(); ++i)
    for (const auto& [number, arm] : all.kernels[i].arms) {
      csv::Row row = {std::to_string(i), arm_name(number), std::to_string(arm.blocks_per_sm),
                      std::to_string(arm.added_smem_bytes), std::to_string(arm.times_us.size())};
      if (arm.times_us.empty()) {
        row.insert(row.end(), 3, "");
      } else {
        const auto m = statistics::median_interval(arm.times_us);
        row.insert(row.end(), {seconds(m.median), seconds(m.low), seconds(m.high)});
      }
      text += csv::format(row);
    }
  return text;
}

void write_launches(const std::filesystem::path& path, const Collected& all) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::string text = csv::format({"process", "kernel_id", "sequence", "thread", "arm", "blocks_per_sm",
                                  "time_s", "warm_up", "overlapped", "drawn", "timed_by"});
  if (!create_file(path, text)) fail(path, "is there already");
  const Descriptor file = open_for_append(path);
  text.clear();
  for (const TimedLaunch& l : all.launches) {
    const Kernel& k = all.kernels[l.kernel];
    const int arm = l.launch.arm;
    const auto found = k.arms.find(arm);
    const int blocks =
        arm >= first_level && found != k.arms.end() ? found->second.blocks_per_sm : k.blocks_per_sm;
    const auto flag = [&](Flag f) { return std::string((l.launch.flags & f) != 0 ? "1" : "0"); };
    text +=
        csv::format({all.processes[l.process].id, std::to_string(l.kernel), std::to_string(l.launch.sequence),
                     std::to_string(l.launch.thread), arm_name(arm), std::to_string(blocks),
                     seconds(static_cast<double>(l.launch.time_us)), flag(warm_up), flag(overlapped),
                     flag(drawn), (l.launch.flags & by_record) != 0 ? "activity" : "events"});
    if (text.size() < chunk) continue;
    append_whole(file, text, path, "");
    text.clear();
  }
  append_whole(file, text, path, "");
  pack_file(path);
}

nlohmann::json gpu(const AttachedDevice& d) {
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
                     {"gpu", all.devices.empty() ? nlohmann::json::object() : gpu(all.devices.front())},
                     {"gpus", nlohmann::json::array()},
                     {"processes", nlohmann::json::array()},
                     {"complaints", all.complaints}};
  for (const AttachedDevice& device : all.devices) env["gpus"].push_back(gpu(device));
  for (const AttachedProcess& process : all.processes)
    env["processes"].push_back({{"id", process.id},
                                {"command", process.command},
                                {"timing", process.timing},
                                {"why_events", process.why_events}});
  env.update(run);
  replace_file(folder / "kernels.csv", kernels_csv(all, verdicts));
  replace_file(folder / "arms.csv", arms_csv(all));
  write_launches(folder / "launches.csv", all);
  constexpr int indent = 2;
  replace_file(folder / "env.json",
               env.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace occbench::commands
