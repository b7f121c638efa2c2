// SPDX-License-Identifier: Apache-2.0
// Which parameters a prediction needs.
#pragma once

#include <string_view>

#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// Name of the first parameter that this program needs and that is unknown (0); empty if none is missing.
/// All other parameters are refinements, and 0 switches them off.
std::string_view missing_parameter(const Parameters& parameters, const Program& program);

}  // namespace occbench::theory
