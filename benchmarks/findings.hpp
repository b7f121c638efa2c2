// SPDX-License-Identifier: Apache-2.0
// What of a run's results is most worth reading: a few sentences out of thousands of rows, chosen by size of effect.
#pragma once

#include <string>
#include <vector>

#include "harness/record.hpp"

namespace occbench {

enum class FindingKind { few_warps, cliff, more_warps_cost, spill };

struct Finding {
  FindingKind kind = FindingKind::few_warps;
  std::string experiment;
  std::string sentence;  ///< begins in lower case, for the experiment's name stands before it
  double effect = 0;     ///< 0 to 1: the share of speed, or of warps, that it is about
};

/// At most `most` of them, the largest effects first, at most one of an experiment and two of a kind. An effect that the
/// rows' 95 % intervals do not hold apart is none; nor is what too few points say.
[[nodiscard]] std::vector<Finding> findings(const std::vector<CaseResult>& results, std::size_t most = 5);

/// Experiments none of whose curves has enough points, of those that have a curve at all.
[[nodiscard]] std::size_t experiments_with_too_few_points(const std::vector<CaseResult>& results);

}  // namespace occbench
