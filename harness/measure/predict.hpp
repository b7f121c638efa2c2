// SPDX-License-Identifier: Apache-2.0
// From a planned case to its prediction, by machine code, parameters and launch shape.
#pragma once

#include <span>
#include <vector>

#include "harness/measure/plan.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench {

/// The prediction of each case, on all cores; knows no measurement. All cases are valid. `drawn`: further
/// sets of parameters, whose predictions give a band. Empty: no band.
std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters,
                              std::span<const theory::Parameters> drawn = {});

}  // namespace occbench
