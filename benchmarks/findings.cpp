// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/findings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "benchmarks/curves.hpp"

namespace occbench {

namespace {

constexpr double worth_telling = 0.05;  ///< the least effect
constexpr double enough = 0.9;          ///< of the best throughput
constexpr std::size_t most_of_a_kind = 2;

/// How much slower `a` is than `b`, 0 to 1, by the ends of their intervals that lie closest; 0 where they meet.
double surely_lost(const CaseResult& a, const CaseResult& b) {
  const double a_at_most = a.throughput * a.time_s.median / a.time_s.low;
  const double b_at_least = b.throughput * b.time_s.median / b.time_s.high;
  return std::max(0.0, 1 - a_at_most / b_at_least);
}

double lost(const CaseResult& a, const CaseResult& b) { return 1 - a.throughput / b.throughput; }

const CaseResult& best_of(const std::vector<const CaseResult*>& points) {
  return **std::ranges::max_element(points, {}, &CaseResult::throughput);
}

int warps_of(const CaseResult& r) { return r.planned.occupancy.warps_per_sm; }

int slots_of(const CaseResult& r) {
  const auto& o = r.planned.occupancy;
  return o.fraction > 0 ? static_cast<int>(o.warps_per_sm / o.fraction + 0.5) : 0;
}

std::string percent(double fraction) { return text("%.3g %%", 100 * fraction); }
std::string name_of(const CaseResult& r) { return "`" + r.planned.spec.variant->name + "`"; }
std::string speed_of(const CaseResult& r) {
  return format_throughput(r.throughput, r.planned.spec.variant->ceiling);
}

/// "registers per thread 31 -> 33"
std::string step_of(const std::string& dial, double from, double to) {
  static const std::map<std::string, const char*> names{{"block_size", "threads per block"},
                                                        {"dynamic_smem_bytes", "bytes of shared memory"}};
  std::string words = names.contains(dial) ? names.at(dial) : dial;
  std::ranges::replace(words, '_', ' ');
  return words + text(" %.6g -> %.6g", from, to);
}

std::string name_of(Ceiling ceiling) {
  static const std::map<Ceiling, const char*> names{
      {Ceiling::dram, "DRAM"},        {Ceiling::l1, "the L1"}, {Ceiling::shared_memory, "shared memory"},
      {Ceiling::fp32, "FP32"},        {Ceiling::fp64, "FP64"}, {Ceiling::tensor_bf16, "the tensor cores"},
      {Ceiling::issue, "issue slots"}};
  return names.at(ceiling);
}

/// Of each ceiling, the fewest warps with which any kernel comes to 90 % of the best of all.
void add_few_warps(std::vector<Finding>& all, const std::vector<CaseResult>& results) {
  std::map<Ceiling, std::vector<const CaseResult*>> by_ceiling;
  for (const CaseResult& r : results)
    if (r.has_time() && r.ceiling > 0) by_ceiling[r.planned.spec.variant->ceiling].push_back(&r);
  for (const auto& [ceiling, cases] : by_ceiling) {
    const CaseResult& best = best_of(cases);
    const CaseResult* fewest = nullptr;
    std::set<int> warps;
    for (const CaseResult* r : cases) {
      warps.insert(warps_of(*r));
      if (r->throughput < enough * best.throughput) continue;
      if (!fewest ||
          std::pair(warps_of(*r), -r->throughput) < std::pair(warps_of(*fewest), -fewest->throughput))
        fewest = r;
    }
    if (warps.size() < least_points) continue;
    const int slots = slots_of(*fewest);
    all.push_back({.kind = FindingKind::few_warps,
                   .experiment = fewest->planned.spec.experiment,
                   .sentence = name_of(*fewest) + " reaches " + speed_of(*fewest) + ", " +
                               percent(fewest->throughput / best.throughput) + " of the best of " +
                               name_of(ceiling) +
                               text(", with %d of %d warps per SM", warps_of(*fewest), slots),
                   .effect = 1 - static_cast<double>(warps_of(*fewest)) / slots});
  }
}

/// The same step of the dial in another kernel of the experiment, where it costs nothing; nullptr when there is none.
const CaseResult* unmoved(const std::vector<Curve>& curves, const Curve& curve, double from, double to) {
  for (const Curve& other : curves) {
    if (other.experiment != curve.experiment || &other == &curve) continue;
    for (std::size_t i = 1; i < other.points.size(); ++i)
      if (other.at(i - 1) == from && other.at(i) == to &&
          lost(*other.points[i], *other.points[i - 1]) < 0.01 &&
          warps_of(*other.points[i]) < warps_of(*other.points[i - 1]))
        return other.points[i];
  }
  return nullptr;
}

/// The step along the dial that takes warps and costs most.
void add_cliff(std::vector<Finding>& all, const std::vector<Curve>& curves, const Curve& curve) {
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const CaseResult& a = *curve.points[i - 1];
    const CaseResult& b = *curve.points[i];
    if (warps_of(b) >= warps_of(a) || curve.at(i - 1) == curve.at(i) || surely_lost(b, a) == 0) continue;
    // Warps that were asked for are no consequence of the step.
    if (a.planned.spec.resident_blocks != b.planned.spec.resident_blocks) continue;
    const CaseResult* spared = unmoved(curves, curve, curve.at(i - 1), curve.at(i));
    all.push_back({.kind = FindingKind::cliff,
                   .experiment = curve.experiment->name,
                   .sentence = step_of(curve.experiment->dial, curve.at(i - 1), curve.at(i)) +
                               " (occupancy " + percent(a.planned.occupancy.fraction) + " -> " +
                               percent(b.planned.occupancy.fraction) + ") costs " + name_of(b) + " " +
                               percent(lost(b, a)) + (spared ? ", and " + name_of(*spared) + " nothing" : ""),
                   .effect = lost(b, a)});
  }
}

/// A curve over resident warps that has its best before its end.
void add_more_warps_cost(std::vector<Finding>& all, const Curve& curve) {
  const CaseResult& best = best_of(curve.points);
  const CaseResult& most =
      **std::ranges::max_element(curve.points, {}, [](const CaseResult* r) { return warps_of(*r); });
  if (warps_of(most) <= warps_of(best) || surely_lost(most, best) == 0) return;
  all.push_back({.kind = FindingKind::more_warps_cost,
                 .experiment = curve.experiment->name,
                 .sentence = name_of(best) + " is best with " +
                             text("%d of %d warps per SM", warps_of(best), slots_of(best)) + " (" +
                             speed_of(best) + text("); %d reach ", warps_of(most)) +
                             percent(most.throughput / best.throughput) + " of that",
                 .effect = lost(most, best)});
}

/// A cap on registers that spills, against the kernel without a cap.
void add_spill(std::vector<Finding>& all, const Curve& curve) {
  const auto is_free = [](const CaseResult* r) {
    return r->planned.spec.variant->dials.route == RegisterRoute::free;
  };
  const auto free = std::ranges::find_if(curve.points, is_free);
  std::vector<const CaseResult*> spilled;
  for (const CaseResult* r : curve.points)
    if (!is_free(r) && free != curve.points.end() &&
        r->planned.attributes.local_bytes > (*free)->planned.attributes.local_bytes)
      spilled.push_back(r);
  if (spilled.empty()) return;
  const CaseResult& best = best_of(spilled);
  const bool pays = best.throughput > (*free)->throughput;
  if ((pays ? surely_lost(**free, best) : surely_lost(best, **free)) == 0) return;
  const std::string cap =
      text("%s spills %zu B at %d registers", name_of(best).c_str(), best.planned.attributes.local_bytes,
           best.planned.attributes.registers_per_thread);
  const std::string without =
      text("the kernel without a cap (%d registers)", (*free)->planned.attributes.registers_per_thread);
  const double ratio = best.throughput / (*free)->throughput;
  all.push_back(
      {.kind = FindingKind::spill,
       .experiment = curve.experiment->name,
       .sentence = cap +
                   text(pays ? " and is %.2f x as fast as " : " and runs at %.2f of the speed of ", ratio) +
                   without,
       .effect = pays ? 1 - 1 / ratio : 1 - ratio});
}

}  // namespace

std::vector<Finding> findings(const std::vector<CaseResult>& results, std::size_t most) {
  std::vector<Finding> all;
  add_few_warps(all, results);
  const std::vector<Curve> known = curves(results);
  for (const Curve& curve : known) {
    if (!curve.has_enough_points()) continue;
    add_spill(all, curve);
    add_cliff(all, known, curve);
    if (curve.experiment->dial == "warps_per_sm") add_more_warps_cost(all, curve);
  }
  std::ranges::stable_sort(all, std::greater<>{}, &Finding::effect);
  std::vector<Finding> told;
  for (const Finding& finding : all) {
    if (told.size() == most || finding.effect < worth_telling) break;
    const auto same_kind = std::ranges::count(told, finding.kind, &Finding::kind);
    const bool same_experiment = std::ranges::count(told, finding.experiment, &Finding::experiment) > 0;
    if (same_experiment || same_kind == most_of_a_kind) continue;
    told.push_back(finding);
  }
  return told;
}

std::size_t experiments_with_too_few_points(const std::vector<CaseResult>& results) {
  std::map<const Experiment*, bool> has_curve;
  for (const Curve& curve : curves(results))
    has_curve[curve.experiment] = has_curve[curve.experiment] || curve.has_enough_points();
  return static_cast<std::size_t>(
      std::ranges::count(has_curve, false, &std::pair<const Experiment* const, bool>::second));
}

}  // namespace occbench
