// SPDX-License-Identifier: Apache-2.0
#include "harness/statistics/fit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace occbench::fit {

namespace {

constexpr double linear_tolerance = 1.05;  // largest over smallest latency of the linear part
constexpr double saturated_share = 0.9;    // above it, throughput per warp depends on the peak

void check(Curve curve) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Point& p = curve[i];
    if (!(p.warps > 0 && p.throughput > 0 && p.low > 0 && p.per_cycle > 0))
      throw std::invalid_argument("a curve's numbers are positive");
    if (i > 0 && !(p.warps > curve[i - 1].warps))
      throw std::invalid_argument("a curve is sorted by its warps, each once");
  }
}

double peak(Curve curve, double Point::*y = &Point::throughput) { return std::ranges::max(curve, {}, y).*y; }

/// Index of the first point that reaches `level`; the curve's size if none does.
std::size_t first_at(Curve curve, double level, double Point::*y = &Point::throughput) {
  const auto reaches = [&](const Point& p) { return p.*y >= level; };
  return static_cast<std::size_t>(std::ranges::find_if(curve, reaches) - curve.begin());
}

/// Warps at which the curve first reaches `level`; nullopt if it begins above or never reaches it. The
/// interval covers all concave interpolations between the two points.
std::optional<Estimate> first_warps(Curve curve, double level, double Point::*y = &Point::throughput) {
  const std::size_t i = first_at(curve, level, y);
  if (i == curve.size()) return std::nullopt;
  const Point& to = curve[i];
  if (to.*y == level) return Estimate{to.warps, to.warps, to.warps};
  if (i == 0) return std::nullopt;
  const Point& from = curve[i - 1];
  const double rise = level / from.*y;
  const double fraction = std::log(rise) / std::log(to.*y / from.*y);
  const double value = from.warps * std::pow(to.warps / from.warps, fraction);
  const double proportional = from.warps * rise;
  const double linear = from.warps + (level - from.*y) / (to.*y - from.*y) * (to.warps - from.warps);
  return Estimate{value, std::min(value, proportional), std::max(value, linear)};
}

/// Median of the values, with the range of their intervals.
Estimate pool(const std::vector<Estimate>& parts) {
  std::vector<double> values;
  for (const Estimate& part : parts) values.push_back(part.value);
  return {.value = statistics::median(values),
          .low = std::ranges::min(parts, {}, &Estimate::low).low,
          .high = std::ranges::max(parts, {}, &Estimate::high).high};
}

}  // namespace

std::optional<Estimate> warps_for(Curve curve, double share) {
  check(curve);
  if (curve.size() < 2) return std::nullopt;
  const std::size_t possibly = first_at(curve, share * peak(curve, &Point::low), &Point::high);
  const std::size_t surely = first_at(curve, share * peak(curve, &Point::high), &Point::low);
  const bool at_first_point = possibly == 0;
  const bool at_last_point = surely + 1 >= curve.size();
  if (at_first_point && at_last_point) return std::nullopt;
  if (at_first_point) {
    const double bound = curve[surely].warps;
    return Estimate{.value = bound, .high = bound, .known = Known::at_most};
  }
  const double low = curve[possibly - 1].warps;
  if (at_last_point) return Estimate{.value = low, .low = low, .known = Known::at_least};
  return Estimate{first_warps(curve, share * peak(curve))->value, low, curve[surely].warps};
}

std::optional<double> min_share_after(Curve curve, double share) {
  check(curve);
  if (curve.empty()) return std::nullopt;
  const Curve after = curve.subspan(first_at(curve, share * peak(curve)) + 1);
  if (after.empty()) return std::nullopt;
  return std::ranges::min(after, {}, &Point::throughput).throughput / peak(curve);
}

std::optional<Estimate> latency_cycles(Curve curve, double in_flight_per_warp) {
  check(curve);
  if (curve.empty() || !(in_flight_per_warp > 0)) return std::nullopt;
  std::vector<Estimate> linear;
  double shortest = 0;
  double longest = 0;
  for (const Point& p : curve) {
    const double cycles = p.warps * in_flight_per_warp / p.per_cycle;
    shortest = linear.empty() ? cycles : std::min(shortest, cycles);
    longest = std::max(longest, cycles);
    if (longest > linear_tolerance * shortest) break;
    linear.push_back({cycles, cycles * p.throughput / p.high, cycles * p.throughput / p.low});
  }
  Estimate latency = pool(linear);
  if (linear.size() == 1) {
    latency.known = Known::at_most;
    latency.value = latency.high;
  }
  return latency;
}

std::optional<Estimate> replaced_warps(Curve one, Curve many) {
  check(one);
  check(many);
  if (one.empty() || many.empty()) return std::nullopt;
  const double saturated = saturated_share * peak(one);
  if (first_at(one, saturated) == 0) return std::nullopt;

  // Only below saturation: beyond it the curve is too flat to interpolate.
  const auto ratio_at = [&](const Point& p) -> std::optional<Estimate> {
    const auto middle = first_warps(one, std::min(p.throughput, saturated));
    if (!middle) return std::nullopt;
    const auto low = first_warps(one, std::min(p.low, saturated), &Point::high).value_or(*middle);
    const auto high = first_warps(one, std::min(p.high, saturated), &Point::low).value_or(*middle);
    return Estimate{middle->value / p.warps, low.low / p.warps, high.high / p.warps};
  };
  const std::size_t unsaturated = first_at(many, std::min(saturated, saturated_share * peak(many)));
  std::vector<Estimate> ratios;
  for (const Point& p : many.first(unsaturated))
    if (const auto ratio = ratio_at(p)) ratios.push_back(*ratio);
  if (!ratios.empty()) return pool(ratios);
  if (unsaturated > 0) return std::nullopt;
  auto ratio = ratio_at(many.front());
  if (!ratio) return std::nullopt;
  ratio->known = Known::at_least;
  ratio->value = ratio->low;
  return ratio;
}

}  // namespace occbench::fit
