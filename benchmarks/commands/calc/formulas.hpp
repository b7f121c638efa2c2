// SPDX-License-Identifier: Apache-2.0
// How each number of an answer follows from the device and the footprint, with the values of this case.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/commands/calc/query.hpp"

namespace occbench::commands {

struct Formula {
  const char* name;    ///< of the number, as in the answer's JSON
  std::string text;    ///< "floor(4 x floor(16,384 / 1,280) / 8) = 6 blocks"
  const char* source;  ///< where the rule stands
};

/// Of a footprint that launches; empty for another.
[[nodiscard]] std::vector<Formula> formulas(const theory::SmLimits& sm, const Query& query, const Answer& a);

}  // namespace occbench::commands
