// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/calibration/calibration.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "harness/theory/hardware.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench {

namespace {

/// The longest catalogue name that is part of the device's name, or null.
nlohmann::ordered_json catalogue_name(const std::string& device_name) {
  const auto plain = [](std::string_view name) {
    std::string letters;
    for (const char c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  std::string found;
  for (const std::string& name : theory::device_names())
    if (name.size() > found.size() && plain(device_name).find(plain(name)) != std::string::npos) found = name;
  return found.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(found);
}

/// Six significant digits.
nlohmann::ordered_json round_to_six_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

}  // namespace

Measurement measurement_of(const CaseResult& result, std::span<const SampleRow> samples,
                           double empty_launch_s) {
  const Case& c = result.planned;
  if (c.status != Status::valid)
    return {.why_not = c.id + " is " + std::string(to_string(c.status)) + ": " + c.reason};
  std::vector<double> clocks;
  for (const SampleRow& s : samples)
    if (!s.discarded) clocks.push_back(s.sm_clock_hz);
  if (clocks.empty()) return {.why_not = c.id + " has no samples"};
  const auto clock = statistics::median_interval(clocks);
  const auto& time = result.time_s;
  const auto reading = [&](double time_s, double clock_hz) {
    return Reading{.iterations = static_cast<double>(c.iterations),
                   .bytes = result.work.bytes,
                   .warps_per_sm = static_cast<double>(c.occupancy.warps_per_sm),
                   .waves = static_cast<double>(c.launch.grid_size) / c.wave_blocks,
                   .sm_count = static_cast<double>(c.wave_blocks) / c.occupancy.blocks_per_sm,
                   .time_s = time_s - empty_launch_s,
                   .clock_hz = clock_hz,
                   // Its interval is unknown, and taken to be as wide as that of the time.
                   .own_cycles = result.own_cycles_per_iteration.value_or(0) * time_s / time.median};
  };
  return {.median = reading(time.median, clock.median),
          .low = reading(time.low, clock.low),
          .high = reading(time.high, clock.high)};
}

std::vector<std::vector<CaseSpec>> calibration_groups(std::span<const Recipe> recipes) {
  std::vector<std::vector<CaseSpec>> groups(3);
  std::set<std::string> ids;
  for (const Recipe& recipe : recipes)
    for (const CaseSpec& spec : recipe.cases) {
      if (!ids.insert(spec.id()).second) continue;
      const bool tensor = spec.variant->ceiling == Ceiling::tensor_bf16;
      const std::size_t group = tensor ? 2 : spec.variant->l2_before == L2::warm ? 0 : 1;
      groups[group].push_back(spec);
    }
  return groups;
}

Estimate estimate(const Recipe& recipe, std::span<const Measurement> measurements) try {
  for (const Measurement& m : measurements)
    if (!m.why_not.empty()) return {.method = m.why_not};
  std::vector<Reading> readings;
  for (const Measurement& m : measurements) readings.push_back(m.median);
  const double value = recipe.value(readings);
  if (!std::isfinite(value)) return {.method = "its cases give no finite number"};
  // Deviations for each measured number at the ends of its interval, added in quadrature.
  double below = 0;
  double above = 0;
  for (std::size_t i = 0; i < readings.size(); ++i)
    for (double Reading::*number : {&Reading::time_s, &Reading::clock_hz, &Reading::own_cycles}) {
      double down = 0;
      double up = 0;
      for (const Reading* end : {&measurements[i].low, &measurements[i].high}) {
        readings[i].*number = end->*number;
        const double change = recipe.value(readings) - value;
        down = std::min(down, change);
        up = std::max(up, change);
      }
      readings[i] = measurements[i].median;
      below = std::hypot(below, down);
      above = std::hypot(above, up);
    }
  return {.value = value,
          .low = value - below,
          .high = value + above,
          .method = recipe.method + (recipe.note ? "; " + recipe.note(readings) : "")};
} catch (const std::domain_error& e) {
  return {.method = e.what()};
}

namespace {

/// The JSON entry of a parameter or fact.
nlohmann::ordered_json entry_of(const Recipe& recipe, const Estimate& found, std::string_view unit) {
  std::string source;
  for (const CaseSpec& spec : recipe.cases) source += (source.empty() ? "" : "; ") + spec.id();
  nlohmann::ordered_json entry{{"value", nullptr},
                               {"unit", unit},
                               {"source", source.empty() ? "an empty kernel" : source},
                               {"method", found.method}};
  if (found.value) entry["value"] = round_to_six_digits(*found.value);
  if (found.low) entry["low"] = round_to_six_digits(*found.low);
  if (found.high) entry["high"] = round_to_six_digits(*found.high);
  return entry;
}

}  // namespace

nlohmann::ordered_json parameters_json(const Device& device, std::string_view commit, std::string_view date,
                                       std::span<const Recipe> recipes, std::span<const Estimate> estimates) {
  nlohmann::ordered_json parameters;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const auto field =
        std::ranges::find(theory::parameter_fields(), recipes[i].parameter, &theory::ParameterField::name);
    parameters[std::string(recipes[i].parameter)] = entry_of(recipes[i], estimates[i], field->unit);
  }
  return {{"format", 1},
          {"device", device.name},
          {"catalogue_name", catalogue_name(device.name)},
          {"compute_capability", device.compute_capability()},
          {"origin", "measured"},
          {"uuid", device.uuid},
          {"commit", commit},
          {"date", date},
          {"parameters", parameters}};
}

nlohmann::ordered_json facts_json(const Device& device, std::string_view commit, std::string_view date,
                                  std::span<const Recipe> recipes, std::span<const Estimate> estimates) {
  nlohmann::ordered_json facts;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const theory::Fact& fact = theory::fact_of(recipes[i].parameter);
    auto& entry = facts[std::string(fact.name)];
    entry = entry_of(recipes[i], estimates[i], fact.unit);
    entry["held"] = fact.value;
    entry["of"] = fact.of.empty() ? "every GPU" : fact.of;
  }
  return {{"format", 1},      {"device", device.name}, {"uuid", device.uuid},
          {"commit", commit}, {"date", date},          {"facts", facts}};
}

}  // namespace occbench
