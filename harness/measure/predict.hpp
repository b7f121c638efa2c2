// SPDX-License-Identifier: Apache-2.0
// Predicts planned cases from machine code, parameters and launch shape.
#pragma once

#include <span>
#include <vector>

#include "harness/measure/plan.hpp"
#include "harness/theory/parameters.hpp"

namespace occbench {

/// Predicts each case, on all cores, without measurements. All cases are valid. Predictions with the
/// further `parameter_samples` give a band; empty: no band.
std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters,
                              std::span<const theory::Parameters> parameter_samples = {});

}  // namespace occbench
