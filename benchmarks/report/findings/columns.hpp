// SPDX-License-Identifier: Apache-2.0
// What results/schema.json declares of the columns of cases.csv, as far as findings use it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace occbench::findings {

struct ColumnFacts {
  std::string name = {};
  std::string role = {};   ///< empty: no dial, and nothing that tells curves apart
  std::string words = {};  ///< words for its value; {}: the value
  int split_order = 0;     ///< place in requested_columns()
  bool is_text_column = false;
  bool is_compiled = false;   ///< another value is another kernel
  bool is_of_kernel = false;  ///< compiled into it, or what a width or count of its own decides
};

/// The facts of a column; nullptr of one that no schema has.
const ColumnFacts* facts_of(std::string_view column);

/// True of the columns of cases.csv that hold words.
bool is_text_column(std::string_view column);

/// The names of the columns of these roles: `first`, those of the schema in its order, `last`.
std::vector<std::string> columns_of(std::initializer_list<std::string_view> roles,
                                    std::vector<std::string> first = {},
                                    const std::vector<std::string>& last = {});

/// Columns that are asked of a kernel or compiled into it, in the order in which they split rows that share a
/// value of the dial.
const std::vector<std::string>& requested_columns();

}  // namespace occbench::findings
