// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/bands.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/theory/simulator/random.hpp"

namespace occbench::theory {

namespace {

/// Cumulative distribution of Laplace's law, centred on 0.
double laplace(double x, double mean_size) {
  const double tail = 0.5 * std::exp(-std::abs(x) / mean_size);
  return x < 0 ? tail : 1 - tail;
}

/// The `share` quantile of a mixture of Laplace distributions around `centres`, by bisection.
double quantile(std::span<const double> centres, double mean_size, double share) {
  const auto [lowest, highest] = std::ranges::minmax(centres);
  double low = lowest - 20 * mean_size, high = highest + 20 * mean_size;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    double below = 0;
    for (const double centre : centres) below += laplace(middle - centre, mean_size);
    (below < share * static_cast<double>(centres.size()) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

std::vector<Parameters> sample_parameters(const Parameters& values, const Ranges& ranges, std::size_t sets) {
  std::vector<Parameters> all(sets, values);
  std::vector<std::size_t> order(sets);
  Random random;
  for (const ParameterField& f : parameter_fields()) {
    const double value = values.*f.value;
    const double low = ranges.low.*f.value > 0 ? std::min(ranges.low.*f.value, value) : value;
    const double high = std::max(ranges.high.*f.value, value);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = sets; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    if (value == 0) continue;
    for (std::size_t i = 0; i < sets; ++i) {
      const double position = (2 * static_cast<double>(order[i]) + 1) / static_cast<double>(sets);  // 0 to 2
      all[i].*f.value =
          position < 1 ? low + (value - low) * position : value + (high - value) * (position - 1);
    }
  }
  return all;
}

// Computed from the H200 run at 3e03aef, in the order of Bound; tests/tools/test_bands.py repeats this. That
// run has no launch-bound case: the last value is the largest of the others.
double model_error(Bound bound) {
  constexpr double errors[] = {0.037, 0.022, 0.022, 0.003, 0.060, 0.030, 0.051, 0.041, 0.040, 0.060};
  return errors[static_cast<std::size_t>(bound)];
}

Band band(double time_s, std::span<const double> sampled_s, double model_error) {
  std::vector<double> logs{std::log(time_s)};
  for (const double t : sampled_s) logs.push_back(std::log(t));
  return {std::exp(quantile(logs, model_error, 0.05)), std::exp(quantile(logs, model_error, 0.95))};
}

Band band(const Prediction& prediction, std::span<const double> sampled_s) {
  return band(prediction.time_s, sampled_s, model_error(prediction.bound));
}

}  // namespace occbench::theory
