// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/query.hpp"

#include <algorithm>
#include <stdexcept>

#include "benchmarks/framework/numbers.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

std::int64_t Field::parse(const std::string& text, const char* what) const {
  const auto is_side = [](char c) { return c == 'x' || c == 'X'; };
  if (most_sides[0] == 0 || std::ranges::none_of(text, is_side)) return parse_size(text, what, least, most);
  std::int64_t product = 1;
  std::size_t begin = 0;
  for (std::size_t side = 0; begin <= text.size(); ++side) {
    if (side == most_sides.size())
      throw std::invalid_argument(std::string(what) + " '" + text + "' has more than three sides");
    const auto end = static_cast<std::size_t>(
        std::ranges::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_side) -
        text.begin());
    product *= parse_size(text.substr(begin, end - begin), what, 1, most_sides[side]);
    begin = end + 1;
  }
  return product;
}

CalcDevice resolve_offline(const std::string& name) {
  if (name.empty()) throw std::invalid_argument("no device given; --device h200, for one");
  return {.facts = theory::find_device(name)};
}

void set_numbers(Query& query, const NumberTexts& texts) {
  for (std::size_t i = 0; i < std::size(fields); ++i)
    if (!texts[i].empty() && !(i == 0 && texts[0] == all_block_sizes))
      fields[i].set(query, fields[i].parse(texts[i], fields[i].option));
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
  if (a.occupancy.is_launchable())
    cliffs = predict_cliffs(predictor, device.facts, parameters.values, query.footprint);
  return {std::move(parameters), kernel, predictor.model().peak(), std::move(cliffs)};
}

}  // namespace occbench::commands
