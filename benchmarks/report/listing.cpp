// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/listing.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/statistics/fit.hpp"

namespace occbench {

namespace {

/// "90, 95, 99 % of it at 12.5 % occupancy", or separately if they differ: the lowest occupancy for each
/// share.
std::string lowest_occupancies(const Curve& curve, const CaseResult& peak) {
  constexpr std::array shares{90, 95, 99};
  std::vector<std::pair<double, std::string>> steps;  // occupancy, and what it reaches
  for (const int percent : shares) {
    double lowest = peak.planned.occupancy.fraction;
    for (const Point& p : curve.points)
      if (p.result->throughput >= percent / 100.0 * peak.throughput)
        lowest = std::min(lowest, p.result->planned.occupancy.fraction);
    if (!steps.empty() && steps.back().first == lowest)
      steps.back().second += text(", %d", percent);
    else
      steps.emplace_back(lowest, std::to_string(percent));
  }
  std::string line;
  for (const auto& [lowest, shares_reached] : steps)
    line +=
        (line.empty() ? "" : "; ") + shares_reached + text(" %% of it at %.3g %% occupancy", 100 * lowest);
  return line;
}

/// The highest throughput under one ceiling. Latencies and costs have no ceiling.
void print_peak(std::ostream& out, const std::vector<Curve>& curves, Ceiling ceiling) {
  const Curve* best = nullptr;
  const CaseResult* peak = nullptr;
  for (const Curve& curve : curves)
    for (const Point& p : curve.points)
      if (curve.ceiling == ceiling && (peak == nullptr || p.result->throughput > peak->throughput)) {
        best = &curve;
        peak = p.result;
      }
  if (peak == nullptr) return;
  out << "  peak " << rate_under(ceiling) << ' ' << format_throughput(peak->throughput, ceiling);
  if (peak->ceiling > 0) out << text(" (%.1f %% of the ceiling)", 100 * peak->throughput / peak->ceiling);
  out << text(" at %.3g %% occupancy: ", 100 * peak->planned.occupancy.fraction) << peak->planned.id << '\n';
  if (best->has_enough_points()) out << "    " << lowest_occupancies(*best, *peak) << '\n';
}

/// Work that one warp has in flight, in the unit of its throughput: an FMA per chain, or the bytes of the
/// loads before a wait and of the stores that follow them. 0 if nothing waits, as in a kernel that only
/// writes.
double in_flight_per_warp(const Variant& v) {
  if (v.ceiling == Ceiling::fp32) return 32.0 * 2 * v.dials.ilp;
  return v.ceiling == Ceiling::dram && v.iteration.dram_waits > 0
             ? 32 * v.iteration.dram_bytes / v.iteration.dram_waits
             : 0;
}

/// "14.4 (12-16)"; "<= 4" or "> 48" if one end is known, "-" if none is.
std::string cell(const std::optional<fit::Estimate>& e, int digits, int interval_digits,
                 const char* at_least = ">=") {
  if (!e) return "-";
  if (e->known == fit::Known::at_most) return text("<= %.*f", interval_digits, e->high);
  if (e->known == fit::Known::at_least) return text("%s %.*f", at_least, interval_digits, e->low);
  return text("%.*f (%.*f-%.*f)", digits, e->value, interval_digits, e->low, interval_digits, e->high);
}

struct FittedCurve {
  const Variant* variant = nullptr;
  std::map<int, fit::Point> points;  ///< by warps
};

/// The curves of latency_hiding with min_points or more, by kernel and ILP.
auto curves_by_ilp(const std::vector<const CaseResult*>& results) {
  using Kernel = std::tuple<std::string, std::string, int, std::string>;
  std::map<Kernel, std::map<int, FittedCurve>> kernels;
  for (const CaseResult* r : results) {
    if (!(r->throughput > 0 && r->per_cycle_per_sm > 0 && r->time_s.low > 0)) continue;
    const Variant& v = *r->planned.spec.variant;
    const auto name = v.name.substr(0, v.name.rfind("-ilp"));
    FittedCurve& curve = kernels[{v.family, v.dials.data_type, v.dials.bytes_per_access, name}][v.dials.ilp];
    curve.variant = &v;
    const int warps = r->planned.occupancy.warps_per_sm;
    curve.points[warps] = {.warps = static_cast<double>(warps),
                           .throughput = r->throughput,
                           .low = r->throughput * r->time_s.median / r->time_s.high,
                           .high = r->throughput * r->time_s.median / r->time_s.low,
                           .per_cycle = r->per_cycle_per_sm};
  }
  for (auto& [_, curves] : kernels)
    std::erase_if(curves, [](const auto& curve) { return curve.second.points.size() < min_points; });
  std::erase_if(kernels, [](const auto& kernel) { return kernel.second.empty(); });
  return kernels;
}

/// One line per curve: the warps that hide the latency, the latency, and the warps that more ILP replaces.
void print_fits(std::ostream& out, const std::vector<const CaseResult*>& results) {
  const auto kernels = curves_by_ilp(results);
  if (kernels.empty()) return;
  constexpr const char* line = "  %-18s %2s %13s  %-12s %-12s %-12s %6s  %-16s %s\n";
  out << "  n: points. best: highest throughput. 90, 95, 99 %: warps per SM that reach this share (points\n"
         "  around). lowest: lowest share after 90 %. latency: cycles until a dependent operation. worth: "
         "warps\n"
         "  of the lowest ILP that one warp replaces, of the ideal. <=, >, >=: the points bound one side "
         "only\n"
      << text(line, "", "n", "best", "90 %", "95 %", "99 %", "lowest", "latency", "worth");
  for (const auto& [_, curves] : kernels) {
    std::vector<fit::Point> lowest_ilp;
    for (const auto& [ilp, curve] : curves) {
      std::vector<fit::Point> points;
      for (const auto& [warps, point] : curve.points) points.push_back(point);
      std::string worth = "1";
      if (lowest_ilp.empty())
        lowest_ilp = points;
      else if (const auto warps = fit::replaced_warps(lowest_ilp, points))
        worth = cell(warps, 2, 2) + text(" of %g", double(ilp) / curves.begin()->first);
      else
        worth = "-";
      const auto lowest = fit::min_share_after(points, 0.9);
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

void print_listing(std::ostream& out, const std::vector<CaseResult>& results, const Planned& next,
                   const std::vector<findings::ExperimentFindings>& found) {
  for (const Experiment& e : experiments()) {
    const std::vector<Curve> curves = curves_of(e, results);
    if (curves.empty()) continue;
    std::vector<const CaseResult*> valid;
    std::size_t values = 0;
    for (const Curve& curve : curves) {
      values = std::max(values, curve.values);
      for (const Point& p : curve.points) valid.push_back(p.result);
    }
    out << e.name << ": " << count_of(valid.size(), "case") << ". " << e.question << '\n';
    for (const Ceiling ceiling : {Ceiling::dram, Ceiling::l1, Ceiling::shared_memory, Ceiling::fp32,
                                  Ceiling::fp64, Ceiling::tensor_bf16, Ceiling::issue})
      print_peak(out, curves, ceiling);
    for (const findings::ExperimentFindings& of_experiment : found) {
      if (of_experiment.experiment != e.name || values < min_points) continue;
      for (std::string words : findings::sentences(of_experiment)) {
        std::erase(words, '`');
        out << "  " << words << '\n';
      }
    }
    if (values < min_points) {
      out << "  not enough points: at most " << values << " per curve";
      if (const auto more = next.values.find(e.name); more != next.values.end() && more->second > values)
        out << "; --preset " << next.preset << " has " << more->second;
      out << '\n';
    }
    if (e.name == "latency_hiding") print_fits(out, valid);
  }
}

}  // namespace occbench
