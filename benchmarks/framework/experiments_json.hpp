// SPDX-License-Identifier: Apache-2.0
// What readers of a run need to know of its experiments, for env.json.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace occbench {

/// The named experiments (all when empty) as in env.json: by name, the fields of Experiment.
nlohmann::json experiments_json(std::span<const std::string> names);

}  // namespace occbench
