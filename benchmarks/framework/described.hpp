// SPDX-License-Identifier: Apache-2.0
// What experiments say of themselves, for env.json.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace occbench {

/// The named experiments (all when empty) as env.json has them: by name, what Experiment says of each.
nlohmann::json described(std::span<const std::string> names);

}  // namespace occbench
