// SPDX-License-Identifier: Apache-2.0
// From a planned case to its prediction: machine code, parameters and launch shape put before the model.
#pragma once

#include <span>
#include <vector>

#include "harness/measure/plan.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench {

/// Case by case, on all cores; each case is one that can be launched. Knows no measurement. `drawn`: sets of
/// parameters, each of which makes a prediction of its own; a band goes over them. Empty: no band.
std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters,
                              std::span<const theory::Parameters> drawn = {});

}  // namespace occbench
