// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc_query.hpp"

#include "benchmarks/commands/numbers.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

void set_numbers(Query& query, const NumberTexts& texts) {
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (!texts[i].empty() && !(i == 0 && texts[0] == all_block_sizes))
      fields[i].set(query, parse_size(texts[i], fields[i].option, fields[i].least, fields[i].most));
}

namespace {

/// How many clusters fit, as a status; asks the device.
std::string cluster_status(const CalcDevice& device, const Query& query, Answer& a) {
  const std::string clusters = "clusters of " + std::to_string(query.cluster_size);
  if (device.active_clusters) a.active_clusters = device.active_clusters(query.footprint, query.cluster_size);
  if (!a.active_clusters)
    return "ok per SM; how many " + clusters + " fit, only a device that is here can say" +
           (device.active_clusters ? ", and it refuses" : ": name it by its index");
  if (*a.active_clusters == 0) return "cannot launch: not one of the " + clusters + " fits the device";
  return "ok; the device holds " + std::to_string(*a.active_clusters) + " " + clusters +
         " at once: " + std::to_string(*a.active_clusters * query.cluster_size) + " blocks, of " +
         std::to_string(a.occupancy.blocks_per_sm * device.facts.sm.sm_count) + " without clusters";
}

}  // namespace

Answer answer(const CalcDevice& device, const Query& query) {
  const theory::SmLimits& sm = device.facts.sm;
  Answer a{theory::occupancy(sm, query.footprint), "ok"};
  if (a.occupancy.launchable() && query.cluster_size > 1 && sm.cc_major < 9) {
    a.occupancy.blocks_per_sm = a.occupancy.warps_per_sm = 0;
    a.occupancy.fraction = 0;
    a.occupancy.limiters = theory::Limiter::none;
    a.occupancy.unlaunchable = "clusters need compute capability 9.0 or newer";
  }
  if (!a.occupancy.launchable()) {
    a.status = "cannot launch: " + a.occupancy.unlaunchable;
    return a;
  }
  if (query.cluster_size > 1) a.status = cluster_status(device, query, a);
  if (a.launches() && !query.has_run && theory::needs_opt_in(sm, query.footprint))
    a.status += "; first cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, " +
                std::to_string(query.footprint.dynamic_smem_bytes) + "), or the launch fails";
  return a;
}

std::array<std::string, std::size(answer_columns)> cells(const Answer& a) {
  const theory::Occupancy& o = a.occupancy;
  return {std::to_string(o.blocks_per_sm), std::to_string(o.warps_per_sm), shortest(o.fraction),
          theory::to_string(o.limiters), a.status};
}

std::array<std::pair<const char*, std::int64_t>, std::size(fields)> numbers(const Query& query) {
  const theory::Footprint& f = query.footprint;
  const std::int64_t values[] = {f.block_size,
                                 f.registers_per_thread,
                                 static_cast<std::int64_t>(f.static_smem_bytes),
                                 static_cast<std::int64_t>(f.dynamic_smem_bytes),
                                 f.barriers,
                                 query.cluster_size,
                                 f.carveout_percent,
                                 f.max_block_size};
  std::array<std::pair<const char*, std::int64_t>, std::size(fields)> named;
  for (std::size_t i = 0; i < named.size(); ++i) named[i] = {fields[i].column, values[i]};
  return named;
}

Predicted predicted(const CalcDevice& device, const Query& query, const Answer& a, const ClassWords& words,
                    const std::string& file) {
  const theory::KernelClass kernel = words.read(true);
  if (query.cluster_size > 1)
    throw UserError(Exit::usage, "--predict knows no clusters; leave --cluster-size away");
  ParameterFile parameters = parameters_for(device.facts.name, file);
  Forecaster forecaster(kernel, device.facts, parameters.values);
  std::optional<Payoff> result;
  if (a.occupancy.launchable()) result = payoff(forecaster, device.facts, parameters.values, query.footprint);
  return {std::move(parameters), kernel, forecaster.model().peak(), std::move(result)};
}

PredictedCells predicted_cells(const theory::KernelClass& kernel,
                               const std::optional<theory::ClassModel::Outcome>& outcome) {
  const std::string kind(theory::to_string(kernel.kind));
  if (!outcome) return {kind, "", ""};
  return {kind, shortest(100 * outcome->share_of_peak), std::string(theory::to_string(outcome->bound))};
}

}  // namespace occbench::commands
