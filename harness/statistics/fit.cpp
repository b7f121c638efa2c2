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
constexpr double saturated_share = 0.9;    // from here on a warp's worth is no longer its own

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

/// Index of the first point that comes to `level`; the curve's size when none does.
std::size_t first_at(Curve curve, double level, double Point::*y = &Point::throughput) {
  const auto there = [&](const Point& p) { return p.*y >= level; };
  return static_cast<std::size_t>(std::ranges::find_if(curve, there) - curve.begin());
}

/// Warps at which the curve first has `level`; nullopt when it begins above, or never comes there. The
/// interval holds every way from one point to the next on which throughput per warp does not rise and the
/// curve does not bend upwards.
std::optional<Estimate> first_warps(Curve curve, double level, double Point::*y = &Point::throughput) {
  const std::size_t i = first_at(curve, level, y);
  if (i == curve.size()) return std::nullopt;
  const Point& to = curve[i];
  if (to.*y == level) return Estimate{to.warps, to.warps, to.warps};
  if (i == 0) return std::nullopt;
  const Point& from = curve[i - 1];
  const double rise = level / from.*y;
  const double way = std::log(rise) / std::log(to.*y / from.*y);
  const double value = from.warps * std::pow(to.warps / from.warps, way);
  const double in_proportion = from.warps * rise;
  const double straight = from.warps + (level - from.*y) / (to.*y - from.*y) * (to.warps - from.warps);
  return Estimate{value, std::min(value, in_proportion), std::max(value, straight)};
}

/// Median of the values, and the range of all their intervals.
Estimate pooled(const std::vector<Estimate>& parts) {
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
  const std::size_t maybe = first_at(curve, share * peak(curve, &Point::low), &Point::high);
  const std::size_t surely = first_at(curve, share * peak(curve, &Point::high), &Point::low);
  const bool from_the_start = maybe == 0;
  const bool at_the_end = surely + 1 >= curve.size();
  if (from_the_start && at_the_end) return std::nullopt;
  if (from_the_start) {
    const double bound = curve[surely].warps;
    return Estimate{.value = bound, .high = bound, .known = Known::at_most};
  }
  const double low = curve[maybe - 1].warps;
  if (at_the_end) return Estimate{.value = low, .low = low, .known = Known::at_least};
  return Estimate{first_warps(curve, share * peak(curve))->value, low, curve[surely].warps};
}

std::optional<double> lowest_after(Curve curve, double share) {
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
  double least = 0;
  double most = 0;
  for (const Point& p : curve) {
    const double cycles = p.warps * in_flight_per_warp / p.per_cycle;
    least = linear.empty() ? cycles : std::min(least, cycles);
    most = std::max(most, cycles);
    if (most > linear_tolerance * least) break;
    linear.push_back({cycles, cycles * p.throughput / p.high, cycles * p.throughput / p.low});
  }
  Estimate latency = pooled(linear);
  if (linear.size() == 1) {
    latency.known = Known::at_most;
    latency.value = latency.high;
  }
  return latency;
}

std::optional<Estimate> worth_in_warps(Curve one, Curve many) {
  check(one);
  check(many);
  if (one.empty() || many.empty()) return std::nullopt;
  const double most = saturated_share * peak(one);
  if (first_at(one, most) == 0) return std::nullopt;

  // The warps of `one` at no more than `most`: higher up its curve is too flat to be read.
  const auto worth_of = [&](const Point& p) -> std::optional<Estimate> {
    const auto middle = first_warps(one, std::min(p.throughput, most));
    if (!middle) return std::nullopt;
    const auto early = first_warps(one, std::min(p.low, most), &Point::high).value_or(*middle);
    const auto late = first_warps(one, std::min(p.high, most), &Point::low).value_or(*middle);
    return Estimate{middle->value / p.warps, early.low / p.warps, late.high / p.warps};
  };
  const std::size_t unsaturated = first_at(many, std::min(most, saturated_share * peak(many)));
  std::vector<Estimate> worths;
  for (const Point& p : many.first(unsaturated))
    if (const auto worth = worth_of(p)) worths.push_back(*worth);
  if (!worths.empty()) return pooled(worths);
  if (unsaturated > 0) return std::nullopt;
  auto worth = worth_of(many.front());
  if (!worth) return std::nullopt;
  worth->known = Known::at_least;
  worth->value = worth->low;
  return worth;
}

}  // namespace occbench::fit
