// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <set>

#include "benchmarks/commands/numbers.hpp"

namespace occbench {

bool Curve::has_enough_points() const {
  std::set<double> values;
  for (std::size_t i = 0; i < points.size(); ++i) values.insert(at(i));
  return values.size() >= least_points;
}

std::vector<Curve> curves(const std::vector<CaseResult>& results) {
  std::vector<Curve> all;
  for (const Experiment& e : experiments()) {
    std::map<std::string, std::vector<const CaseResult*>> by_kernel;
    for (const CaseResult& r : results)
      if (r.planned.spec.experiment == e.name && r.has_time()) by_kernel[curve_of(r, e.dial)].push_back(&r);
    for (auto& [kernel, points] : by_kernel) {
      std::ranges::stable_sort(points, {}, [&](const CaseResult* r) { return case_number(*r, e.dial); });
      all.push_back({.experiment = &e, .kernel = kernel, .points = std::move(points)});
    }
  }
  return all;
}

std::string curve_of(const CaseResult& r, const std::string& dial) {
  const CaseSpec& s = r.planned.spec;
  const Variant& v = *s.variant;
  std::string key = v.family + "." + (v.series.empty() ? v.name : v.series);
  if (s.carveout_percent != 100) key += " carve-out " + std::to_string(s.carveout_percent) + " %";
  if (dial != "block_size") key += " at " + std::to_string(s.block_size) + " threads";
  return key;
}

std::string text(const char* format, ...) {
  std::array<char, 256> line{};
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line.data(), line.size(), format, values);
  va_end(values);
  return line.data();
}

std::string format_throughput(double per_second, Ceiling ceiling) {
  constexpr std::array<const char*, 3> names{"GB/s", "TFLOP/s", "G operations/s"};
  constexpr std::array<double, 3> scales{1e-9, 1e-12, 1e-9};
  const auto unit = static_cast<std::size_t>(unit_of(ceiling));
  const double value = per_second * scales[unit];
  if (value >= 1000) return commands::grouped(std::llround(value)) + " " + names[unit];
  return text("%.3g %s", value, names[unit]);
}

}  // namespace occbench
