// SPDX-License-Identifier: Apache-2.0
// How a family's descriptions of its machine code enter the program.
#pragma once

namespace occbench {

/// Adds the description of one family for one compute capability (10 x major + minor): plain text, or packed
/// with gzip. Name and text must outlive the program. Pointers, as every family has a file that includes this
/// header: a standard one would be most of its compilation.
void add_machine_code(int cc, const char* family, const char* begin, const char* end);

}  // namespace occbench
