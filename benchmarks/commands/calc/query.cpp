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

ClassPrediction predict_class(const CalcDevice& device, const Query& query, const Answer& a,
                              const KernelClassText& text, const std::string& file) {
  const theory::KernelClass kernel = text.read(true);
  if (query.cluster_size > 1)
    throw UserError(Exit::usage, "--predict does not support clusters; omit --cluster-size");
  ParameterFile parameters = parameters_for(device.facts.name, file);
  ClassPredictor predictor(kernel, device.facts, parameters.values);
  std::optional<CliffPredictions> cliffs;
  if (a.occupancy.launchable())
    cliffs = predict_cliffs(predictor, device.facts, parameters.values, query.footprint);
  return {std::move(parameters), kernel, predictor.model().peak(), std::move(cliffs)};
}

}  // namespace occbench::commands
