// SPDX-License-Identifier: Apache-2.0
// Sweeps of a run: rows that differ in one dial and its consequences.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/report/findings/rows.hpp"

namespace occbench::findings {

/// Rows in the order of the dial, whose values are all different; at least three.
struct Sweep {
  std::string experiment = {};
  std::string family = {};
  std::string kernel =
      {};  ///< the variant, or what its variants have in common: the curve, the form, the family
  std::string name = {};  ///< what the sweep holds fixed, unique in its experiment and dial
  std::string dial = {};
  RowIndices places = {};
};

/// Every sweep, by experiment, family and dial. Dials that the rows do not have count as empty.
std::vector<Sweep> find_sweeps(const Rows& rows);

/// The dials along which sweeps are searched, in this order: each row is in one sweep of a dial.
const std::vector<std::string>& swept_dials();

}  // namespace occbench::findings
