// SPDX-License-Identifier: Apache-2.0
// What a measured curve of throughput over resident warps says of latency and of what hides it. Knows doubles
// and nothing else; no law of saturation is fitted, since the curves keep to none: staircases, dips, a fall
// past the peak.
#pragma once

#include <optional>
#include <span>

namespace occbench::fit {

/// One case of a curve.
struct Point {
  double warps = 0;       ///< resident per SM
  double throughput = 0;  ///< work per second, any unit
  double low = 0;         ///< of the throughput's 95 % interval
  double high = 0;
  double per_cycle = 0;  ///< work per SM and SM cycle, in the unit of what is in flight
};

/// By warps, rising. Every function below throws std::invalid_argument when it is not, or when a number is
/// not positive.
using Curve = std::span<const Point>;

/// A figure that the points enclose, or of which they show one end alone.
enum class Known { both_ends, at_most, at_least };
struct Estimate {
  double value = 0;  ///< the best guess; of a figure known on one side alone that end
  double low = 0;
  double high = 0;  ///< meaningless when `known` says at_least, as `low` is when it says at_most
  Known known = Known::both_ends;
};

/// Warps at which the curve first comes to `share` (0 to 1) of its own peak, on straight lines of log
/// throughput over log warps, which are exact where throughput is in proportion to warps. The interval ends
/// at measured points: at `low` it is surely below, at `high` surely there, with the points' and the peak's
/// 95 % intervals taken at their worst; between two points nothing is claimed but that it lies there.
/// at_most: the first point is there. at_least (it is more than `low`): the last point alone is there, so the
/// curve may be rising still. nullopt: fewer than two points, or these tell neither. Whether it stays there
/// is for lowest_after() to say.
std::optional<Estimate> warps_for(Curve curve, double share);

/// The lowest share of the peak at more warps than the first point that comes to `share`; nullopt when that
/// is the last one.
std::optional<double> lowest_after(Curve curve, double share);

/// Cycles from an operation to the next one that waits for it, by Little's law: work in flight over work per
/// cycle. Median over the linear part: the first points, as long as none of their latencies is over 5 % above
/// another. The interval is the range of these points' 95 % intervals. at_most: the first point alone is
/// linear, and it may queue already. `in_flight_per_warp` is in the unit of Point::per_cycle; nullopt where
/// it is 0 or there is no point.
std::optional<Estimate> latency_cycles(Curve curve, double in_flight_per_warp);

/// Warps of `one` that do what one warp of `many` does: how many warps an ILP replaces. For each first point
/// of `many` that has not come to 90 % of either peak: the warps at which `one` first has its throughput
/// (read off as in warps_for()), over its own. Median. The interval is the range over these points, with both
/// curves' 95 % intervals at their worst and every way from point to point of `one` on which throughput per
/// warp does not rise and the curve does not bend upwards. at_least: `many` has no such point, and its first
/// one is compared at 90 % of `one`'s peak at most. nullopt: `one` begins above 90 % of its peak, or `many`
/// is saturated, or ends, below where `one` begins.
std::optional<Estimate> worth_in_warps(Curve one, Curve many);

}  // namespace occbench::fit
