// SPDX-License-Identifier: Apache-2.0
// Results as curves: the cases of an experiment that differ in its dial alone, and how their figures are said.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/sweep.hpp"
#include "harness/record.hpp"

namespace occbench {

/// Fewer different values of the dial than this are points and no curve: no law and no best is read off them.
inline constexpr std::size_t least_points = 5;

struct Curve {
  const Experiment* experiment = nullptr;
  std::string kernel;                     ///< "register_pressure.load", with the dials that it keeps
  std::vector<const CaseResult*> points;  ///< timed cases, by the dial
  [[nodiscard]] double at(std::size_t i) const { return case_number(*points[i], experiment->dial); }
  [[nodiscard]] bool has_enough_points() const;
};

/// The curves of all experiments in `results`, which must outlive them.
[[nodiscard]] std::vector<Curve> curves(const std::vector<CaseResult>& results);

/// How an experiment's cases are told apart from those of another curve.
[[nodiscard]] std::string curve_of(const CaseResult& result, const std::string& dial);

/// snprintf into a string, of up to 255 characters.
[[nodiscard]] std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// "4,418 GB/s", "65.7 TFLOP/s", "19,600 G operations/s".
[[nodiscard]] std::string format_throughput(double per_second, Ceiling ceiling);

}  // namespace occbench
