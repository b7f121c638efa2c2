// SPDX-License-Identifier: Apache-2.0
// Tails of distributions, and a test of two samples.
#pragma once

#include <span>

namespace occbench::statistics {

/// P(Z > z) of the standard normal distribution.
double normal_tail(double z);

/// P(T > t), t >= 0, for Student's t distribution with `freedom` degrees of freedom. Relative error 1e-12
/// from t = sqrt(freedom) / 10 on; below, 2 %.
double student_tail(double t, double freedom);

/// Two-sided p-value of Mann and Whitney's test that neither sample tends to larger values (Conover,
/// Practical Nonparametric Statistics, 5.1). Counts all rank orders if one side has at most 8 samples, the
/// other at most 200, and there are no ties; else uses the normal law with corrections for continuity and
/// ties. NaN if a side is empty.
double mann_whitney(std::span<const double> a, std::span<const double> b);

}  // namespace occbench::statistics
