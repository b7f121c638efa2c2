// SPDX-License-Identifier: Apache-2.0
// Confidence bands of a prediction, from the ranges of its parameters and from the error of the model itself.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/theory/parameters.hpp"
#include "harness/theory/prediction/model.hpp"

namespace occbench::theory {

/// Range of each parameter over sources or cards; 0: unknown, the value itself is used.
struct Ranges {
  Parameters low, high;
};

/// Latin hypercube sample of the ranges (McKay et al. 1979), the same in every run: each parameter takes
/// `sets` evenly spread values, half of them below its own value and half above.
std::vector<Parameters> sample_parameters(const Parameters& values, const Ranges& ranges, std::size_t sets);

/// 90 % interval of a launch's time.
struct Band {
  double low_s = 0;
  double high_s = 0;
};

/// Mean |ln(predicted / measured)| over the suite's cases with this bound.
double model_error(Bound bound);

/// `sampled_s`: times with sampled parameters. The log error of each is taken as Laplace-distributed with
/// mean size `model_error`: its 90 % quantile is ln 10 times the mean (measured: 2.2 times).
Band band(double time_s, std::span<const double> sampled_s, double model_error);
Band band(const Prediction& prediction, std::span<const double> sampled_s);

}  // namespace occbench::theory
