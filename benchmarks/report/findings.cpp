// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "benchmarks/report/format.hpp"

namespace occbench {

namespace {

constexpr double least_effect = 0.03;  // cases of one run differ by more than their intervals say

using Curves = std::vector<Curve>;
using Found = std::optional<Finding>;

double percent(double share) { return 100 * share; }
int warps(const CaseResult& r) { return r.planned.occupancy.warps_per_sm; }
double occupancy(const CaseResult& r) { return percent(r.planned.occupancy.fraction); }
std::size_t spilled(const CaseResult& r) { return r.planned.attributes.local_bytes; }

/// The share that `b` has less than `a`; 0 where their intervals overlap or the effect is small.
double loss(const CaseResult& a, const CaseResult& b) {
  const double lost = 1 - b.throughput / a.throughput;
  return lost >= least_effect && throughput_of(a).low > throughput_of(b).high ? lost : 0;
}

std::string share(double value) { return text(value < 0.0995 ? "%.1f %%" : "%.0f %%", percent(value)); }

/// The larger of two; of equal ones the first.
void keep_larger(Found& found, Finding other) {
  if (!found || other.score > found->score) found = std::move(other);
}

const CaseResult& best_of(const std::vector<Point>& points) {
  return *std::ranges::max_element(points, {}, [](const Point& p) { return p.result->throughput; })->result;
}

/// Both are as good; what a step costs one kernel and not the other.
const Curve* indifferent(const Curves& curves, const Point& from, const Point& to) {
  const auto at = [](const Curve& curve, const Point& p) -> const CaseResult* {
    for (const Point& other : curve.points)
      if (other.dial == p.dial && warps(*other.result) == warps(*p.result)) return other.result;
    return nullptr;
  };
  for (const Curve& curve : curves) {
    const CaseResult* a = curve.tells() ? at(curve, from) : nullptr;
    const CaseResult* b = curve.tells() ? at(curve, to) : nullptr;
    if (a != nullptr && b != nullptr && std::abs(1 - b->throughput / a->throughput) < least_effect)
      return &curve;
  }
  return nullptr;
}

/// Of each kernel the deepest fall between neighbours along the dial, with the residency or without it.
std::vector<Finding> deepest_falls(const Curves& curves, const Experiment& experiment, bool residency_falls) {
  std::map<std::string, Found> of_kernel;
  for (const Curve& curve : curves) {
    // Residency falls along no dial that it is itself, and a latency has no best to fall from.
    if (is_residency(experiment.dial) || !curve.tells() || curve.ceiling == Ceiling::none) continue;
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const Point& from = curve.points[i - 1];
      const Point& to = curve.points[i];
      const CaseResult& a = *from.result;
      const CaseResult& b = *to.result;
      if (from.dial == to.dial || spilled(a) != spilled(b)) continue;
      if (residency_falls ? warps(b) >= warps(a) : warps(b) != warps(a)) continue;
      const double lost = loss(a, b);
      if (lost == 0) continue;
      const std::string step = step_of(experiment.dial, from.dial, to.dial);
      const std::string cost = ": -" + share(lost) + " for " + curve.kernel;
      Finding fall{.kind = Kind::step,
                   .score = 0.6 * lost,
                   .words = step + cost,
                   .more = {text(", though %d warps/SM stay resident", warps(a))}};
      if (residency_falls) {
        fall = {.kind = Kind::cliff,
                .score = lost,
                .words = step + text(" (%d -> %d warps/SM)", warps(a), warps(b)) + cost};
        if (const Curve* other = indifferent(curves, from, to))
          fall.more = {", nothing for " + other->kernel};
      }
      keep_larger(of_kernel[curve.kernel], std::move(fall));
    }
  }
  std::vector<Finding> found;
  for (auto& [_, fall] : of_kernel)
    if (fall) found.push_back(*std::move(fall));
  return found;
}

/// "4 x 16 B in flight": what each thread has under way.
std::string in_flight(const Variant& v) {
  if (v.dials.bytes_per_access > 0) return text("%d x %d B in flight", v.dials.ilp, v.dials.bytes_per_access);
  return text("ILP %d", v.dials.ilp);
}

/// The case of fewest warps that surely reaches 90 % of `best`.
const CaseResult* first_at_90(const Curve& curve, const CaseResult& best) {
  const CaseResult* found = nullptr;
  for (const Point& p : curve.points)
    if (throughput_of(*p.result).low >= 0.9 * best.throughput &&
        (found == nullptr || warps(*p.result) < warps(*found)))
      found = p.result;
  return found;
}

Found fewest_warps(const Curves& curves, const Experiment& experiment) {
  Found found;
  if (!is_residency(experiment.dial)) return found;
  std::map<Ceiling, const CaseResult*> best;
  for (const Curve& curve : curves) {
    const CaseResult& peak = best_of(curve.points);
    const CaseResult*& so_far = best[curve.ceiling];
    if (so_far == nullptr || peak.throughput > so_far->throughput) so_far = &peak;
  }
  for (const auto& [ceiling, peak] : best) {
    if (ceiling == Ceiling::none) continue;
    const CaseResult* fewest = nullptr;
    const CaseResult* most = nullptr;
    for (const Curve& curve : curves) {
      const CaseResult* at = curve.ceiling == ceiling && curve.tells() ? first_at_90(curve, *peak) : nullptr;
      if (at == nullptr) continue;
      if (fewest == nullptr || warps(*at) < warps(*fewest)) fewest = at;
      if (most == nullptr || warps(*at) > warps(*most)) most = at;
    }
    if (fewest == nullptr || fewest->planned.occupancy.fraction > 0.4) continue;
    // Of little use where even the best is far from what the hardware can do.
    const double of_ceiling = peak->ceiling > 0 ? std::min(1.0, peak->throughput / peak->ceiling) : 1;
    const Variant& v = *fewest->planned.spec.variant;
    Finding knee{.kind = Kind::knee,
                 .score = of_ceiling * (1 - 2 * fewest->planned.occupancy.fraction),
                 .words = v.name + ": 90 % of the best " + std::string(rate_under(ceiling)) +
                          text(" with %d warps/SM (%.0f %% occupancy)", warps(*fewest), occupancy(*fewest)),
                 .more = {" at " + in_flight(v)}};
    if (warps(*most) > warps(*fewest))
      knee.more.push_back("; " + most->planned.spec.variant->name + text(" needs %d", warps(*most)));
    keep_larger(found, knee);
  }
  return found;
}

Found more_warps_cost(const Curves& curves, const Experiment& experiment) {
  Found found;
  if (!is_residency(experiment.dial)) return found;
  for (const Curve& curve : curves) {
    if (!curve.tells() || curve.ceiling == Ceiling::none) continue;
    const CaseResult& best = best_of(curve.points);
    const CaseResult& last = *curve.points.back().result;
    const double lost = loss(best, last);
    if (lost == 0 || warps(best) >= warps(last) || spilled(best) != spilled(last)) continue;
    keep_larger(found, {.kind = Kind::decline,
                        .score = lost,
                        .words = curve.kernel +
                                 text(" is best with %d warps/SM: %d cost it ", warps(best), warps(last)) +
                                 share(lost),
                        .more = {text(" (%.0f -> %.0f %% occupancy)", occupancy(best), occupancy(last))}});
  }
  return found;
}

Found spilling(const Curves& curves) {
  Found found;
  for (const Curve& curve : curves) {
    if (!curve.tells()) continue;
    std::vector<Point> with;
    std::vector<Point> without;
    for (const Point& p : curve.points) (spilled(*p.result) > 0 ? with : without).push_back(p);
    if (with.empty() || without.empty()) continue;
    const CaseResult& spills = best_of(with);
    const CaseResult& whole = best_of(without);
    const std::string cap =
        text("%d registers, %zu B spilled, %d warps/SM", spills.planned.attributes.registers_per_thread,
             spilled(spills), warps(spills));
    const std::string free =
        text("%d registers, %d warps/SM", whole.planned.attributes.registers_per_thread, warps(whole));
    if (loss(spills, whole) > 0) {
      const double gain = spills.throughput / whole.throughput - 1;
      keep_larger(found, {.kind = Kind::spill,
                          .score = std::min(1.0, gain),
                          .words = "spilling gains " + curve.kernel + " " + share(gain) + ": " + cap,
                          .more = {"; the best without: " + free}});
    } else if (const double lost = loss(whole, spills); lost > 0) {
      keep_larger(found, {.kind = Kind::spill,
                          .score = 0.7 * lost,  // what most expect
                          .words = "spilling costs " + curve.kernel + " " + share(lost) + " at best: " + cap,
                          .more = {"; the best without: " + free}});
    }
  }
  return found;
}

Found block_size_of_api(const Curves& curves, const Experiment& experiment) {
  Found found;
  if (experiment.dial != "block_size") return found;
  for (const Curve& curve : curves) {
    if (!curve.tells()) continue;
    const CaseResult& best = best_of(curve.points);
    for (const Point& p : curve.points) {
      const CaseResult& pick = *p.result;
      if (pick.block_size_api != pick.planned.spec.block_size) continue;
      if (const double lost = loss(best, pick); lost > 0)
        keep_larger(found, {.kind = Kind::pick,
                            .score = lost,
                            .words = text("the API picks %d threads for ", pick.planned.spec.block_size) +
                                     curve.kernel + text("; %d are ", best.planned.spec.block_size) +
                                     share(best.throughput / pick.throughput - 1) + " faster"});
    }
  }
  return found;
}

/// The share of an SM's warps that were seen resident; in theory where nobody looked.
double resident(const CaseResult& r) {
  const theory::Occupancy& exact = r.planned.occupancy;
  if (!r.blocks_per_sm_resident || exact.blocks_per_sm == 0) return exact.fraction;
  return exact.fraction * *r.blocks_per_sm_resident / exact.blocks_per_sm;
}

Found textbook(const Experiment& experiment, const std::vector<CaseResult>& results) {
  Found found;
  for (const CaseResult& r : results) {
    if (r.planned.spec.experiment != experiment.name || !r.has_time() || r.planned.occupancy_textbook <= 0)
      continue;
    const double gap = std::abs(r.planned.occupancy_textbook - resident(r));
    if (gap < least_effect) continue;
    std::string limiters = theory::to_string(r.planned.occupancy.limiters);
    std::ranges::replace(limiters, '_', ' ');
    const std::string footprint = text("%d registers, %d threads", r.planned.attributes.registers_per_thread,
                                       r.planned.spec.block_size);
    keep_larger(found, {.kind = Kind::textbook,
                        .score = 0.5 * gap,
                        .words = text("the textbook's division gives %.0f %% occupancy, the SM has %.0f %%",
                                      percent(r.planned.occupancy_textbook), percent(resident(r))),
                        .more = {" (limit: " + limiters + ")", ": " + footprint}});
  }
  return found;
}

Found largest_miss(const Experiment& experiment, const std::vector<CaseResult>& results) {
  Found found;
  for (const CaseResult& r : results) {
    const auto& prediction = r.planned.forecast.prediction;
    if (r.planned.spec.experiment != experiment.name || !r.has_time() || r.planned.is_modelled) continue;
    if (!prediction || prediction->time_s <= 0) continue;
    if (prediction->time_s >= r.time_s.low && prediction->time_s <= r.time_s.high) continue;
    const double ratio = prediction->time_s / r.time_s.median;
    const double miss = std::abs(std::log(ratio));
    if (miss < 0.1) continue;
    const Variant& v = *r.planned.spec.variant;
    keep_larger(found,
                {.kind = Kind::miss,
                 .score = std::min(0.4, 0.4 * miss),
                 .words = "the model misses " + v.name + text(" at %d warps/SM: it predicts ", warps(r)) +
                          significant(ratio) + " times the time measured"});
  }
  return found;
}

}  // namespace

std::vector<Finding> findings_of(const Experiment& experiment, const std::vector<CaseResult>& results) {
  const Curves curves = curves_of(experiment, results);
  std::vector<Finding> all = deepest_falls(curves, experiment, true);
  for (Found found : {fewest_warps(curves, experiment), more_warps_cost(curves, experiment), spilling(curves),
                      block_size_of_api(curves, experiment), textbook(experiment, results),
                      largest_miss(experiment, results)})
    if (found) all.push_back(*std::move(found));
  std::ranges::move(deepest_falls(curves, experiment, false), std::back_inserter(all));
  for (Finding& found : all) found.experiment = experiment.name;
  return all;
}

std::vector<Finding> most_telling(const std::vector<CaseResult>& results, std::size_t most) {
  std::set<std::string> run;
  for (const CaseResult& r : results) run.insert(r.planned.spec.experiment);
  std::vector<Finding> all;
  for (const Experiment& e : experiments())
    if (run.contains(e.name)) std::ranges::move(findings_of(e, results), std::back_inserter(all));

  const std::size_t of_one = run.empty() ? 0 : (most + run.size() - 1) / run.size();
  std::map<std::string, std::size_t> of_experiment;
  std::map<Kind, std::size_t> of_kind;
  std::vector<Finding> told;
  while (told.size() < most) {
    // A second of a kind says less than a first of another.
    const auto worth = [&](const Finding& f) {
      if (of_kind[f.kind] == 2 || of_experiment[f.experiment] >= of_one) return 0.0;
      return of_kind[f.kind] == 1 ? f.score / 2 : f.score;
    };
    const auto best = std::ranges::max_element(all, {}, worth);
    if (best == all.end() || worth(*best) <= 0) break;
    ++of_kind[best->kind];
    ++of_experiment[best->experiment];
    told.push_back(std::move(*best));
    all.erase(best);
  }
  return told;
}

}  // namespace occbench
