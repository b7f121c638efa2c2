// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc_query.hpp"

#include "benchmarks/commands/numbers.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

Answer answer(const CalcDevice& device, const Query& query) {
  const theory::SmLimits& sm = device.facts.sm;
  Answer a{theory::occupancy(sm, query.footprint), "ok"};
  if (a.occupancy.launchable() && query.cluster_size > 1 && sm.cc_major < 9) {
    a.occupancy.blocks_per_sm = a.occupancy.warps_per_sm = 0;
    a.occupancy.fraction = 0;
    a.occupancy.limiters = theory::Limiter::none;
    a.occupancy.unlaunchable = "clusters need compute capability 9.0 or newer";
  }
  if (!a.occupancy.launchable()) a.status = "cannot launch: " + a.occupancy.unlaunchable;
  if (!a.occupancy.launchable() || query.cluster_size == 1) return a;
  const std::string clusters = "clusters of " + std::to_string(query.cluster_size);
  if (device.active_clusters) a.active_clusters = device.active_clusters(query.footprint, query.cluster_size);
  if (!a.active_clusters) {
    a.status = "ok per SM; how many " + clusters + " fit, only a device that is here can say" +
               (device.active_clusters ? ", and it refuses" : ": name it by its index");
  } else if (*a.active_clusters == 0) {
    a.status = "cannot launch: not one of the " + clusters + " fits the device";
  } else {
    const int blocks = *a.active_clusters * query.cluster_size;
    a.status = "ok; the device holds " + std::to_string(*a.active_clusters) + " " + clusters +
               " at once: " + std::to_string(blocks) + " blocks, of " +
               std::to_string(a.occupancy.blocks_per_sm * sm.sm_count) + " without clusters";
  }
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
