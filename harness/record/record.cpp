// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>

#include "harness/io/csv.hpp"
#include "harness/io/gzip.hpp"
#include "harness/io/json.hpp"
#include "harness/record/schema.hpp"

namespace occbench {

namespace fs = std::filesystem;

namespace {

constexpr const char* run_files[] = {"cases.csv", "samples.csv", "samples.csv.gz", "env.json",
                                     "findings.json"};
constexpr const char* rows_are_kept = "; earlier rows are kept, make room and continue with --resume";

using RowRule = std::function<void(const csv::Row& row, const RowCheck& check)>;

/// The records of a CSV file whose header must be `header`. Throws UserError(Exit::file) at the first that
/// violates the schema or that `also` refuses; leaves out a last record that a crash cut off.
std::vector<csv::Row> read_whole_records(const fs::path& path, const std::vector<std::string>& header,
                                         std::size_t limit, const RowRule& also = {}) {
  check_readable(path, limit);
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<csv::Row> rows;
  RowCheck check(path, path.filename().string(), header);
  auto record = csv::read(in);
  if (!record || !record->complete) return rows;
  if (record->fields != header)
    fail(path, "its columns are not those of schema " + std::to_string(schema_version) +
                   ": it was written by another version, start a new folder");
  while ((record = csv::read(in)) && check.is_whole(*record)) {
    check.check(record->fields);
    if (record->fields.front() != std::to_string(schema_version))
      check.refuse("schema_version: " + record->fields.front() + ", and the file is of schema " +
                   std::to_string(schema_version));
    if (also) also(record->fields, check);
    rows.push_back(std::move(record->fields));
  }
  return rows;
}

std::size_t index_of(std::string_view column) {
  static const std::vector<std::string> columns = case_columns();
  return static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin());
}

/// Checks that a row of cases.csv is consistent, of a case of this run, and the only one of its case.
RowRule rule_of_cases(const nlohmann::json& environment, const std::set<std::string>& planned) {
  return [&planned, source = environment.value("source", nlohmann::json()), ids = std::set<std::string>()](
             const csv::Row& row, const RowCheck& check) mutable {
    check.check_filled(row);
    // occbench writes no such cell: a stray quote has swallowed rows.
    if (std::ranges::any_of(row, [](const auto& cell) { return cell.find('\n') != std::string::npos; }))
      check.refuse("a cell spans lines");
    const std::string &id = row[index_of("case_id")], &own = row[index_of("source")];
    if (!ids.insert(id).second) check.refuse("case_id: " + id + " is there twice");
    if (!planned.empty() && !planned.contains(id))
      check.refuse("case_id: " + id + " is not a case of this run");
    if (source.is_string() && source != own)
      check.refuse("source: " + own + ", and env.json says " + source.get<std::string>());
  };
}

/// The sample of a row that sample_fields() wrote.
SampleRow sample_of(const csv::Row& row, const fs::path& file) {
  SampleRow s{.case_id = row[1], .discarded = row[7] == "1"};
  const auto read = [&](std::size_t column, auto& value) {
    const std::string& text = row[column];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(file, sample_columns()[column] + ": " + text + " is out of range");
  };
  read(2, s.repetition);
  read(3, s.round);
  read(4, s.sample);
  read(5, s.time_s);
  read(6, s.sm_clock_hz);
  read(8, s.started_unix_s);
  return s;
}

std::string join(const std::vector<std::string>& header, const std::vector<csv::Row>& rows) {
  std::string text = csv::format(header);
  for (const auto& row : rows) text += csv::format(row);
  return text;
}

}  // namespace

Recorder Recorder::create(RunFolder folder, const nlohmann::json& environment) {
  const fs::path path = folder.path();
  const auto exists = [&](const char* name) { return fs::exists(fs::symlink_status(path / name)); };
  if (exists("env.json"))
    fail(path, "already holds a run; continue it with --resume, or name another folder");
  for (const char* name : run_files)
    if (exists(name)) fail(path, std::string("already holds a ") + name + "; name another folder");
  // Write the environment last: without it the folder holds no run.
  std::vector<fs::path> written;
  try {
    for (const auto& [name, text] :
         {std::pair<const char*, std::string>{"samples.csv", csv::format(sample_columns())},
          {"cases.csv", csv::format(case_columns())},
          {"env.json", environment.dump(2) + "\n"}}) {
      if (!create_file(path / name, text)) fail(path, "another run has started there; name another folder");
      written.push_back(path / name);
    }
  } catch (...) {  // a run that could not start leaves nothing behind
    for (const fs::path& file : written) static_cast<void>(unlink(file.c_str()));
    throw;
  }
  return Recorder(std::move(folder));
}

Recorder Recorder::resume(RunFolder folder, const std::set<std::string>& planned) {
  const fs::path path = folder.path();
  if (!fs::exists(path / "env.json")) fail(path, "holds no run to resume (no env.json)");
  const nlohmann::json environment = environment_of(path);
  // Left by a kill while a file was replaced.
  for (const auto& entry : fs::directory_iterator(path))
    for (const char* name : run_files)
      if (const std::string file = entry.path().filename(); file.starts_with(name) && file.ends_with(".part"))
        static_cast<void>(unlink(entry.path().c_str()));
  const auto rows_of = [&](const char* name, const std::vector<std::string>& header, std::size_t limit,
                           const RowRule& also = {}) {
    return fs::exists(path / name) ? read_whole_records(path / name, header, limit, also)
                                   : std::vector<csv::Row>();
  };
  auto cases = rows_of("cases.csv", case_columns(), cases_limit, rule_of_cases(environment, planned));
  const std::size_t id = index_of("case_id"), status = index_of("status");
  std::set<std::string> finished;
  std::set<std::string> without_time;
  for (const auto& row : cases) {
    if (row[status] != to_string(Status::valid)) without_time.insert(row[id]);
    if (row[status] != to_string(Status::noisy)) finished.insert(row[id]);
  }
  // Noisy cases are measured again, from no sample.
  std::erase_if(cases, [&](const csv::Row& row) { return !finished.contains(row[id]); });
  if (!fs::exists(path / "samples.csv") && fs::exists(path / "samples.csv.gz"))
    unpack_file(path / "samples.csv", samples_limit);
  auto samples = rows_of("samples.csv", sample_columns(), samples_limit);
  std::erase_if(samples, [&](const csv::Row& row) { return without_time.contains(row[1]); });
  std::vector<SampleRow> unfinished;
  for (const csv::Row& row : samples)
    if (!finished.contains(row[1])) unfinished.push_back(sample_of(row, path / "samples.csv"));
  replace_file(path / "samples.csv", join(sample_columns(), samples));
  replace_file(path / "cases.csv", join(case_columns(), cases));
  static_cast<void>(unlink((path / "samples.csv.gz").c_str()));  // of a run that ended while it compressed
  Recorder recorder(std::move(folder));
  recorder.finished_ = std::move(finished);
  recorder.unfinished_ = std::move(unfinished);
  return recorder;
}

nlohmann::json Recorder::environment_of(const fs::path& folder) {
  const fs::path file = folder / "env.json";
  if (!fs::exists(file)) fail(folder, "holds no run (no env.json)");
  nlohmann::json json;
  try {
    json = parse_json(read_file(file, environment_limit));
  } catch (const std::invalid_argument& e) {
    fail(file, e.what());
  }
  if (!json.is_object()) fail(file, "is not a JSON object");
  const bool is_attached = json.value("kind", nlohmann::json()) == nlohmann::json("attach");
  const auto& fields = schema_entries("env.json", is_attached ? Origin::attach : Origin::run);
  if (const std::string what = environment_complaint(json, fields, EnvironmentCheck::types); !what.empty())
    fail(file, what);
  return json;
}

Recorder::Recorder(RunFolder folder)
    : folder_(std::move(folder)),
      cases_(open_for_append(folder_.path() / "cases.csv")),
      samples_(open_for_append(folder_.path() / "samples.csv")) {}

void Recorder::append(const CaseResult& result) {
  append_whole(cases_, csv::format(case_fields(result)), folder_.path() / "cases.csv", rows_are_kept);
  if (!result.has_time()) without_time_.insert(result.planned.id);
  // An fsync per row would take milliseconds.
  if (std::chrono::steady_clock::now() - synced_ > std::chrono::seconds(5)) sync();
}

void Recorder::append(std::span<const SampleRow> samples) {
  std::string text;
  for (const SampleRow& row : samples) text += csv::format(sample_fields(row));
  append_whole(samples_, text, folder_.path() / "samples.csv", rows_are_kept);
}

void Recorder::add_to_environment(const char* field, nlohmann::json entry) {
  nlohmann::json environment = environment_of(folder());
  environment[field].push_back(std::move(entry));
  replace_file(folder() / "env.json", environment.dump(2) + "\n");
}

void Recorder::pack() {
  sync();
  const fs::path file = folder_.path() / "samples.csv";
  auto samples = read_whole_records(file, sample_columns(), samples_limit);
  if (std::erase_if(samples, [&](const csv::Row& row) { return without_time_.contains(row[1]); }) > 0)
    replace_file(file, join(sample_columns(), samples));
  pack_file(folder_.path() / "samples.csv");
}

void Recorder::sync() {
  // Samples first: no row is without its samples.
  for (const Descriptor* file : {&samples_, &cases_}) static_cast<void>(fdatasync(file->get()));
  synced_ = std::chrono::steady_clock::now();
}

}  // namespace occbench
