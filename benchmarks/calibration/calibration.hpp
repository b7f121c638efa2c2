// SPDX-License-Identifier: Apache-2.0
// Recipes for the model's parameters and hardware facts: the cases of families `calibration` and `probes` to
// time, and the formula for the value.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench {

/// A measured case, as recipes use it.
struct Reading {
  double iterations = 0;    ///< per thread
  double bytes = 0;         ///< per launch
  double warps_per_sm = 0;  ///< resident
  double waves = 0;
  double sm_count = 0;
  double time_s = 0;  ///< of a launch, minus that of an empty one
  double clock_hz = 0;
  double own_cycles = 0;  ///< measured by the kernel's own clock readings

  [[nodiscard]] double cycles_per_iteration() const { return time_s * clock_hz / iterations; }
  [[nodiscard]] double bytes_per_s() const { return bytes / time_s; }
  /// Per SM.
  [[nodiscard]] double bytes_per_cycle() const { return bytes_per_s() / clock_hz / sm_count; }
  [[nodiscard]] double own_s() const { return own_cycles / clock_hz; }
};

/// Readings at the ends of the 95 % intervals, or the reason why there are none.
struct Measurement {
  std::string why_not = {};  ///< one line; empty if there are readings
  Reading median = {};
  Reading low = {};   ///< time, clock and own cycles at the lower ends of their intervals
  Reading high = {};  ///< ... and at the upper ends
};
Measurement measurement_of(const CaseResult& result, std::span<const SampleRow> samples,
                           double empty_launch_s);

using Readings = std::span<const Reading>;

/// Cycles between instructions of one scheduler, from two loops that differ by `instructions` per iteration.
double interval_between(const Reading& shorter, const Reading& longer, double instructions);

/// How a parameter or fact is measured.
struct Recipe {
  std::string_view parameter;   ///< name in theory::parameter_fields(), or in theory::hardware::facts
  std::vector<CaseSpec> cases;  ///< all of them are needed; empty: the time of an empty launch
  std::string method;           ///< one line
  /// In the parameter's unit. Throws std::domain_error with a one-line message if the readings give no value.
  std::function<double(Readings)> value = nullptr;
  std::function<std::string(Readings)> note = nullptr;  ///< appended to the method
};

/// One per theory::parameter_fields(), in that order, for a device with these limits.
std::vector<Recipe> calibration_recipes(const theory::SmLimits& sm);

/// Recipes for the facts that kernels of the suite can measure.
std::vector<Recipe> probe_recipes(const theory::SmLimits& sm);

/// The recipes' distinct cases, in groups to be measured separately: those with a warm L2, those that need
/// it flushed, and tensor loads, which heat the board.
std::vector<std::vector<CaseSpec>> calibration_groups(std::span<const Recipe> recipes);

/// A measured parameter.
struct Estimate {
  std::optional<double> value;
  std::optional<double> low;  ///< of a 95 % interval, from those of the readings, taken as independent
  std::optional<double> high;
  std::string method;  ///< or the reason why there is no value
};
/// `measurements`: of the recipe's cases, in order.
Estimate estimate(const Recipe& recipe, std::span<const Measurement> measurements);

/// Contents of parameters.json. `estimates`: of the recipes, in order; those without a value are null with
/// the reason.
nlohmann::ordered_json parameters_json(const Device& device, std::string_view commit, std::string_view date,
                                       std::span<const Recipe> recipes, std::span<const Estimate> estimates);

/// Contents of probes.json: the model's facts and the measured values.
nlohmann::ordered_json facts_json(const Device& device, std::string_view commit, std::string_view date,
                                  std::span<const Recipe> recipes, std::span<const Estimate> estimates);

}  // namespace occbench
