// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "benchmarks/curves.hpp"
#include "benchmarks/summary.hpp"
#include "harness/fit.hpp"

namespace occbench {

namespace {

using Results = std::vector<const CaseResult*>;

struct Cliff {
  std::string curve;
  double from, to, kept;
  double occupancy_from, occupancy_to;
};

/// The deepest fall between neighbours along the dial where residency falls too.
std::optional<Cliff> deepest_cliff(const std::vector<Curve>& curves) {
  std::optional<Cliff> deepest;
  for (const Curve& curve : curves) {
    if (!curve.has_enough_points()) continue;
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const CaseResult& a = *curve.points[i - 1];
      const CaseResult& b = *curve.points[i];
      const double kept = b.throughput / a.throughput;
      if (b.planned.occupancy.warps_per_sm >= a.planned.occupancy.warps_per_sm || kept > 0.97) continue;
      if (curve.at(i - 1) == curve.at(i)) continue;  // residency is a dial of its own there
      if (!deepest || kept < deepest->kept)
        deepest = Cliff{curve.kernel,
                        curve.at(i - 1),
                        curve.at(i),
                        kept,
                        a.planned.occupancy.fraction,
                        b.planned.occupancy.fraction};
    }
  }
  return deepest;
}

void print_least_occupancy(std::ostream& out, const Results& results, const CaseResult& peak,
                           const std::string& dial) {
  std::set<double> values;
  for (const CaseResult* r : results)
    if (curve_of(*r, dial) == curve_of(peak, dial)) values.insert(case_number(*r, dial));
  if (values.size() < least_points) {
    out << "    too few points for a curve: " << values.size() << '\n';
    return;
  }
  out << "    least occupancy for";
  for (const int percent : {90, 95, 99}) {
    double least = peak.planned.occupancy.fraction;
    for (const CaseResult* r : results)
      if (curve_of(*r, dial) == curve_of(peak, dial) && r->throughput >= percent / 100.0 * peak.throughput)
        least = std::min(least, r->planned.occupancy.fraction);
    out << text("  %d %%: %.1f %%", percent, 100 * least);
  }
  out << '\n';
}

/// The best of what is held against one ceiling. Latencies and costs have none, and no best.
void print_peak(std::ostream& out, const Results& results, Ceiling ceiling, const std::string& dial) {
  Results alike;
  for (const CaseResult* r : results)
    if (r->planned.spec.variant->ceiling == ceiling) alike.push_back(r);
  if (alike.empty()) return;
  const CaseResult& peak = **std::ranges::max_element(alike, {}, &CaseResult::throughput);
  out << "  peak " << format_throughput(peak.throughput, ceiling);
  if (peak.ceiling > 0)
    out << text(" (%.1f %% of %s)", 100 * peak.throughput / peak.ceiling,
                std::string(to_string(ceiling)).c_str());
  out << text(" at %.1f %% occupancy: ", 100 * peak.planned.occupancy.fraction) << peak.planned.id << '\n';
  print_least_occupancy(out, alike, peak, dial);
}

/// Work that one warp has under way, in the unit of its throughput: an FMA per chain, or the bytes of the
/// loads before a wait (and of the stores that follow them). 0 where nothing waits: a kernel that only writes
/// has no latency.
double in_flight_per_warp(const Variant& v) {
  if (v.ceiling == Ceiling::fp32) return 32.0 * 2 * v.dials.ilp;
  return v.ceiling == Ceiling::dram && v.pass.dram_waits > 0 ? 32 * v.pass.dram_bytes / v.pass.dram_waits : 0;
}

/// "14.4 (12-16)"; "<= 4" or "> 48" where one end is known; "-" when none is.
std::string cell(const std::optional<fit::Estimate>& e, int digits, int interval_digits,
                 const char* at_least = ">=") {
  if (!e) return "-";
  if (e->known == fit::Known::at_most) return text("<= %.*f", interval_digits, e->high);
  if (e->known == fit::Known::at_least) return text("%s %.*f", at_least, interval_digits, e->low);
  return text("%.*f (%.*f-%.*f)", digits, e->value, interval_digits, e->low, interval_digits, e->high);
}

struct FitCurve {
  const Variant* variant = nullptr;
  std::map<int, fit::Point> points;  ///< by warps
};

/// The curves of experiment latency_hiding with three points or more: by ILP, those of one kernel together.
auto curves_by_ilp(const Results& results) {
  using Kernel = std::tuple<std::string, std::string, int, std::string>;
  std::map<Kernel, std::map<int, FitCurve>> kernels;
  for (const CaseResult* r : results) {
    if (!(r->throughput > 0 && r->per_cycle_per_sm > 0 && r->time_s.low > 0)) continue;
    const Variant& v = *r->planned.spec.variant;
    const auto name = v.name.substr(0, v.name.rfind("-ilp"));
    FitCurve& curve = kernels[{v.family, v.dials.data_type, v.dials.bytes_per_access, name}][v.dials.ilp];
    curve.variant = &v;
    const int warps = r->planned.occupancy.warps_per_sm;
    curve.points[warps] = {.warps = static_cast<double>(warps),
                           .throughput = r->throughput,
                           .low = r->throughput * r->time_s.median / r->time_s.high,
                           .high = r->throughput * r->time_s.median / r->time_s.low,
                           .per_cycle = r->per_cycle_per_sm};
  }
  for (auto& [_, curves] : kernels)
    std::erase_if(curves, [](const auto& curve) { return curve.second.points.size() < 3; });
  std::erase_if(kernels, [](const auto& kernel) { return kernel.second.empty(); });
  return kernels;
}

/// One line per curve: the warps that hide the latency, what that is, and what a warp with more ILP is worth.
void print_fits(std::ostream& out, const Results& results) {
  const auto kernels = curves_by_ilp(results);
  if (kernels.empty()) return;
  constexpr const char* line = "  %-18s %2s %13s  %-12s %-12s %-12s %6s  %-16s %s\n";
  out << "  n points, the best of them; warps per SM that first come to a share of it (the points around);\n"
         "  the lowest share past 90 %; cycles from an operation to the next that waits for it; warps\n"
         "  of the least ILP that one warp is worth, of the ideal. <=, >, >=: the points show one end alone\n"
      << text(line, "", "n", "best", "90 %", "95 %", "99 %", "lowest", "latency", "worth");
  for (const auto& [_, curves] : kernels) {
    std::vector<fit::Point> least_ilp;
    for (const auto& [ilp, curve] : curves) {
      std::vector<fit::Point> points;
      for (const auto& [warps, point] : curve.points) points.push_back(point);
      std::string worth = "1";
      if (least_ilp.empty())
        least_ilp = points;
      else if (const auto warps = fit::worth_in_warps(least_ilp, points))
        worth = cell(warps, 2, 2) + text(" of %g", double(ilp) / curves.begin()->first);
      else
        worth = "-";
      const auto lowest = fit::lowest_after(points, 0.9);
      const auto latency = fit::latency_cycles(points, in_flight_per_warp(*curve.variant));
      const int digits = latency && latency->value < 100 ? 2 : 0;
      const double best = std::ranges::max(points, {}, &fit::Point::throughput).throughput;
      const auto warps = [&](double share) { return cell(fit::warps_for(points, share), 1, 0, ">"); };
      out << text(line, curve.variant->name.c_str(), std::to_string(points.size()).c_str(),
                  format_throughput(best, curve.variant->ceiling).c_str(), warps(0.90).c_str(),
                  warps(0.95).c_str(), warps(0.99).c_str(),
                  lowest ? text("%.0f %%", 100 * *lowest).c_str() : "-",
                  cell(latency, digits, digits).c_str(), worth.c_str());
    }
  }
}

}  // namespace

void print_listing(std::ostream& out, const std::vector<CaseResult>& results) {
  std::map<std::string, std::size_t> reasons;
  for (const CaseResult& r : results) {
    if (r.planned.status == Status::invalid) ++reasons["invalid: " + r.planned.id + ": " + r.planned.reason];
    if (r.planned.status == Status::skipped) ++reasons["skipped: " + r.planned.reason];
  }
  const std::vector<Curve> all = curves(results);
  for (const Experiment& e : experiments()) {
    Results valid;
    for (const CaseResult& r : results)
      if (r.planned.spec.experiment == e.name && r.has_time()) valid.push_back(&r);
    if (valid.empty()) continue;
    out << e.name << ": " << valid.size() << (valid.size() == 1 ? " case. " : " cases. ") << e.question
        << '\n';
    for (const Ceiling ceiling : {Ceiling::dram, Ceiling::l1, Ceiling::shared_memory, Ceiling::fp32,
                                  Ceiling::fp64, Ceiling::tensor_bf16, Ceiling::issue})
      print_peak(out, valid, ceiling, e.dial);
    std::vector<Curve> own;
    std::ranges::copy_if(all, std::back_inserter(own), [&](const Curve& c) { return c.experiment == &e; });
    if (const auto cliff = deepest_cliff(own))
      out << text(
                 "  deepest cliff: %s %.6g -> %.6g, occupancy %.3g -> %.3g %%, throughput falls to %.3g %% (",
                 e.dial.c_str(), cliff->from, cliff->to, 100 * cliff->occupancy_from,
                 100 * cliff->occupancy_to, 100 * cliff->kept)
          << cliff->curve << ")\n";
    if (e.name == "latency_hiding") print_fits(out, valid);
  }
  for (const auto& [reason, cases] : reasons)
    out << "  " << reason << (cases > 1 ? " (" + std::to_string(cases) + " cases)" : "") << '\n';
}

}  // namespace occbench
