// SPDX-License-Identifier: Apache-2.0
// Latency and latency hiding from a measured curve of throughput over resident warps. No saturation law is
// fitted, since measured curves follow none: they have staircases, dips and a fall past the peak.
#pragma once

#include <optional>
#include <span>

namespace occbench::fit {

/// One case of a curve.
struct Point {
  double warps = 0;       ///< resident warps per SM
  double throughput = 0;  ///< work per second, any unit
  double low = 0;         ///< low end of the throughput's 95 % interval
  double high = 0;
  double per_cycle = 0;  ///< work per SM and SM cycle, in the same unit as work in flight
};

/// Points by ascending warps. All functions below throw std::invalid_argument if they are not ascending or
/// if a number is not positive.
using Curve = std::span<const Point>;

/// Whether the points bound a figure from both sides or from one side only.
enum class Known { both_ends, at_most, at_least };
struct Estimate {
  double value = 0;  ///< best estimate; the bound if only one side is known
  double low = 0;
  double high = 0;  ///< undefined for at_least, as `low` is for at_most
  Known known = Known::both_ends;
};

/// Warps at which the curve first reaches `share` (0 to 1) of its peak, by linear interpolation of log
/// throughput over log warps. The interval ends at measured points: the curve is below `share` at `low` and
/// has reached it at `high`, for all values within the 95 % intervals of the points and the peak. at_most:
/// the first point has reached it. at_least (more than `low`): only the last point has, so the curve may
/// still rise. nullopt: fewer than two points, or both ends are unknown. min_share_after() tells whether it
/// stays there.
std::optional<Estimate> warps_for(Curve curve, double share);

/// The smallest share of the peak at more warps than the first point that reaches `share`; nullopt if that
/// point is the last.
std::optional<double> min_share_after(Curve curve, double share);

/// Latency by Little's law: work in flight over work per cycle. Median over the linear part, the first
/// points whose latencies agree within 5 %; the interval is the range of their 95 % intervals. at_most: only
/// the first point is linear, and it may already queue. `in_flight_per_warp` is in the unit of
/// Point::per_cycle times cycles; nullopt if it is 0 or the curve is empty.
std::optional<Estimate> latency_cycles(Curve curve, double in_flight_per_warp);

/// Warps of curve `one` that match one warp of curve `many`: the number of warps that an ILP replaces. For
/// each point of `many` below 90 % of either peak, the warps at which `one` has its throughput (interpolated
/// as in warps_for()) over its own warps; median. The interval is the range over these points for all values
/// within both curves' 95 % intervals and all concave interpolations of `one`. at_least: `many` has no such
/// point, and its first one is compared at no more than 90 % of `one`'s peak. nullopt: `one` begins above 90
/// % of its peak, or `many` ends or saturates below the start of `one`.
std::optional<Estimate> replaced_warps(Curve one, Curve many);

}  // namespace occbench::fit
