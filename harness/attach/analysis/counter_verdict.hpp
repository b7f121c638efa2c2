// SPDX-License-Identifier: Apache-2.0
// Judges a kernel by hardware counters: which unit it waits for.
#pragma once

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/analysis/verdict.hpp"

namespace occbench::attach {

/// The verdict of a kernel that no arm judges; of another, whether counters agree with its arms.
void add_counters(const Counted& counted, Verdict& verdict);

}  // namespace occbench::attach
