// SPDX-License-Identifier: Apache-2.0
// Which parameters a prediction needs.
#pragma once

#include <string_view>

#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// The first unknown (0) parameter that this program needs, or "". All other parameters are refinements, and
/// 0 disables them.
std::string_view missing_parameter(const Parameters& parameters, const Program& program);

}  // namespace occbench::theory
