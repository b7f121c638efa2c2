// SPDX-License-Identifier: Apache-2.0
// `--device list` of every command that takes the name of a card.
#pragma once

#include <ostream>

namespace occbench::commands {

/// The cards of the catalogue, oldest first.
void print_cards(std::ostream& out);

}  // namespace occbench::commands
