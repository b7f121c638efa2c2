// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/own.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "benchmarks/report/findings/own/view.hpp"

namespace occbench::findings {

namespace {

struct Own {
  std::string_view experiment;
  Sentences (*clauses)(const View&);
};
constexpr std::array<Own, 13> own_experiments{{
    {"barriers", barriers},  // the cost of barriers with uneven work; a barrier id known at run time
    {"block_size_pick", block_size_pick},  // how near the occupancy API's block size comes to the best
    {"clusters", clusters},                // distributed shared memory beside a block's own; idle SMs
    {"divergence", divergence},            // 1 and 16 lanes that branch away; the boundary of an image
    {"energy", energy},                    // the warps of least energy, unless the device idled
    {"intensity", intensity},              // warps that reach one share of the roof, by FMAs per load
    {"pointer_chase", pointer_chase},      // cycles of a load from L1, L2 and DRAM; under load
    {"registers", registers},              // 31 against 33 registers in blocks of 512
    {"same_occupancy", same_occupancy},    // ballast, block size or registers at one occupancy
    {"shared_latency", shared_latency},    // bank conflicts; cycles of a load
    {"smem_spilling", smem_spilling},      // spills to shared memory against spills to local memory
    {"warp_roles", warp_roles},            // splits that spill, and those that do not
    {"waves", waves},                      // a partial wave; the turnover from block to block
}};

}  // namespace

std::vector<SpecificFinding> specific_findings(const Rows& rows, const RowIndices& places,
                                               const std::string& experiment,
                                               const nlohmann::json& environment) {
  const auto* const own = std::ranges::find(own_experiments, experiment, &Own::experiment);
  if (own == own_experiments.end()) return {};
  return own->clauses({rows, places, environment});
}

std::vector<double> baseline_values(const Rows& rows, const RowIndices& places,
                                    const std::function<double(std::size_t)>& value) {
  using Key = std::tuple<std::string, std::string, double>;
  std::map<Key, double> least;
  for (const std::size_t p : places) {
    const double number = value(p);
    if (std::isnan(number)) continue;
    const auto [at, is_new] = least.emplace(
        Key{rows.text(p, "family"), rows.text(p, "variant"), rows.number(p, "warps_per_sm")}, number);
    if (!is_new) at->second = std::min(at->second, number);
  }
  std::vector<double> found;
  for (const std::size_t p : places) {
    const auto at =
        least.find({rows.text(p, "family"), rows.text(p, "baseline"), rows.number(p, "warps_per_sm")});
    found.push_back(at == least.end() || rows.text(p, "baseline").empty() ? no_value : at->second);
  }
  return found;
}

std::string preset_hint(const nlohmann::json& environment) {
  return environment.value("preset", nlohmann::json()) == nlohmann::json("quick")
             ? " (preset standard has them)"
             : "";
}

}  // namespace occbench::findings
