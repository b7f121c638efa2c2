// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/folder.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/attach/protocol/kinds.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/record/record.hpp"
#include "harness/record/schema.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr const char* table_names[] = {"kernels.csv", "arms.csv", "registers.csv", "counters.csv"};

/// Throws std::invalid_argument or std::out_of_range, as all that follow.
double read_number(const Cells& row, const std::string& column) {
  const double value = std::stod(row.at(column));
  if (!std::isfinite(value)) throw std::invalid_argument(column);
  return value;
}

template <class T>
T read_count(const Cells& row, const std::string& column) {
  const std::int64_t count = std::stoll(row.at(column));
  if (!std::in_range<T>(count)) throw std::out_of_range(column);
  return static_cast<T>(count);
}

std::optional<Change> read_change(const Cells& row, const std::string& column) {
  if (row.at(column).empty()) return std::nullopt;
  return Change{.value = read_number(row, column),
                .low = read_number(row, column + "_low"),
                .high = read_number(row, column + "_high")};
}

/// A kernel of kernels.csv, without what was found of it.
Kernel read_kernel(const Cells& row) {
  Kernel k{.name = row.at("kernel").empty() ? row.at("symbol") : row.at("kernel")};
  if (k.name.empty()) k.name = "(no name)";
  const char* const axes[] = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    k.grid[i] = read_count<unsigned>(row, std::string("grid_") + axes[i]);
    k.block[i] = read_count<unsigned>(row, std::string("block_") + axes[i]);
  }
  k.footprint.registers_per_thread = read_count<int>(row, "registers_per_thread");
  k.local_bytes = read_count<int>(row, "local_bytes");
  k.after = row.at("after");
  k.range = row.at("range");
  k.blocks_per_sm = read_count<int>(row, "blocks_per_sm");
  k.sms = read_count<int>(row, "sm_count");
  if (!row.at("graph_kernels").empty()) k.graph_kernels = read_count<std::uint64_t>(row, "graph_kernels");
  if (k.block[0] == 0 && k.graph_kernels == 0) k.skip_reason = SkipReason::too_many;
  if (!row.at("graph_id").empty()) {
    k.whole = read_count<std::size_t>(row, "graph_id");
    k.graph = row.at("graph_id");
  }
  k.launches = read_count<std::uint64_t>(row, "launches");
  k.captured = read_count<std::uint64_t>(row, "captured");
  k.untouched_us = 1e6 * read_number(row, "time_mean_s");
  k.untouched_timed = k.untouched_us > 0 ? 1 : 0;
  return k;
}

Verdict read_verdict(const Cells& row) {
  Verdict v;
  const auto finding = parse_finding(row.at("verdict"));
  if (!finding) throw std::invalid_argument("verdict");
  v.finding = *finding;
  v.why = row.at("why");
  v.l1 = read_change(row, "l1_change");
  v.next.needs = row.at("next_step");
  v.gain = read_change(row, "gain");
  if (const auto column = row.find("sm_verdict"); column != row.end()) {  // schema 7
    const auto by_sms = parse_sm_finding(column->second);
    if (!by_sms) throw std::invalid_argument("sm_verdict");
    v.by_sms.finding = *by_sms;
    if (!row.at("spare_sms").empty()) v.by_sms.spare_sms = read_count<int>(row, "spare_sms");
  }
  return v;
}

struct ArmTime {
  LevelResult level;  ///< without its changes
  std::optional<Median> time;
  int sms = 0;
};

ArmTime read_arm(const Cells& row) {
  ArmTime arm{.level = {.blocks_per_sm = read_count<int>(row, "blocks_per_sm"),
                        .added_smem_bytes = read_count<unsigned>(row, "added_smem_bytes"),
                        .samples = read_count<std::size_t>(row, "samples")}};
  if (row.contains("sm_count")) arm.sms = read_count<int>(row, "sm_count");  // schema 7
  if (arm.level.samples < least || row.at("time_median_s").empty()) return arm;
  const double median = read_number(row, "time_median_s");
  const double half = (read_number(row, "time_ci95_high_s") - read_number(row, "time_ci95_low_s")) / 2;
  if (median > 0) arm.time = Median{.value = median, .error = half / median};
  return arm;
}

/// The levels of a kernel, from its arms by name.
void add_levels(const Kernel& k, Verdict& v, const std::multimap<std::string, ArmTime>& arms) {
  const auto before = arms.find("untouched"), natural = arms.find("pinned");
  if (before == arms.end() || natural == arms.end() || !before->second.time || !natural->second.time ||
      natural->second.level.blocks_per_sm < 1 || v.why.starts_with("several kinds"))
    return;
  const auto [begin, end] = arms.equal_range("lower");
  for (auto at = begin; at != end; ++at) {
    if (!at->second.time) continue;
    LevelResult& level = v.levels.emplace_back(at->second.level);
    level.warps = static_cast<double>(level.blocks_per_sm) / natural->second.level.blocks_per_sm;
    level.change = change_of(*at->second.time, *natural->second.time);
    level.from_untouched = change_of(*at->second.time, *before->second.time);
  }
  std::ranges::sort(v.levels, std::greater<>(), &LevelResult::blocks_per_sm);
  add_waves(k, v);
}

/// What a kernel took on fewer SMs, from its arms by name.
void add_shares(const Kernel& k, SmVerdict& v, const std::multimap<std::string, ArmTime>& arms) {
  const auto before = arms.find("untouched");
  if (before == arms.end() || !before->second.time) return;
  const auto [begin, end] = arms.equal_range("fewer SMs");
  for (auto at = begin; at != end; ++at)
    if (const ArmTime& arm = at->second; arm.time && arm.sms > 0)
      v.shares.push_back(share_found(k, arm.sms, arm.level.samples, *arm.time, *before->second.time));
  std::ranges::sort(v.shares, std::greater<>(), &SmShareResult::sms);
}

CapResult read_cap(const Cells& row) {
  CapResult cap{.cap = read_count<int>(row, "register_cap"),
                .registers = read_count<int>(row, "registers_per_thread"),
                .local_bytes = read_count<int>(row, "local_bytes"),
                .blocks_per_sm = read_count<int>(row, "blocks_per_sm"),
                .samples = read_count<std::size_t>(row, "samples")};
  cap.change = read_change(row, "change");
  return cap;
}

void add_devices(Collected& all, const nlohmann::json& env) {
  for (const auto& gpu : env.at("gpus")) {
    AttachedDevice& device = all.devices.emplace_back();
    device.uuid = gpu.value("uuid", "");
    device.sm.sm_count = gpu.value("sm_count", 0);
  }
}

AttachResults read_tables(const std::filesystem::path& folder) {
  const nlohmann::json env = Recorder::environment_of(folder);
  AttachResults found{.is_observed = env.value("observe", false)};
  add_devices(found.all, env);
  for (const auto& process : env.at("processes"))
    found.all.processes.push_back({.id = process.value("id", ""),
                                   .command = process.value("command", ""),
                                   .timing = process.value("timing", "events"),
                                   .why_events = process.value("why_events", "")});
  for (const auto& line : env.at("complaints"))
    found.all.warnings.push_back(printable(line.get<std::string>()));
  if (env.contains("time")) {
    const auto seconds = [&](const char* name) {
      constexpr double most = 1e9;
      return std::clamp(env["time"].at(name).get<double>(), 0.0, most);
    };
    found.all.time = {
        .wall_s = seconds("wall_s"), .launching_s = seconds("launching_s"), .busy_s = seconds("gpu_busy_s")};
  }
  if (env.contains("same_stdout")) found.is_same_output = env["same_stdout"].get<bool>();
  std::map<std::string, std::size_t> places;  // by kernel_id
  for (const Cells& row : table_of(folder / "kernels.csv")) {
    places[row.at("kernel_id")] = found.all.kernels.size();
    Kernel& k = found.all.kernels.emplace_back(read_kernel(row));
    k.device = static_cast<std::size_t>(
        std::ranges::find(found.all.devices, row.at("gpu_uuid"), &AttachedDevice::uuid) -
        found.all.devices.begin());
    found.verdicts.push_back(read_verdict(row));
  }
  for (Kernel& k : found.all.kernels)
    if (k.whole) k.whole = places.at(k.graph);
  std::map<std::size_t, std::multimap<std::string, ArmTime>> arms;
  for (const Cells& row : table_of(folder / "arms.csv"))
    arms[places.at(row.at("kernel_id"))].emplace(row.at("arm"), read_arm(row));
  for (const auto& [i, mine] : arms) {
    add_levels(found.all.kernels[i], found.verdicts[i], mine);
    add_shares(found.all.kernels[i], found.verdicts[i].by_sms, mine);
  }
  found.has_caps = std::filesystem::exists(folder / "registers.csv");
  if (found.has_caps)
    for (const Cells& row : table_of(folder / "registers.csv"))
      found.verdicts[places.at(row.at("kernel_id"))].caps.push_back(read_cap(row));
  return found;
}

/// The kernels' verdicts, with the levels by which they were judged.
nlohmann::json verdicts_json(const AttachResults& found) {
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    const Verdict& v = found.verdicts[i];
    const VerdictText words = describe_verdict(found.all.kernels[i], v);
    nlohmann::json levels = nlohmann::json::array();
    for (const LevelResult& level : v.levels)
      levels.push_back({{"warps", level.warps},
                        {"slowdown", level.change.value},
                        {"low", level.change.low},
                        {"high", level.change.high}});
    all.push_back({{"kind", words.kind},
                   {"sentence", words.sentence},
                   {"advice", words.advice},
                   {"levels", std::move(levels)}});
    if (const CapResult* const cap = fastest_cap(v)) all.back()["fastest_cap"] = cap->cap;
  }
  return all;
}

}  // namespace

std::vector<Cells> table_of(const std::filesystem::path& path, LastRow last) {
  std::istringstream in(read_table(path));
  std::vector<Cells> rows;
  const auto header = csv::read(in);
  if (!header || !header->complete) fail(path, "holds no row");
  RowCheck check(path, path.filename().string(), header->fields, Origin::attach);
  for (std::optional<csv::Record> record; (record = csv::read(in));) {
    if (!check.is_whole(*record)) {
      if (last == LastRow::whole) check.refuse("the last row is cut off");
      break;
    }
    check.check(record->fields);
    Cells& row = rows.emplace_back();
    for (std::size_t i = 0; i < record->fields.size(); ++i) row[header->fields[i]] = record->fields[i];
  }
  return rows;
}

bool is_attached(const std::filesystem::path& folder) {
  if (std::error_code error; !std::filesystem::exists(folder / "env.json", error)) return false;
  const nlohmann::json env = Recorder::environment_of(folder);
  return env.value("kind", nlohmann::json()) == nlohmann::json("attach");
}

AttachResults read_attached(const std::filesystem::path& folder) try {
  return read_tables(folder);
} catch (const std::logic_error&) {  // of numbers and columns
  fail(folder, "its tables are damaged, or of another version");
} catch (const nlohmann::json::exception&) {
  fail(folder / "env.json", "is damaged, or of another version");
}

nlohmann::json attached_findings(const std::filesystem::path& folder) {
  const AttachResults found = read_attached(folder);
  nlohmann::json checksums = nlohmann::json::object();
  for (const char* name : table_names) {
    if (!std::filesystem::exists(folder / name)) continue;
    const std::string content = read_file(folder / name, cases_limit);
    const auto crc = crc32_z(0, reinterpret_cast<const unsigned char*>(content.data()), content.size());
    checksums[name] = text("%08lx", crc);
  }
  KernelIndices needing;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i)
    if (found.verdicts[i].finding == Finding::needs_occupancy) needing.push_back(i);
  nlohmann::json headings = nlohmann::json::array(), skipped = nlohmann::json::array();
  for (const Heading& heading : headings_of(found))
    headings.push_back({{"title", heading.title}, {"sentences", heading.sentences}});
  for (const SkipGroup& s : skipped_of(found))
    skipped.push_back({{"why", printable(s.why)}, {"kernels", s.kernels}, {"gpu_time_share", s.share}});
  return {{"schema_version", schema_version},
          {"tables", std::move(checksums)},
          {"summary", summary_of(found.all)},
          {"program", whole_program(found)},
          {"apply", sentence_of_lower(found.all, found.verdicts)},
          {"needing", {{"kernels", needing.size()}, {"gpu_time_share", share_of(found, needing)}}},
          {"headings", std::move(headings)},
          {"skipped", std::move(skipped)},
          {"verdicts", verdicts_json(found)},
          {"limits",
           {{"least_samples", least}, {"most_spread", most_spread}, {"most_elsewhere", most_elsewhere}}}};
}

void write_attached_findings(const std::filesystem::path& folder) {
  replace_file(
      folder / "findings.json",
      attached_findings(folder).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace occbench::commands
