// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "harness/statistics/significance.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::findings {

namespace {

using statistics::median;
using Values = std::vector<double>;

constexpr std::size_t window = 8;              // most points of a side that count
constexpr double certain = 0.05;               // p-value of the curve's strongest gap under noise alone
constexpr double freedom = 8;                  // of the noise's t distribution: outliers are common
constexpr double half_95 = 2.306004135204166;  // of its 95 % interval, in standard errors
static_assert(statistics::confidence == 0.95);

Values differences(const Values& values) {
  Values found;
  for (std::size_t i = 1; i < values.size(); ++i) found.push_back(values[i] - values[i - 1]);
  return found;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Sum of the squared distances from the mean.
double squares(std::span<const double> values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return sum;
}

/// x or its logarithm, whichever is spaced more evenly.
Values choose_scale(const Values& x) {
  if (x.size() < 3 || *std::ranges::min_element(x) <= 0) return x;
  Values logs;
  for (const double value : x) logs.push_back(std::log(value));
  const auto unevenness = [](const Values& gaps) { return std::sqrt(squares(gaps)) / mean(gaps); };
  return unevenness(differences(logs)) < unevenness(differences(x)) ? logs : x;
}

/// Standard deviation of y around a smooth curve, also where every third point stands beside a step: from
/// each point's distance to the straight line through its neighbours. A low quantile (interpolated), as
/// steps and bends only ever make distances larger.
double noise_of(const Values& x, const Values& y) {
  constexpr double share_of_distances = 0.35;
  constexpr double normal_quantile = 0.45376219016987956;  // of (1 + share_of_distances) / 2
  Values off;
  for (std::size_t i = 1; i + 1 < x.size(); ++i) {
    const double share = (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1]);
    const double distance = y[i] - (1 - share) * y[i - 1] - share * y[i + 1];
    off.push_back(std::abs(distance / std::sqrt(1 + share * share + (1 - share) * (1 - share))));
  }
  std::ranges::sort(off);
  const double rank = share_of_distances * static_cast<double>(off.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double above = off[std::min(below + 1, off.size() - 1)];
  return std::lerp(off[below], above, rank - std::floor(rank)) / normal_quantile;
}

/// Each value's median with the two before and the two behind it; the ends repeat themselves.
Values median_of_five(const Values& values) {
  Values found;
  const auto last = static_cast<long>(values.size()) - 1;
  for (long i = 0; i <= last; ++i) {
    std::array<double, 5> five{};
    for (long k = 0; k < 5; ++k)
      five[static_cast<std::size_t>(k)] = values[static_cast<std::size_t>(std::clamp(i + k - 2, 0L, last))];
    found.push_back(median(five));
  }
  return found;
}

struct StraightLine {
  double slope = 0;
  double level = 0;  ///< at x = 0
};

/// A line that resists outliers (Theil 1950, Sen 1968).
StraightLine line_of(std::span<const double> x, std::span<const double> y) {
  Values slopes;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = i + 1; j < x.size(); ++j) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
  StraightLine line{.slope = median(slopes)};
  Values levels;
  for (std::size_t i = 0; i < x.size(); ++i) levels.push_back(y[i] - line.slope * x[i]);
  line.level = median(levels);
  return line;
}

/// A curve's points on one side of a gap, and their line.
struct Side {
  StraightLine line;
  double variance = 0;  ///< of its height at the far end of the gap, for noise of 1
};

/// `points`: the first and the last but one. On a bend the line holds for fewer points, those at the gap.
Side side_of(const Values& x, const Values& y, std::pair<std::size_t, std::size_t> points, bool is_before,
             double gap, double noise) {
  auto [first, end] = points;
  const double at = x[is_before ? end - 1 : first];
  Values xs;
  for (std::size_t i = first; i < end; ++i) xs.push_back(x[i] - at);
  std::span<const double> left(xs);
  std::span<const double> up(y.data() + first, end - first);
  StraightLine line = line_of(left, up);
  const auto distance = [&] {
    Values off;
    for (std::size_t i = 0; i < left.size(); ++i)
      off.push_back(std::abs(up[i] - line.level - line.slope * left[i]));
    return median(off);
  };
  while (left.size() > least_side && distance() > noise) {
    left = is_before ? left.subspan(1) : left.first(left.size() - 1);
    up = is_before ? up.subspan(1) : up.first(up.size() - 1);
    line = line_of(left, up);
  }
  // As far as the other side of the gap, since a slope may have to reach there.
  const double reach = std::abs(mean(left)) + gap;
  return {.line = line, .variance = 1 / static_cast<double>(left.size()) + reach * reach / squares(left)};
}

/// How strong the step at a place is, in standard errors, and the step where it is certain.
struct Candidate {
  double strength = 0;
  std::optional<Step> step = {};
};

class StepSearch {
 public:
  StepSearch(const Values& x, Values y, double smallest, double noise, const std::set<std::size_t>& known)
      : x_(choose_scale(x)), y_(std::move(y)), smallest_(smallest), bounds_(known) {
    noise_ = std::max(noise, noise_of(x_, y_));
    const Values gaps = differences(x_);
    const Values rises = differences(y_);
    Values slopes;
    for (std::size_t i = 0; i < gaps.size(); ++i) slopes.push_back(rises[i] / gaps[i]);
    const Values trend = median_of_five(slopes);
    for (std::size_t i = 0; i < gaps.size(); ++i) beyond_.push_back(std::abs(rises[i] - trend[i] * gaps[i]));
  }

  /// First every gap that might hold a step bounds the pieces, or one step would distort another's window.
  /// Then the weakest is dropped until all that are left are certain.
  std::vector<Step> run() {
    for (std::size_t i = 0; i < beyond_.size(); ++i)
      if (beyond_[i] > 1.5 * noise_ && !bounds_.contains(i)) all_[i] = {};
    for (const auto& [place, _] : all_) bounds_.insert(place);
    for (auto& [place, _] : all_) reweigh(place);
    while (!order_.empty() && !all_.at(order_.begin()->second).step) {
      const std::size_t weakest = order_.begin()->second;
      order_.erase(order_.begin());
      all_.erase(weakest);
      const auto next = bounds_.erase(bounds_.find(weakest));
      if (next != bounds_.end()) reweigh(*next);
      if (next != bounds_.begin()) reweigh(*std::prev(next));
    }
    std::vector<Step> found;
    for (const auto& [_, one] : all_)
      if (one.step) found.push_back(*one.step);
    return found;
  }

 private:
  /// Between its current neighbours. A known place has no strength.
  void reweigh(std::size_t place) {
    const auto found = all_.find(place);
    if (found == all_.end()) return;
    order_.erase({found->second.strength, place});
    const auto it = bounds_.find(place);
    const std::size_t start = it == bounds_.begin() ? 0 : *std::prev(it) + 1;
    const std::size_t end = std::next(it) == bounds_.end() ? x_.size() : *std::next(it) + 1;
    found->second = weigh(start, place, end);
    order_.emplace(found->second.strength, place);
  }

  /// The points from start up to end hold no other step than the one behind `place`.
  [[nodiscard]] Candidate weigh(std::size_t start, std::size_t place, std::size_t end) const {
    // Too few points to weigh: dropped before all others, the smallest rise first.
    if (std::min(place + 1 - start, end - 1 - place) < least_side) return {.strength = beyond_[place] - 1e6};
    const double gap = x_[place + 1] - x_[place];
    const std::size_t from = place + 1 >= start + window ? place + 1 - window : start;
    const Side before = side_of(x_, y_, {from, place + 1}, true, gap, noise_);
    const Side after = side_of(x_, y_, {place + 1, std::min(end, place + 1 + window)}, false, gap, noise_);
    const auto [least, most] = std::minmax({before.line.slope * gap, after.line.slope * gap});
    const auto excess = [least = least, most = most](double rise) {
      return rise - std::clamp(rise, least, most);
    };
    const double height = excess(after.line.level - before.line.level);
    const double alone = excess(y_[place + 1] - y_[place]);  // what the two points alone say
    if (std::abs(height) < smallest_ || height * alone <= 0 || std::abs(alone) < std::abs(height) / 2)
      return {};
    const double error = noise_ * std::sqrt(before.variance + after.variance);
    const double tail = statistics::student_tail(std::abs(height) / error, freedom);
    const double p_value = std::min(1.0, 2 * tail * static_cast<double>(x_.size()));
    Candidate found{.strength = std::abs(height) / error};
    if (p_value < certain)
      found.step = {.place = place, .height = height, .half_width = half_95 * error, .p_value = p_value};
    return found;
  }

  Values x_;
  Values y_;
  double smallest_;
  double noise_ = 0;
  Values beyond_;                                   ///< how far each rise lies beside the trend around it
  std::set<std::size_t> bounds_;                    ///< places of steps, known ones and those that might be
  std::map<std::size_t, Candidate> all_;            ///< by place, those that might be
  std::set<std::pair<double, std::size_t>> order_;  ///< the weakest first
};

}  // namespace

std::vector<Step> find_steps(std::vector<double> x, std::vector<double> y, double smallest, double noise,
                             const std::set<std::size_t>& known) {
  if (x.size() < min_points_for_steps) return {};
  for (double& value : y) value = std::log(value);
  return StepSearch(x, std::move(y), smallest, noise, known).run();
}

}  // namespace occbench::findings
