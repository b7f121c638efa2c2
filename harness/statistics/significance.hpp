// SPDX-License-Identifier: Apache-2.0
// Tails of distributions, and a test of two samples.
#pragma once

#include <span>

namespace occbench::statistics {

/// P(Z > z) of the standard normal distribution.
double normal_tail(double z);

/// P(T > t), t >= 0, of Student's t distribution with `freedom` degrees of freedom. Exact to 1e-12, relative,
/// from t = sqrt(freedom) / 10 on; below, to 2 %.
double student_tail(double t, double freedom);

/// Two-sided p-value of Mann and Whitney's test that neither sample tends to larger values (Conover,
/// Practical Nonparametric Statistics, 5.1). By all orders of the ranks where a side has at most 8 samples,
/// the other at most 200 and there are no ties; else by the normal law, with the corrections for continuity
/// and ties. NaN where a side is empty.
double mann_whitney(std::span<const double> a, std::span<const double> b);

}  // namespace occbench::statistics
