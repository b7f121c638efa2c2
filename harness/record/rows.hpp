// SPDX-License-Identifier: Apache-2.0
// Rows of cases.csv and samples.csv. results/schema.json describes the columns; a test compares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/result.hpp"

namespace occbench {

constexpr int schema_version = 7;

std::vector<std::string> case_columns();
std::vector<std::string> case_fields(const CaseResult& result);
/// The number in one column of a case's row; 0 where the cell is empty or text. Throws
/// std::logic_error on a name that is no column's.
double case_number(const CaseResult& result, std::string_view column);
std::vector<std::string> sample_columns();
std::vector<std::string> sample_fields(const SampleRow& row);

}  // namespace occbench
