// SPDX-License-Identifier: Apache-2.0
// Which parameters a prediction needs.
#pragma once

#include <string_view>

#include "harness/theory/parameters.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

/// The first parameter without which nothing can be said of this program and that is not known (0), by its
/// name; empty if there is none. What is not asked for here is a refinement, whose 0 means 'none of it'.
std::string_view lacking(const Parameters& parameters, const Program& program);

}  // namespace occbench::theory
