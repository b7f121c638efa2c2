// SPDX-License-Identifier: Apache-2.0
// How a family's descriptions of its machine code enter the program.
#pragma once

#include <string_view>

namespace occbench {

/// Adds the description of one family for one compute capability (10 x major + minor): plain text, or packed
/// with gzip. Both must outlive the program.
void add_machine_code(int cc, const char* family, std::string_view description);

}  // namespace occbench
