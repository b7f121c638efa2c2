// SPDX-License-Identifier: Apache-2.0
// How a family's descriptions of its machine code enter the program.
#pragma once

namespace occbench {

/// Adds the description of one family for one compute capability (10 x major + minor). Both texts must stay.
void add_machine_code(int cc, const char* family, const char* text);

}  // namespace occbench
