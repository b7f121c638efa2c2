// SPDX-License-Identifier: Apache-2.0
// Findings of a run, a sentence each; terminal, pages and tools use these words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/report/findings/phrases.hpp"
#include "benchmarks/report/findings/rows.hpp"

namespace occbench::findings {

enum class Kind {
  enough,            ///< the least of the dial that comes near the best
  fastest,           ///< the best rate, and where it is reached
  loss,              ///< what the worst value of the dial costs
  range,             ///< how far along the dial a kernel keeps its rate
  cliff,             ///< a step of the dial takes residency and throughput
  step,              ///< throughput falls where residency does not
  costs_more_warps,  ///< more warps lose throughput
  other_dial,        ///< the effect of another dial
  register_cap,      ///< a cap on registers gains, or costs
  baseline,          ///< time against that of the baseline
  own,               ///< specific to one experiment
  api_pick,          ///< another block size beats the occupancy API's
  textbook,          ///< plain division says another occupancy than the SM has
  model_miss,        ///< predictions far from the measurement
  note,              ///< concerns all rows: a clock that moved
};

struct Finding {
  Kind kind = Kind::note;
  std::string words = {};  ///< a clause without its full stop; names of code stand between backticks
  double effect = 0;       ///< its size, as the logarithm of a ratio; 0 where it has none
  double score = 0;        ///< 0 to 1: how much it is worth at a run's end; 0 where it is within the noise
  std::vector<std::string> cases = {};  ///< case_id of a row of each line that the words name
};

/// The findings of one experiment, the most important first.
struct ExperimentFindings {
  std::string experiment = {};
  std::vector<Finding> findings = {};
  Words words = {};
  double effect = -1;  ///< the largest; 0 where none has a size, -1 where there are too few points to tell
};

/// Of the rows of one experiment; no finding where there are none. `environment`: env.json.
ExperimentFindings findings_of_experiment(const Rows& rows, const std::string& experiment,
                                          const nlohmann::json& environment);

/// Of each experiment that has rows, by name.
std::vector<ExperimentFindings> findings_of_run(const Rows& rows, const nlohmann::json& environment);

/// A finding of a run's end.
struct Highlight {
  std::string experiment = {};
  Finding finding = {};
};

/// The most telling of a run, at most `most`, by score. At most two are of one kind; each experiment has one,
/// or an equal share where there are fewer than `most`.
std::vector<Highlight> most_telling(const std::vector<ExperimentFindings>& all, std::size_t most);

/// The sentence: the clause with a capital and its full stop.
std::string sentence(const Finding& finding);
std::vector<std::string> sentences(const ExperimentFindings& found);

}  // namespace occbench::findings
