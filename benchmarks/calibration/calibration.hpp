// SPDX-License-Identifier: Apache-2.0
// The model's parameters, and its facts of hardware, as recipes: which cases of families `calibration` and
// `probes` to time, and what to make of their times.
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

/// One measured case in the numbers that recipes use.
struct Reading {
  double iterations = 0;    ///< of each thread
  double bytes = 0;         ///< of the launch
  double warps_per_sm = 0;  ///< resident
  double waves = 0;
  double sm_count = 0;
  double time_s = 0;  ///< of a launch, less an empty one's
  double clock_hz = 0;
  double own_cycles = 0;  ///< what the kernel's own clock says, of whatever the variant times by it

  [[nodiscard]] double cycles_per_pass() const { return time_s * clock_hz / iterations; }
  [[nodiscard]] double bytes_per_s() const { return bytes / time_s; }
  /// Of each SM, when all work.
  [[nodiscard]] double bytes_per_cycle() const { return bytes_per_s() / clock_hz / sm_count; }
  [[nodiscard]] double own_s() const { return own_cycles / clock_hz; }
};

/// The same with the 95 % intervals of what was measured, or the reason why there is nothing.
struct Measurement {
  std::string why_not = {};  ///< one line; empty when there are readings
  Reading median = {};
  Reading low = {};   ///< time, clock and own cycles at the lower ends of their intervals
  Reading high = {};  ///< ... and at the upper ends
};
Measurement measurement_of(const CaseResult& result, std::span<const SampleRow> samples,
                           double empty_launch_s);

using Readings = std::span<const Reading>;

/// Cycles between instructions of one scheduler, from two loops that differ by `instructions` an iteration.
double interval_between(const Reading& shorter, const Reading& longer, double instructions);

/// How one parameter or fact is found.
struct Recipe {
  std::string_view parameter;   ///< name in theory::parameter_fields(), or in theory::hardware::facts
  std::vector<CaseSpec> cases;  ///< all of them are needed; none: it is the time of an empty launch
  std::string method;           ///< one line
  /// In the parameter's unit. Throws std::domain_error with one line when these readings do not give it.
  std::function<double(Readings)> value = nullptr;
  std::function<std::string(Readings)> note =
      nullptr;  ///< what the same cases say besides; goes behind the method
};

/// One for each of theory::parameter_fields(), in their order, for a device of these limits.
std::vector<Recipe> calibration_recipes(const theory::SmLimits& sm);

/// Of those facts that a kernel here can measure.
std::vector<Recipe> probe_recipes(const theory::SmLimits& sm);

/// The recipes' cases without repetition, in groups to be measured each by itself: what finds its data in the
/// L2, what needs it flushed, and the tensor loads, which heat the board.
std::vector<std::vector<CaseSpec>> calibration_groups(std::span<const Recipe> recipes);

/// A parameter as found.
struct Estimate {
  std::optional<double> value;
  std::optional<double> low;  ///< of a 95 % interval: those of the readings, taken as independent
  std::optional<double> high;
  std::string method;  ///< or, without a value, why there is none
};
/// `measurements` are those of the recipe's cases, in their order.
Estimate estimate(const Recipe& recipe, std::span<const Measurement> measurements);

/// parameters.json: `estimates` are those of the recipes, in their order. What has no value is null and says
/// why.
nlohmann::ordered_json parameters_json(const Device& device, std::string_view commit, std::string_view date,
                                       std::span<const Recipe> recipes, std::span<const Estimate> estimates);

/// probes.json: what the model holds for true, and what was found here.
nlohmann::ordered_json facts_json(const Device& device, std::string_view commit, std::string_view date,
                                  std::span<const Recipe> recipes, std::span<const Estimate> estimates);

}  // namespace occbench
