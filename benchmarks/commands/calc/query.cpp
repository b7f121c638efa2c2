// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/query.hpp"

#include "benchmarks/framework/numbers.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

void set_numbers(Query& query, const NumberTexts& texts) {
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (!texts[i].empty() && !(i == 0 && texts[0] == all_block_sizes))
      fields[i].set(query, parse_size(texts[i], fields[i].option, fields[i].least, fields[i].most));
}

Answer answer(const CalcDevice& device, const Query& query) {
  return theory::answer(device.facts.sm, query, device.active_clusters);
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
