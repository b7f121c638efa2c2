// SPDX-License-Identifier: Apache-2.0
// What a row says, against results/schema.json.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "harness/record/record.hpp"
#include "tests/made_up_results.hpp"

namespace occbench {
namespace {

const nlohmann::json& schema() {
  static const auto json = nlohmann::json::parse(std::ifstream("results/schema.json"));
  return json;
}

void expect_columns(const char* file, const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const auto& column : schema()["files"][file]["columns"]) names.push_back(column["name"]);
  EXPECT_EQ(columns, names);
}

TEST(Columns, MatchTheSchema) {
  EXPECT_EQ(schema()["schema_version"], schema_version);
  expect_columns("cases.csv", case_columns());
  expect_columns("samples.csv", sample_columns());
}

void expect_cells(const char* file, const std::vector<std::string>& fields, bool valid,
                  bool measured = true) {
  const auto& columns = schema()["files"][file]["columns"];
  ASSERT_EQ(fields.size(), columns.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& column = columns[i];
    const std::string name = column["name"];
    const std::string& cell = fields[i];
    if (cell.empty()) {
      EXPECT_TRUE(column["nullable"]) << name;
      EXPECT_NE(column.value("required_when", ""), valid ? "valid" : "not valid") << name;
      EXPECT_FALSE(valid && measured && column.value("required_when", "") == "measured") << name;
      continue;
    }
    EXPECT_TRUE(measured || column.value("required_when", "") != "measured") << name << " " << cell;
    if (column["type"] != "string") {
      EXPECT_TRUE(std::regex_match(cell, std::regex(R"(-?\d+(\.\d+)?(e[+-]\d+)?)"))) << name << " " << cell;
    } else if (column.contains("pattern")) {
      EXPECT_TRUE(std::regex_search(cell, std::regex(column["pattern"].get<std::string>())))
          << name << " " << cell;
    } else if (column.contains("allowed")) {
      EXPECT_TRUE(std::ranges::count(column["allowed"], nlohmann::json(cell)) == 1) << name << " " << cell;
    }
  }
}

TEST(Columns, CellsConformToTheSchema) {
  expect_cells("cases.csv", case_fields(valid_result()), true);
  expect_cells("cases.csv", case_fields(modelled_result()), true, false);
  CaseResult observed = valid_result();
  observed.slot_time = {.resident = 0.95, .launch = 0.8, .turnover = -0.01, .tail = 0.2, .imbalance = 0.01};
  expect_cells("cases.csv", case_fields(observed), true);
  EXPECT_EQ(case_number(observed, "occupancy_launch"), 0.8);
  EXPECT_EQ(case_number(observed, "lost_to_turnover"), -0.01);
  expect_cells("cases.csv", case_fields(impossible_result(2048)), false);
  CaseResult invalid = valid_result();
  invalid.planned.status = Status::invalid;
  invalid.planned.reason = "wrong result";
  expect_cells("cases.csv", case_fields(invalid), false);
  for (const SampleRow& row : samples_of(valid_result()))
    expect_cells("samples.csv", sample_fields(row), true);
}

TEST(Columns, InvalidRowsKeepThePrediction) {
  CaseResult r = valid_result();
  EXPECT_EQ(case_number(r, "throughput_predicted"), 0);
  EXPECT_EQ(case_number(r, "throughput_predicted_low"), 0);
  r.planned.forecast.band = {.low_s = 0.5e-3, .high_s = 1e-3};
  r.planned.forecast.prediction = {
      .time_s = 0.8e-3, .bound = theory::Bound::dram, .sm_clock_hz = 1.98e9, .baseline_time_s = 0.5e-3};
  for (const Status status : {Status::valid, Status::invalid}) {
    r.planned.status = status;
    EXPECT_DOUBLE_EQ(case_number(r, "throughput_predicted"), 5e12);
    EXPECT_DOUBLE_EQ(case_number(r, "throughput_baseline"), 8e12);
    EXPECT_DOUBLE_EQ(case_number(r, "throughput_predicted_low"), 4e12) << "the longest time";
    EXPECT_DOUBLE_EQ(case_number(r, "throughput_predicted_high"), 8e12);
  }
  const auto fields = case_fields(r);
  EXPECT_EQ(std::ranges::count(fields, "DRAM"), 1);
  EXPECT_EQ(std::ranges::count(fields, "measured"), 1);
}

TEST(Columns, ContainCountersAndTheMissingMetrics) {
  CaseResult r = valid_result();
  EXPECT_EQ(std::ranges::count(case_fields(r), "off"), 1);
  r.counts = {.status = "GX100 has no l1tex__t_bytes.sum",
              .occupancy = 0.75,
              .issue_active = 0.5,
              .fma_active = 0.25,
              .tensor_active = 0.125,
              .dram_read_bytes = 5e9,
              .dram_write_bytes = 4e9,
              .l2_bytes = 9e9,
              .stalls = "long_scoreboard 4.13; wait 2.00"};
  expect_cells("cases.csv", case_fields(r), true);
  EXPECT_EQ(case_number(r, "occupancy_achieved"), 0.75);
  EXPECT_EQ(case_number(r, "dram_read_bytes"), 5e9);
  for (const std::string& cell : {r.counts.status, r.counts.stalls})
    EXPECT_EQ(std::ranges::count(case_fields(r), cell), 1);
}

TEST(Columns, InvalidRowsHaveNoTime) {
  CaseResult r = valid_result();
  r.planned.status = Status::invalid;
  const auto fields = case_fields(r);
  const auto columns = case_columns();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].starts_with("time_") || columns[i] == "throughput") {
      EXPECT_EQ(fields[i], "") << columns[i];
    }
}
TEST(Row, ReportsBimodalTimes) {
  CaseResult r = valid_result();
  const auto cell = [&](std::string_view column) {
    const auto names = case_columns();
    return case_fields(r)[static_cast<std::size_t>(std::ranges::find(names, column) - names.begin())];
  };
  EXPECT_EQ(cell("speeds"), "one");
  EXPECT_EQ(cell("time_slow_s"), "");
  r.speeds = {.fast = 1e-3, .slow = 2e-3, .slow_share = 0.25};
  EXPECT_EQ(cell("speeds"), "two");
  EXPECT_EQ(cell("time_slow_s"), "0.002");
  EXPECT_EQ(cell("slow_share"), "0.25");
  r.speeds->in_streaks = true;
  EXPECT_EQ(cell("speeds"), "two_in_phases");
  r = modelled_result();
  EXPECT_EQ(cell("speeds"), "");
}

}  // namespace
}  // namespace occbench
