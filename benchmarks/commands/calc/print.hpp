// SPDX-License-Identifier: Apache-2.0
// The answer of `occbench calc` to one footprint.
#pragma once

#include <optional>
#include <ostream>

#include "benchmarks/commands/calc/columns.hpp"

namespace occbench::commands {

/// `format`: table, csv or json. With a prediction, CSV also has a row for each cliff, which names its dial.
void print_answer(std::ostream& out, const std::string& format, const CalcDevice& device, const Query& query,
                  const Answer& a, const std::optional<ClassPrediction>& prediction);

}  // namespace occbench::commands
