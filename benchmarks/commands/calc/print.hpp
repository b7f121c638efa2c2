// SPDX-License-Identifier: Apache-2.0
// The answers of `occbench calc` to people and to programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <vector>

#include "benchmarks/commands/calc/query.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

using Json = nlohmann::ordered_json;

/// One footprint and its answer, for programs.
[[nodiscard]] Json answer_json(const theory::DeviceSpec& device, const Query& query, const Answer& a);
[[nodiscard]] csv::Row answer_header();
[[nodiscard]] csv::Row answer_row(const CalcDevice& device, const Query& query, const Answer& a);

void print_table(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a);
void print_prediction(std::ostream& out, const theory::SmLimits& sm, const Answer& a, const Predicted& p);
void print_json(std::ostream& out, const theory::DeviceSpec& device, const Query& query, const Answer& a,
                const std::optional<Predicted>& p);
/// A header and the footprint's row; with a prediction, one row more for each cliff, which names its dial.
void print_csv(std::ostream& out, const CalcDevice& device, const Query& query, const Answer& a,
               const std::optional<Predicted>& p);

}  // namespace occbench::commands
