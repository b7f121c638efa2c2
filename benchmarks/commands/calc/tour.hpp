// SPDX-License-Identifier: Apache-2.0
// `occbench calc --tour`: the course text's occupancy examples beside what the hardware allocates.
#pragma once

#include <ostream>

namespace occbench::commands {

void print_tour(std::ostream& out);

}  // namespace occbench::commands
