// SPDX-License-Identifier: Apache-2.0
// Tables for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench::commands {

/// Rows of cells after their header, each column as wide as its widest cell: the first aligned left, the
/// others right. On a narrow terminal the gaps shrink; if that is not enough, each row becomes a paragraph.
void print_aligned(std::ostream& out, const std::vector<csv::Row>& rows);

/// A line: `head` and words. On a terminal the words wrap, aligned after the head, or start on the next line
/// if the head leaves little room.
void print_wrapped(std::ostream& out, const std::string& words, const std::string& head = "");

/// `format`: "markdown", or aligned text.
void print_cells(std::ostream& out, const std::string& format, const std::vector<csv::Row>& rows);

}  // namespace occbench::commands
