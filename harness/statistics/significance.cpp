// SPDX-License-Identifier: Apache-2.0
#include "harness/statistics/significance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace occbench::statistics {

namespace {

constexpr std::size_t few = 8;     // samples per side up to which all rank orders are counted
constexpr std::size_t many = 200;  // samples of the other side from which counting takes too long

/// Mann and Whitney's U of a over b (ties count half), and the sum of t^3 - t over groups of t ties.
std::pair<double, double> compute_u(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> both;
  for (const double value : a) both.emplace_back(value, true);
  for (const double value : b) both.emplace_back(value, false);
  std::ranges::sort(both);
  double ranks = 0;
  double ties = 0;
  for (std::size_t first = 0, last = 0; first < both.size(); first = last) {
    while (last < both.size() && both[last].first == both[first].first) ++last;
    const auto count = static_cast<double>(last - first);
    ties += count * count * count - count;
    for (std::size_t i = first; i < last; ++i)
      if (both[i].second) ranks += static_cast<double>(first + last + 1) / 2;
  }
  const auto m = static_cast<double>(a.size());
  return {ranks - m * (m + 1) / 2, ties};
}

/// P(U >= u) for m and n samples without ties: the share of ways to pick m of m + n ranks with at least this
/// sum.
double exact_tail(double u, std::size_t m, std::size_t n) {
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(m * n + 1, 0));  // by picks and U
  ways[0][0] = 1;
  for (std::size_t rank = 0; rank < m + n; ++rank)
    for (std::size_t picks = std::min(rank + 1, m); picks > 0; --picks) {
      const std::size_t below = rank + 1 - picks;  // samples of the other side
      for (std::size_t sum = m * n + 1; sum-- > below;) ways[picks][sum] += ways[picks - 1][sum - below];
    }
  double above = 0;
  double all = 0;
  for (std::size_t sum = 0; sum <= m * n; ++sum) {
    all += ways[m][sum];
    if (static_cast<double>(sum) >= u) above += ways[m][sum];
  }
  return above / all;
}

}  // namespace

double normal_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double student_tail(double t, double freedom) {
  // Half the regularised incomplete beta function of x, as a series without cancellation (DLMF 8.17.7).
  const double x = freedom / (freedom + t * t);
  const double a = freedom / 2;
  double term = 1;
  double sum = 1 / a;
  for (int n = 1; n < 10'000 && term > sum * std::numeric_limits<double>::epsilon() / 16; ++n) {
    term *= x * (n - 0.5) / n;
    sum += term / (a + n);
  }
  const double log_beta = std::lgamma(a) + std::lgamma(0.5) - std::lgamma(a + 0.5);
  return std::min(0.5, std::exp(a * std::log(x) - log_beta) * sum / 2);
}

double mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto m = static_cast<double>(a.size());
  const auto n = static_cast<double>(b.size());
  const auto [first, ties] = compute_u(a, b);
  const double u = std::max(first, m * n - first);
  const auto [least, most] = std::minmax({a.size(), b.size()});
  if (least <= few && most <= many && ties == 0) return std::min(1.0, 2 * exact_tail(u, a.size(), b.size()));
  const double deviation = std::sqrt(m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1))));
  return std::min(1.0, 2 * normal_tail((u - m * n / 2 - 0.5) / deviation));
}

}  // namespace occbench::statistics
