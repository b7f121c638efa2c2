// SPDX-License-Identifier: Apache-2.0
// The quantities of CUPTI's PM sampling: one metric each, as a share of its peak.
#pragma once

#include <array>
#include <cstddef>

namespace occbench::attach {

enum Quantity : std::size_t { dram, l2, l1, tensor, fp32, issue, quantity_count };

/// A value per quantity: a share of the peak, 0 to 1; NaN if none was read.
using Shares = std::array<double, quantity_count>;

constexpr const char* quantity_column[] = {"dram", "l2", "l1", "tensor_cores", "fp32", "issue_slots"};
constexpr const char* quantity_text[] = {"DRAM",         "L2",   "L1 and shared memory",
                                         "tensor cores", "FP32", "issue slots"};
static_assert(sizeof quantity_column / sizeof *quantity_column == quantity_count &&
              sizeof quantity_text / sizeof *quantity_text == quantity_count);

}  // namespace occbench::attach
