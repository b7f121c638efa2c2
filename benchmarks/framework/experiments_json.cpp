// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/experiments_json.hpp"

#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

nlohmann::json experiments_json(std::span<const std::string> names) {
  constexpr std::string_view scales[] = {"rate", "best", "ceiling", "cycles"};
  nlohmann::json all = nlohmann::json::object();
  for (const Experiment& e : experiments()) {
    if (!names.empty() && std::ranges::find(names, e.name) == names.end()) continue;
    all[e.name] = {
        {"question", e.question},
        {"dial", e.dial},
        {"split_by", e.split_by},
        {"scale", scales[static_cast<std::size_t>(e.scale)]},
        {"compares_kernels", e.compares_kernels},
        {"user_kernels", e.user_kernels},
        {"outside_model", e.outside_model.empty() ? nlohmann::json() : nlohmann::json(e.outside_model)}};
  }
  return all;
}

}  // namespace occbench
