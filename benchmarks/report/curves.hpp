// SPDX-License-Identifier: Apache-2.0
// An experiment's cases as curves over its dial.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/framework/sweep.hpp"
#include "harness/record/record.hpp"

namespace occbench {

/// A peak, a knee, a cliff or a law needs a curve of at least so many different values of its dial. With
/// fewer the points around a change lie too far apart to say where it is, and the best of them is hardly the
/// curve's best. A figure of one case alone (its residency, its prediction) needs no curve. The Python tools'
/// CURVE_POINTS (tools/occbench_tools/analysis.py) is equal; tests/layering_test.py enforces that.
constexpr std::size_t min_points = 4;

/// A case at its value of the dial.
struct Point {
  double dial = 0;
  const CaseResult* result = nullptr;
};

/// Cases that differ in an experiment's dial alone, by the dial; with the same value, in the order of their
/// ids.
struct Curve {
  std::string kernel;  ///< "read-f32-4B-ilp1"
  Ceiling ceiling = Ceiling::none;
  std::vector<Point> points;
  std::size_t values = 0;  ///< of the dial, that differ
  [[nodiscard]] bool has_enough_points() const { return values >= min_points; }
};

/// The curves of those of `results` that have a time and belong to this experiment, in the order of their
/// names.
std::vector<Curve> curves_of(const Experiment& experiment, const std::vector<CaseResult>& results);

/// The most values of its dial that any curve of the experiment would have, were all these cases run.
std::size_t max_values(const Experiment& experiment, const std::vector<CaseSpec>& cases);

/// True of a dial that is residency itself.
bool is_residency(const std::string& dial);

/// The 95 % interval of a case's median throughput; of a model, a point.
struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace occbench
