// SPDX-License-Identifier: Apache-2.0
// Cliffs of all sweeps of a run: where theory has them, and where only the data do.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/report/findings/rows.hpp"

namespace occbench::findings {

/// The smallest change of throughput that is a cliff, in headlines and lists. It is six times what 95 % of
/// the medians of one build differ by from process to process.
constexpr double min_cliff = 0.01;

/// Between two neighbours on a sweep's dial; `from` has the smaller value.
struct Cliff {
  std::string experiment = {}, family = {}, kernel = {}, sweep = {}, dial = {};
  double from_value = 0, to_value = 0;
  std::string from_case_id = {}, to_case_id = {};
  std::string cause = {};
  bool is_predicted = false;
  double blocks_from = 0, blocks_to = 0;  ///< resident per SM
  /// 1 - throughput(to) / throughput(from), negative for a gain, with its 95 % interval; of an unpredicted
  /// cliff the step beyond the trend on both sides. NaN where there is no interval.
  double drop = 0, drop_low = 0, drop_high = 0;
  double p_value =
      0;  ///< of no difference; of an unpredicted one, of such a step in the sweep by noise alone
  /// confirmed: as theory says, beyond noise. absent: what theory says is less than 1 % by the whole
  /// interval. unclear: neither. unpredicted: theory has none.
  std::string verdict = {};
  bool is_explained = false;       ///< absent, for a reason in the note
  bool is_against_theory = false;  ///< absent, as the change is the opposite of what theory says
  std::string note =
      {};  ///< what changes, what the model says, and why there is no cliff where there is none
};

/// Times (s) of a case's launches, by its case_id.
using Times = std::map<std::string, std::vector<double>, std::less<>>;

/// By sweep, in the order of its dial. `environment`: env.json. Of a model, whose rows have no intervals,
/// only those that theory predicts.
std::vector<Cliff> find_cliffs(const Rows& rows, const nlohmann::json& environment, const Times& times);

/// A drop and its interval (NaN: none) for people: "12.5 % (12.1 to 12.9)"; from twice on "gain x 2.31".
std::string drop_words(double drop, double low, double high);

}  // namespace occbench::findings
