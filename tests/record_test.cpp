// SPDX-License-Identifier: Apache-2.0
// The run folder: what is in it when a run ends, and what crashes and full disks leave behind.
#include "harness/record/record.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "harness/io/csv.hpp"
#include "harness/io/gzip.hpp"
#include "harness/record/environment.hpp"
#include "tests/made_up_results.hpp"
#include "tests/sanitized.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

void put(Recorder& recorder, const CaseResult& result) {
  recorder.append(samples_of(result));
  recorder.append(result);
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<csv::Row> rows_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<csv::Row> rows;
  while (const auto record = csv::read(in)) {
    EXPECT_TRUE(record->complete) << path << " ends in half a row";
    rows.push_back(record->fields);
  }
  return rows;
}

/// The UserError of `action`; its code must be Exit::file and its line must hold `fragment`.
template <class Action>
void expect_file_error(Action action, const std::string& fragment) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << fragment;
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), Exit::file);
    EXPECT_NE(std::string(e.what()).find(fragment), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

/// As long as it lives, no file of this process may grow beyond `bytes`: a disk that is full at a known
/// place.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class RunFolder : public testing::Test {
 protected:
  RunFolder() {
    std::string name = (fs::temp_directory_path() / "occbench-record-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ / "run";
  }
  ~RunFolder() override { fs::remove_all(root_); }

  [[nodiscard]] fs::path cases() const { return folder_ / "cases.csv"; }
  [[nodiscard]] fs::path samples() const { return folder_ / "samples.csv"; }
  Recorder create() const { return Recorder::create(folder_, {{"schema_version", schema_version}}); }
  /// A run that was ended before it was packed.
  void write(std::initializer_list<CaseResult> results) const {
    auto recorder = create();
    for (const CaseResult& result : results) put(recorder, result);
  }
  /// Resuming the run fails with `said` while a file of it holds `content`, which stays.
  void expect_refused(const fs::path& file, const std::string& content, const std::string& said,
                      const std::set<std::string>& planned = {}) const {
    std::ofstream(file, std::ios::binary) << content;
    expect_file_error([&] { Recorder::resume(folder_, planned); }, said);
    EXPECT_EQ(text_of(file), content);
  }

  fs::path root_, folder_;
};

TEST_F(RunFolder, RowsRoundTrip) {
  auto recorder = create();
  const CaseResult results[] = {valid_result(), impossible_result(2048)};
  put(recorder, results[0]);
  recorder.append(results[1]);
  EXPECT_EQ(rows_of(cases()),
            (std::vector<csv::Row>{case_columns(), case_fields(results[0]), case_fields(results[1])}));
  const auto rows = rows_of(samples());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], sample_columns());
  EXPECT_EQ(rows[3], sample_fields(samples_of(results[0])[2]));
  EXPECT_EQ(Recorder::environment_of(folder_)["schema_version"], schema_version);
}

TEST_F(RunFolder, RefusesAFile) {
  std::ofstream(folder_) << "mine";
  expect_file_error([&] { create(); }, "is a file, not a folder");
  EXPECT_EQ(text_of(folder_), "mine");
}

TEST_F(RunFolder, RefusesAnExistingRun) {
  create();
  const std::string before = text_of(cases());
  expect_file_error([&] { create(); },
                    "already holds a run; continue it with --resume, or name another folder");
  EXPECT_EQ(text_of(cases()), before);
}

TEST_F(RunFolder, RefusesAnUnwritableParent) {
  fs::permissions(root_, fs::perms::owner_read | fs::perms::owner_exec);
  const bool root = geteuid() == 0;  // whom no permission stops: be nobody for a moment
  if (root) {
    fs::permissions(root_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
    ASSERT_EQ(seteuid(65534), 0);
  }
  expect_file_error([&] { create(); }, "cannot be created: Permission denied");
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(root_, fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RunFolder, PacksSamplesAtTheEndAndUnpacksOnResume) {
  std::string before;
  {
    auto recorder = create();
    for (int block = 32; block <= 512; block += 32) put(recorder, valid_result(block));
    before = text_of(samples());
    recorder.pack();
  }
  const fs::path packed = folder_ / "samples.csv.gz";
  EXPECT_FALSE(fs::exists(samples()));
  EXPECT_LT(fs::file_size(packed), before.size() / 4);
  expect_file_error([&] { create(); }, "already holds a run");
  {
    auto recorder = Recorder::resume(folder_);
    EXPECT_EQ(recorder.finished_cases().size(), 16u);
    EXPECT_EQ(text_of(samples()), before);
    EXPECT_FALSE(fs::exists(packed));
    recorder.pack();
  }
  // Ended between the two steps of packing: both are there, and the unpacked one is whole.
  std::ofstream(samples()) << before;
  Recorder::resume(folder_);
  EXPECT_EQ(text_of(samples()), before);
  EXPECT_FALSE(fs::exists(packed));
}

TEST_F(RunFolder, DoesNotPackSamplesOfFailedCases) {
  CaseResult failed = valid_result(128);
  {
    auto recorder = create();
    recorder.append(samples_of(failed));
    failed.planned.status = Status::invalid;
    failed.planned.reason = "its third launch failed";
    failed.samples = 0;
    recorder.append(failed);
    put(recorder, valid_result(256));
    recorder.pack();
  }
  Recorder::resume(folder_);  // unpacks
  EXPECT_EQ(rows_of(samples()).size(), 4u);
}

TEST_F(RunFolder, RejectsDamagedPackedSamplesWithoutDeletingThem) {
  {
    auto recorder = create();
    put(recorder, valid_result());
    recorder.pack();
  }
  const fs::path packed = folder_ / "samples.csv.gz";
  const std::string whole = text_of(packed);
  for (const std::string& text :
       {whole.substr(0, whole.size() / 2), whole + "more", std::string("not packed"), std::string()})
    expect_refused(packed, text, "samples.csv.gz: is not a whole gzip file");
  std::ofstream(packed) << whole;
  expect_file_error([&] { unpack_file(samples(), whole.size()); }, "holds more than");
}

// --- Going on

TEST_F(RunFolder, ResumeKeepsFinishedCases) {
  const CaseResult first = valid_result(128);
  const CaseResult second = valid_result(256);
  write({first});
  auto recorder = Recorder::resume(folder_);
  EXPECT_EQ(recorder.finished_cases(), std::set{first.planned.id});
  put(recorder, second);
  EXPECT_EQ(rows_of(cases()),
            (std::vector<csv::Row>{case_columns(), case_fields(first), case_fields(second)}));
  EXPECT_EQ(rows_of(samples()).size(), 7u);
}

TEST_F(RunFolder, ResumeRepeatsNoisyCases) {
  CaseResult noisy = valid_result(128);
  noisy.planned.status = Status::noisy;
  noisy.planned.reason = "only 2 of 30 launches count: 28 ran beside another process";
  noisy.samples = 2;
  noisy.discarded = 28;
  write({valid_result(), noisy});
  const auto recorder = Recorder::resume(folder_);
  EXPECT_EQ(recorder.finished_cases(), std::set{valid_result().planned.id});
  EXPECT_TRUE(recorder.unfinished_samples().empty()) << "its samples stand for nothing";
  EXPECT_EQ(rows_of(folder_ / "cases.csv").size(), 2U);
}

TEST_F(RunFolder, AppendsToTheEnvironmentAtTheEnd) {
  Recorder recorder = create();
  recorder.add_to_environment("disturbance", {{"launches", 7}});
  recorder.add_to_environment("disturbance", {{"launches", 8}});
  const nlohmann::json env = Recorder::environment_of(folder_);
  ASSERT_EQ(env["disturbance"].size(), 2U);
  EXPECT_EQ(env["disturbance"][1]["launches"], 8);
}

TEST_F(RunFolder, ResumeRemovesPartFilesOfAKilledRun) {
  write({valid_result()});
  const char* const files[] = {"cases.csv", "samples.csv", "samples.csv.gz", "env.json", "findings.json"};
  const auto left_of = [&](const std::string& name) { return folder_ / (name + ".1234.part"); };
  for (const char* const name : files) std::ofstream(left_of(name)) << "half";
  std::ofstream(left_of("mine")) << "half";
  Recorder::resume(folder_);
  for (const char* const name : files) EXPECT_FALSE(fs::exists(left_of(name))) << name;
  EXPECT_TRUE(fs::exists(left_of("mine"))) << "a file of the user";
}

TEST_F(RunFolder, ResumeDropsATruncatedRow) {
  constexpr std::size_t each = is_sanitized ? 7 : 1;  // byte; a prime, so that every part of a sample is cut
  const CaseResult first = valid_result(128);
  const CaseResult second = valid_result(256);
  write({first, second});
  const std::string whole_cases = text_of(cases());
  const std::string whole_samples = text_of(samples());
  const std::size_t second_begins = whole_cases.size() - csv::format(case_fields(second)).size();
  for (std::size_t size = second_begins; size < whole_cases.size(); size += each) {
    std::ofstream(cases(), std::ios::binary) << whole_cases.substr(0, size);
    std::ofstream(samples(), std::ios::binary) << whole_samples.substr(0, whole_samples.size() - size % 40);
    const auto recorder = Recorder::resume(folder_);
    EXPECT_EQ(recorder.finished_cases(), std::set{first.planned.id}) << size;
    EXPECT_EQ(rows_of(cases()), (std::vector<csv::Row>{case_columns(), case_fields(first)})) << size;
    const std::size_t left = size % 40 == 0 ? 3 : 2;  // of the second's, whole
    EXPECT_EQ(rows_of(samples()).size(), 4 + left);
    ASSERT_EQ(recorder.unfinished_samples().size(), left) << "what was measured is not measured again";
    const SampleRow was = samples_of(second)[1];
    EXPECT_EQ(sample_fields(recorder.unfinished_samples()[1]), sample_fields(was));
  }
}

TEST_F(RunFolder, ResumeRejectsAFolderWithoutARun) {
  expect_file_error([&] { Recorder::resume(folder_); }, "holds no run to resume (no env.json)");
  expect_file_error([&] { static_cast<void>(Recorder::environment_of(folder_)); }, "holds no run");
}

TEST_F(RunFolder, ResumeRejectsAnotherSchemaWithoutChangingIt) {
  create();
  expect_refused(cases(), "schema_version,case_id\n0,old\n",
                 "its columns are not those of schema " + std::to_string(schema_version));
}

/// A row of cases.csv with other text in one column.
csv::Row changed(csv::Row row, const std::string& column, const std::string& text) {
  const auto names = case_columns();
  row.at(static_cast<std::size_t>(std::ranges::find(names, column) - names.begin())) = text;
  return row;
}

TEST_F(RunFolder, ResumeRejectsCellsThatViolateTheSchema) {
  struct Damage {
    const char *column, *text, *said;
  };
  constexpr Damage damages[] = {
      {"schema_version", "3", "schema_version: 3, and the file is of schema "},
      {"case_id", "a b", "case_id: a b does not match ^[A-Za-z0-9_.=+-]+$"},
      {"status", "valid ", "status: valid  is not one of valid, noisy, "},
      {"reason", "why", "reason: must be empty in a valid row"},
      {"curve", "", "curve: empty, and must not be"},
      {"form", "a\nb", "a cell spans lines"},
      {"block_size", "0", "block_size: 0 is below 1"},
      {"grid_size", "12.5", "grid_size: 12.5 is not an integer"},
      {"carveout_percent", "1\x12", "carveout_percent: 1\\x12 is not a number"},
      {"carveout_percent", "101", "carveout_percent: 101 is above 100"},
      {"limiters", "warps+luck", "limiters: warps+luck does not match ^(warps|"},
      {"time_median_s", "", "time_median_s: empty in a row with status valid"},
      {"time_median_s", "inf", "time_median_s: inf is not a number"},
      {"throughput", "1e400", "throughput: 1e400 is not a number"},
      {"throughput_unit", "furlong/s", "throughput_unit: furlong/s is not one of byte/s, "},
  };
  write({valid_result(128), valid_result(256)});
  const std::string whole = text_of(cases()), all_samples = text_of(samples());
  const csv::Row second = case_fields(valid_result(256));
  const std::string first = whole.substr(0, whole.size() - csv::format(second).size());
  for (const auto& [column, text, said] : damages) {
    const std::string damaged = first + csv::format(changed(second, column, text));
    expect_refused(cases(), damaged, std::string("cases.csv:3: ") + said);
    EXPECT_EQ(text_of(samples()), all_samples) << column;
  }
}

TEST_F(RunFolder, ResumeRejectsMalformedOrForeignRows) {
  write({valid_result(128)});
  const std::string whole = text_of(cases());
  const std::string row = csv::format(case_fields(valid_result(256)));
  const auto refused = [&](const std::string& rows, const std::string& said,
                           const std::set<std::string>& planned = {}) {
    expect_refused(cases(), whole + rows, said, planned);
  };
  const auto count = std::to_string(case_columns().size());
  refused("7,model\n" + row, "cases.csv:3: 2 cells where the header has " + count);
  refused("7,\"model\n" + row, "cases.csv:3: a quote is not closed");
  refused(row + row, "cases.csv:4: case_id: " + valid_result(256).planned.id + " is there twice");
  refused(row, "cases.csv:3: case_id: " + valid_result(256).planned.id + " is not a case of this run",
          {valid_result(128).planned.id});
  std::ofstream(folder_ / "env.json") << R"({"source": "model"})";
  refused(row, "cases.csv:2: source: measured, and env.json says model");
}

TEST_F(RunFolder, ResumeRejectsSamplesThatViolateTheSchema) {
  write({valid_result(128)});
  const std::string whole = text_of(samples());
  const csv::Row good = sample_fields(samples_of(valid_result(256))[0]);
  const std::pair<const char*, const char*> damages[] = {
      {"1;2", "case_id: 1;2 does not match"},  {"-1", "repetition: -1 is below 0"},
      {"1.5", "round: 1.5 is not an integer"}, {"", "sample: empty, and must not be"},
      {"nan", "time_s: nan is not a number"},  {"fast", "sm_clock_hz: fast is not a number"},
      {"2", "discarded: 2 is not one of 0, 1"}};
  for (std::size_t i = 0; i < std::size(damages); ++i) {
    csv::Row damaged = good;
    damaged[i + 1] = damages[i].first;
    expect_refused(samples(), whole + csv::format(damaged),
                   std::string("samples.csv:5: ") + damages[i].second);
  }
}

TEST_F(RunFolder, RejectsEnvironmentFieldsOfWrongType) {
  create();
  const std::pair<const char*, const char*> damages[] = {
      {R"({"preset": 5})", "env.json: preset: 5 is not of type string"},
      {R"({"gpu": {"uuid": null}})", "env.json: gpu.uuid: null, and must not be"},
      {R"({"experiments": {"waves": 1}})", "env.json: experiments.waves: 1 is not of type object"},
      {R"({"disturbance": [{"launches": "7"}]})", "env.json: disturbance[0].launches: \"7\" is not of type"},
      {R"({"kind": "attach", "complaints": [1]})", "env.json: complaints[0]: 1 is not of type string"}};
  for (const auto& [text, said] : damages) {
    std::ofstream(folder_ / "env.json") << text;
    expect_file_error([&] { static_cast<void>(Recorder::environment_of(folder_)); }, said);
  }
  std::ofstream(folder_ / "env.json") << R"({"schema_version": 4, "experiments": ["waves"], "new": 1})";
  EXPECT_NO_THROW(static_cast<void>(Recorder::environment_of(folder_))) << "of an older version";
}

TEST_F(RunFolder, RejectsAnEnvironmentThatIsNotJson) {
  create();
  std::ofstream(folder_ / "env.json") << "{\"gpu\":";
  expect_file_error([&] { static_cast<void>(Recorder::environment_of(folder_)); }, "env.json: is not JSON: ");
}

// --- A full disk

TEST_F(RunFolder, FullDiskKeepsWholeRowsAndAppendsLater) {
  const CaseResult first = valid_result(128);
  const CaseResult second = valid_result(256);
  auto recorder = create();
  put(recorder, first);
  {
    const FullDisk full(fs::file_size(cases()) + 20);  // room for a part of the row
    expect_file_error([&] { recorder.append(second); }, "cases.csv: File too large; earlier rows are kept");
  }
  EXPECT_EQ(rows_of(cases()), (std::vector<csv::Row>{case_columns(), case_fields(first)}));
  {
    const FullDisk full(fs::file_size(samples()) + 20);
    expect_file_error([&] { put(recorder, second); }, "samples.csv: File too large");
  }
  EXPECT_EQ(rows_of(samples()).size(), 4u);
  put(recorder, second);
  EXPECT_EQ(rows_of(cases()).size(), 3u);
  EXPECT_EQ(rows_of(samples()).size(), 7u);
}

TEST_F(RunFolder, FullDiskAtStartLeavesNoPartialFile) {
  for (const std::uintmax_t room : {10, 50, 200}) {  // env.json, samples.csv, cases.csv do not fit any more
    {
      const FullDisk full(room);
      expect_file_error([&] { create(); }, "File too large");
    }
    if (fs::exists(folder_)) {
      for (const auto& entry : fs::directory_iterator(folder_))
        EXPECT_GT(entry.file_size(), 0u) << entry.path().filename() << " with room for " << room;
    }
    EXPECT_FALSE(fs::exists(cases())) << "so that the same call works once there is room";
  }
  create();
  EXPECT_EQ(rows_of(cases()).size(), 1u);
}

}  // namespace
}  // namespace occbench
