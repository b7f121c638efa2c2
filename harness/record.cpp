// SPDX-License-Identifier: Apache-2.0
#include "harness/record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "harness/csv.hpp"

namespace occbench {

namespace fs = std::filesystem;

namespace {

std::string number(double value) {  // the shortest text that reads back as the same double
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}
template <class Integer>
std::string number(Integer value) requires std::is_integral_v<Integer> {
  return std::to_string(value);
}
template <class T>
std::string number(const std::optional<T>& value) {
  return value ? number(*value) : "";
}
/// A dial that does not apply is an empty cell.
std::string dial(std::size_t value) { return value == 0 ? "" : number(value); }

struct Column {
  std::string_view name;
  std::function<std::string(const CaseResult&)> text;
};

/// Columns known before any launch, once a footprint could be computed.
bool planned(const CaseResult& r) { return r.planned.footprint.registers_per_thread > 0; }
bool launchable(const CaseResult& r) { return r.planned.launch.grid_size > 0; }
bool timed(const CaseResult& r) { return r.has_time(); }
bool measured(const CaseResult& r) { return timed(r) && !r.planned.is_modelled; }
bool bounded(const CaseResult& r) { return timed(r) && r.ceiling > 0; }
bool has_energy(const CaseResult& r) { return measured(r) && r.energy.has_value(); }

/// What the work comes to in the time of the prediction, or of its baseline; empty without one.
std::string predicted_rate(const CaseResult& r, double theory::Prediction::*time_s) {
  const std::optional<theory::Prediction>& p = r.planned.forecast.prediction;
  const double work = amount(r.work, unit_of(r.planned.spec.variant->ceiling));
  return p && (*p).*time_s > 0 && work > 0 ? number(work / (*p).*time_s) : "";
}

std::function<std::string(const CaseResult&)> slot_time(double SlotTime::*part) {
  return [part](const CaseResult& r) { return r.slot_time ? number((*r.slot_time).*part) : std::string(); };
}

template <class Text>
std::function<std::string(const CaseResult&)> when(bool (*holds)(const CaseResult&), Text text) {
  return [holds, text](const CaseResult& r) { return holds(r) ? number(text(r)) : std::string(); };
}

const Dials& dials(const CaseResult& r) { return r.planned.spec.variant->dials; }
Ceiling ceiling(const CaseResult& r) { return r.planned.spec.variant->ceiling; }

const std::vector<Column>& columns() {
  using R = const CaseResult&;
  static const std::vector<Column> all{
      {"schema_version", [](R) { return number(schema_version); }},
      {"source", [](R r) { return std::string(r.planned.is_modelled ? "model" : "measured"); }},
      {"case_id", [](R r) { return r.planned.id; }},
      {"experiment", [](R r) { return r.planned.spec.experiment; }},
      {"family", [](R r) { return r.planned.spec.variant->family; }},
      {"variant", [](R r) { return r.planned.spec.variant->name; }},
      {"status", [](R r) { return std::string(to_string(r.planned.status)); }},
      {"reason", [](R r) { return r.planned.reason; }},
      {"block_size", [](R r) { return number(r.planned.spec.block_size); }},
      {"grid_size", when(launchable, [](R r) { return r.planned.launch.grid_size; })},
      {"waves",
       when(launchable,
            [](R r) { return static_cast<double>(r.planned.launch.grid_size) / r.planned.wave_blocks; })},
      {"ilp", [](R r) { return number(r.planned.spec.variant->dials.ilp); }},
      {"bytes_per_access", [](R r) { return dial(r.planned.spec.variant->dials.bytes_per_access); }},
      {"data_type", [](R r) { return r.planned.spec.variant->dials.data_type; }},
      {"register_route", [](R r) { return std::string(to_string(r.planned.spec.variant->dials.route)); }},
      {"register_cap", [](R r) { return dial(r.planned.spec.variant->dials.register_cap); }},
      {"registers_per_thread", when(planned, [](R r) { return r.planned.attributes.registers_per_thread; })},
      // No kernel of the suite has a local array, so its stack is what the compiler spilled.
      {"spill_bytes", when(planned, [](R r) { return r.planned.attributes.local_bytes; })},
      {"local_bytes", when(planned, [](R r) { return r.planned.attributes.local_bytes; })},
      {"static_smem_bytes", when(planned, [](R r) { return r.planned.attributes.static_smem_bytes; })},
      {"dynamic_smem_bytes", [](R r) { return number(r.planned.footprint.dynamic_smem_bytes); }},
      {"carveout_percent", [](R r) { return number(r.planned.spec.carveout_percent); }},
      {"cluster_size", [](R r) { return number(r.planned.launch.cluster_size); }},
      {"barriers", [](R r) { return number(r.planned.spec.variant->dials.barriers); }},
      {"tile_width", [](R r) { return dial(r.planned.spec.variant->dials.tile_width); }},
      {"live_values", [](R r) { return dial(r.planned.spec.variant->dials.live_values); }},
      {"fma_per_load", [](R r) { return number(dials(r).fma_per_load); }},
      {"stages", [](R r) { return dial(dials(r).stages); }},
      {"bytes_in_flight", [](R r) { return dial(dials(r).bytes_in_flight); }},
      {"working_set_bytes", [](R r) { return dial(dials(r).working_set_bytes); }},
      {"bank_conflict", [](R r) { return dial(dials(r).bank_conflict); }},
      {"lanes_apart", [](R r) { return number(dials(r).lanes_apart); }},
      {"divergent_warps", [](R r) { return number(dials(r).divergent_warps); }},
      {"blocks_per_sm", when(planned, [](R r) { return r.planned.occupancy.blocks_per_sm; })},
      {"warps_per_sm", when(planned, [](R r) { return r.planned.occupancy.warps_per_sm; })},
      {"occupancy_theoretical", when(planned, [](R r) { return r.planned.occupancy.fraction; })},
      {"limiters",
       [](R r) {
         return r.planned.occupancy.limiters == theory::Limiter::none
                    ? std::string()
                    : theory::to_string(r.planned.occupancy.limiters);
       }},
      {"occupancy_textbook", when(planned, [](R r) { return r.planned.occupancy_textbook; })},
      {"blocks_per_sm_api", [](R r) { return number(r.blocks_per_sm_api); }},
      {"blocks_per_sm_resident", [](R r) { return number(r.blocks_per_sm_resident); }},
      {"clusters_api", [](R r) { return dial(r.planned.active_clusters); }},
      {"clusters_resident", [](R r) { return number(r.clusters_resident); }},
      {"idle_sms", [](R r) { return number(r.idle_sms); }},
      {"block_size_api", [](R r) { return number(r.block_size_api); }},
      {"occupancy_resident", slot_time(&SlotTime::resident)},
      {"occupancy_launch", slot_time(&SlotTime::launch)},
      {"lost_to_ramp", slot_time(&SlotTime::ramp)},
      {"lost_to_turnover", slot_time(&SlotTime::turnover)},
      {"lost_to_tail", slot_time(&SlotTime::tail)},
      {"lost_to_imbalance", slot_time(&SlotTime::imbalance)},
      {"lost_to_unused_places", slot_time(&SlotTime::unused)},
      {"occupancy_achieved", [](R r) { return number(r.counts.occupancy); }},
      {"issue_active", [](R r) { return number(r.counts.issue_active); }},
      {"fma_active", [](R r) { return number(r.counts.fma_active); }},
      {"tensor_active", [](R r) { return number(r.counts.tensor_active); }},
      {"dram_read_bytes", [](R r) { return number(r.counts.dram_read_bytes); }},
      {"dram_write_bytes", [](R r) { return number(r.counts.dram_write_bytes); }},
      {"l2_bytes", [](R r) { return number(r.counts.l2_bytes); }},
      {"l1_bytes", [](R r) { return number(r.counts.l1_bytes); }},
      {"stalls", [](R r) { return r.counts.stalls; }},
      {"counter_status", [](R r) { return r.counts.status; }},
      {"iterations", when(launchable, [](R r) { return r.planned.iterations; })},
      {"bytes_per_launch", when(timed, [](R r) { return r.work.bytes; })},
      {"flop_per_launch", when(timed, [](R r) { return r.work.flop; })},
      {"operations_per_launch", when(timed, [](R r) { return r.work.operations; })},
      {"samples", [](R r) { return number(r.samples); }},
      {"discarded", [](R r) { return number(r.discarded); }},
      {"stop_reason",
       [](R r) {
         return !timed(r)               ? std::string()
                : r.planned.is_modelled ? "model"
                : r.reached_precision   ? "precision"
                                        : "bound";
       }},
      {"time_median_s", when(timed, [](R r) { return r.time_s.median; })},
      {"time_ci95_low_s", when(measured, [](R r) { return r.time_s.low; })},
      {"time_ci95_high_s", when(measured, [](R r) { return r.time_s.high; })},
      {"time_p10_s", when(measured, [](R r) { return r.time_p10_s; })},
      {"time_p90_s", when(measured, [](R r) { return r.time_p90_s; })},
      {"sm_clock_hz", when(timed, [](R r) { return r.sm_clock_hz; })},
      {"throughput", when(timed, [](R r) { return r.throughput; })},
      {"throughput_predicted", [](R r) { return predicted_rate(r, &theory::Prediction::time_s); }},
      {"bound_predicted",
       [](R r) {
         const auto& prediction = r.planned.forecast.prediction;
         return prediction ? std::string(theory::to_string(prediction->bound)) : std::string();
       }},
      {"throughput_baseline", [](R r) { return predicted_rate(r, &theory::Prediction::baseline_time_s); }},
      {"throughput_unit", [](R r) { return std::string(rate_name(unit_of(ceiling(r)))); }},
      {"ceiling_kind", [](R r) { return std::string(to_string(ceiling(r))); }},
      {"ceiling", when(bounded, [](R r) { return r.ceiling; })},
      {"percent_of_ceiling", when(bounded, [](R r) { return 100 * r.throughput / r.ceiling; })},
      {"per_cycle_per_sm", when(timed, [](R r) { return r.per_cycle_per_sm; })},
      {"cycles_per_pass", when(timed, [](R r) { return r.cycles_per_pass; })},
      {"own_cycles_per_pass", when(timed, [](R r) { return r.own_cycles_per_pass; })},
      {"power_w", when(has_energy, [](R r) { return r.energy->power_w; })},
      {"energy_per_launch_j", when(has_energy, [](R r) { return r.energy->per_launch_j; })},
  };
  return all;
}

constexpr const char* run_files[] = {"cases.csv", "samples.csv", "env.json"};

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw UserError(Exit::file, path.string() + ": " + what);
}

/// Writes all of `text` or, when the disk refuses, nothing of it.
void write_whole(int fd, const std::string& text, const fs::path& path) {
  const off_t before = lseek(fd, 0, SEEK_END);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = std::strerror(errno);
      if (ftruncate(fd, before) != 0) fail(path, why + ", and its last row may be cut off");
      fail(path, why + "; every row before is kept, make room and go on with --resume");
    }
    done += static_cast<std::size_t>(n);
  }
}

int open_for_append(const fs::path& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) fail(path, std::string("cannot be written: ") + std::strerror(errno));
  return fd;
}

/// Replaces `path` in one step: readers see the old text or the new, never a part.
void write_file(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail(path, std::string("cannot be written: ") + std::strerror(errno));
  try {
    write_whole(fd, text, temporary);
  } catch (...) {
    close(fd);
    static_cast<void>(unlink(temporary.c_str()));
    throw;
  }
  close(fd);
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) fail(path, "cannot be written: " + error.message());
}

/// The whole records of a CSV file whose header must be `header`.
std::vector<csv::Row> read_whole_records(const fs::path& path, const std::vector<std::string>& header) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<csv::Row> rows;
  bool first = true;
  while (const auto record = csv::read(in)) {
    if (!record->complete) break;  // a row cut off by a crash
    if (first && record->fields != header)
      fail(path, "its columns are not those of schema " + std::to_string(schema_version) +
                     ": it was written by another version, start a new folder");
    if (!first && record->fields.size() == header.size()) rows.push_back(record->fields);
    first = false;
  }
  if (first) rows.clear();
  return rows;
}

std::string join(const std::vector<std::string>& header, const std::vector<csv::Row>& rows) {
  std::string text = csv::format(header);
  for (const auto& row : rows) text += csv::format(row);
  return text;
}

}  // namespace

double case_number(const CaseResult& result, std::string_view column) {
  const auto found = std::ranges::find(columns(), column, &Column::name);
  if (found == columns().end()) throw std::logic_error("cases.csv has no column " + std::string(column));
  const std::string text = found->text(result);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> case_columns() {
  std::vector<std::string> names;
  for (const Column& c : columns()) names.emplace_back(c.name);
  return names;
}

std::vector<std::string> case_fields(const CaseResult& result) {
  std::vector<std::string> fields;
  for (const Column& c : columns()) fields.push_back(c.text(result));
  return fields;
}

std::vector<std::string> sample_columns() {
  return {"schema_version", "case_id",     "repetition", "round",         "sample",
          "time_s",         "sm_clock_hz", "discarded",  "started_unix_s"};
}

std::vector<std::string> sample_fields(const SampleRow& row) {
  return {number(schema_version),    row.case_id,        number(row.repetition),  number(row.round),
          number(row.sample),        number(row.time_s), number(row.sm_clock_hz), row.discarded ? "1" : "0",
          number(row.started_unix_s)};
}

Recorder Recorder::create(const fs::path& folder, const nlohmann::json& environment) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) fail(folder, "is a file, not a folder");
  fs::create_directories(folder, error);
  if (error) fail(folder, "cannot be created: " + error.message());
  for (const char* name : run_files)
    if (fs::exists(folder / name))
      fail(folder, "already holds a run; go on with --resume, or name another folder");
  Recorder recorder(folder);
  try {
    write_file(folder / "env.json", environment.dump(2) + "\n");
    write_file(folder / "samples.csv", csv::format(sample_columns()));
    write_file(folder / "cases.csv", csv::format(case_columns()));
  } catch (...) {  // a run that could not begin leaves nothing behind
    for (const char* name : run_files) fs::remove(folder / name, error);
    throw;
  }
  recorder.samples_fd_ = open_for_append(folder / "samples.csv");
  recorder.cases_fd_ = open_for_append(folder / "cases.csv");
  return recorder;
}

Recorder Recorder::resume(const fs::path& folder) {
  if (!fs::exists(folder / "cases.csv")) fail(folder, "holds no run to resume (no cases.csv)");
  Recorder recorder(folder);
  const auto cases = read_whole_records(folder / "cases.csv", case_columns());
  const auto id = std::ranges::find(columns(), "case_id", &Column::name) - columns().begin();
  for (const auto& row : cases) recorder.finished_.insert(row[static_cast<std::size_t>(id)]);
  auto samples = fs::exists(folder / "samples.csv")
                     ? read_whole_records(folder / "samples.csv", sample_columns())
                     : std::vector<csv::Row>();
  std::erase_if(samples, [&](const csv::Row& row) { return !recorder.finished_.contains(row[1]); });
  write_file(folder / "cases.csv", join(case_columns(), cases));
  write_file(folder / "samples.csv", join(sample_columns(), samples));
  recorder.samples_fd_ = open_for_append(folder / "samples.csv");
  recorder.cases_fd_ = open_for_append(folder / "cases.csv");
  return recorder;
}

nlohmann::json Recorder::environment_of(const fs::path& folder) {
  std::ifstream in(folder / "env.json");
  if (!in) fail(folder, "holds no run (env.json cannot be read)");
  auto json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object()) fail(folder / "env.json", "is not a JSON object");
  return json;
}

Recorder::Recorder(Recorder&& other) noexcept
    : folder_(std::move(other.folder_)),
      cases_fd_(std::exchange(other.cases_fd_, -1)),
      samples_fd_(std::exchange(other.samples_fd_, -1)),
      finished_(std::move(other.finished_)) {}

Recorder::~Recorder() {
  if (cases_fd_ >= 0) close(cases_fd_);
  if (samples_fd_ >= 0) close(samples_fd_);
}

void Recorder::append(const CaseResult& result, std::span<const SampleRow> samples) {
  append(samples);
  write_whole(cases_fd_, csv::format(case_fields(result)), folder_ / "cases.csv");
}

void Recorder::append(std::span<const SampleRow> samples) {
  std::string text;
  for (const SampleRow& row : samples) text += csv::format(sample_fields(row));
  write_whole(samples_fd_, text, folder_ / "samples.csv");
}

}  // namespace occbench
