// SPDX-License-Identifier: Apache-2.0
// Findings that are specific to single experiments.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/report/findings/rows.hpp"

namespace occbench::findings {

struct SpecificFinding {
  SpecificFinding(std::string its_words, RowIndices its_rows = {})  // NOLINT: most findings are text alone
      : words(std::move(its_words)), rows(std::move(its_rows)) {}
  std::string words;
  RowIndices rows;  ///< one of each line that the words name
};

/// Findings that only this experiment has, the most telling first; empty if it has none.
std::vector<SpecificFinding> specific_findings(const Rows& rows, const RowIndices& places,
                                               const std::string& experiment,
                                               const nlohmann::json& environment);

/// For each of `places` the least of `value` among its baseline's rows at as many warps; NaN where there is
/// none.
std::vector<double> baseline_values(const Rows& rows, const RowIndices& places,
                                    const std::function<double(std::size_t)>& value);

/// " (preset standard has them)", of a run that was quick.
std::string preset_hint(const nlohmann::json& environment);

}  // namespace occbench::findings
