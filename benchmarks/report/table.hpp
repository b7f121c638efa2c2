// SPDX-License-Identifier: Apache-2.0
// Tables for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::commands {

/// Rows of cells behind their header, each column as wide as its widest cell: the first flush left, the
/// others right. On a terminal that is too narrow for it the columns move together; where that is not enough,
/// a paragraph for each row instead.
void print_aligned(std::ostream& out, const std::vector<csv::Row>& rows);

/// A line: `head` and words. On a terminal the words are broken where it ends, and go on below where they
/// began; behind a head that leaves them little room they begin on a line of their own.
void print_wrapped(std::ostream& out, const std::string& words, const std::string& head = "");

/// Rows of cells as a table of text or, of the format markdown, of Markdown.
void print_cells(std::ostream& out, const std::string& format, const std::vector<csv::Row>& rows);

}  // namespace occbench::commands
