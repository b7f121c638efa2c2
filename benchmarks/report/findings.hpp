// SPDX-License-Identifier: Apache-2.0
// Of all that a run shows, the little that is most worth reading at its end.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/report/curves.hpp"

namespace occbench {

enum class Kind {
  cliff,     ///< a step of the dial takes residency and throughput
  knee,      ///< few warps reach 90 % of the best
  decline,   ///< more warps cost
  spill,     ///< a cap that spills pays, or costs
  pick,      ///< another block size beats the API's
  step,      ///< throughput falls where residency does not
  textbook,  ///< plain division says another occupancy than the SM has
  miss,      ///< the prediction is far from the measurement
};

struct Finding {
  std::string experiment = {};
  Kind kind = Kind::cliff;
  double score = 0;                    ///< size of the effect, 0 to 1
  std::string words = {};              ///< one sentence, without its full stop
  std::vector<std::string> more = {};  ///< what may follow it, as far as there is room
};

/// Whatever stands out of its 95 % interval and is 3 % or more, of the experiment's curves and cases: the
/// largest of each kind, of falls that of each kernel. Empty where there are too few points to tell.
std::vector<Finding> findings_of(const Experiment& experiment, const std::vector<CaseResult>& results);

/// The most telling of a whole run, at most `most`, by size of effect. No more than two are of one kind, and
/// of one experiment one, or its share where fewer than `most` experiments were run.
std::vector<Finding> most_telling(const std::vector<CaseResult>& results, std::size_t most);

}  // namespace occbench
