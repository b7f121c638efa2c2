// SPDX-License-Identifier: Apache-2.0
// What results/schema.json declares of the columns of cases.csv, as far as findings go by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench::findings {

struct ColumnFacts {
  std::string name = {};
  std::string role = {};   ///< empty: no dial, and nothing that tells curves apart
  std::string words = {};  ///< how its value is said; {}: the value
  bool holds_words = false;
  bool is_of_kernel = false;  ///< compiled into it, or what a width or count of its own decides
};

/// The facts of a column; nullptr of one that no schema has.
const ColumnFacts* facts_of(std::string_view column);

/// True of the columns of cases.csv that hold words.
bool holds_words(std::string_view column);

/// What is asked of a kernel, or compiled into it, in the order in which rows that share a value of the dial
/// are told apart by it.
const std::vector<std::string>& asked_columns();

}  // namespace occbench::findings
