// SPDX-License-Identifier: Apache-2.0
// How far a prediction may be off: by the ranges of the parameters it was made with, and by the model itself.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/theory/parameters.hpp"
#include "harness/theory/prediction/model.hpp"

namespace occbench::theory {

/// What sources or cards span of each parameter; 0 where none is known, which leaves the value as it is.
struct Ranges {
  Parameters low, high;
};

/// Sets of parameters within their ranges, the same in every run. Each parameter takes as many values as
/// there are sets, spread evenly: half of them below its own value, half above (a Latin hypercube, McKay et
/// al. 1979).
std::vector<Parameters> drawn(const Parameters& values, const Ranges& ranges, std::size_t sets);

/// Of a launch's time.
struct Band {
  double low_s = 0;
  double high_s = 0;
};

/// The model's own error on kernels of the suite that `bound` holds back: the mean of |ln(predicted /
/// measured)|.
double own_error(Bound bound);

/// 90 % of what the time may be: `drawn_s` are the times with drawn parameters, and each may be off by the
/// model's own error (the mean of its sizes, which fall off as Laplace's law has it: their 90 % quantile is
/// ln 10 times their mean; 2.2 was seen).
Band band(double time_s, std::span<const double> drawn_s, double own_error);
Band band(const Prediction& said, std::span<const double> drawn_s);

}  // namespace occbench::theory
