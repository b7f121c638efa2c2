// SPDX-License-Identifier: Apache-2.0
// A device query from the catalogue, without the device: each value beside the CUDA names for it.
#pragma once

#include <ostream>
#include <string>

#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {

/// `format`: table, csv or json. An SM given by compute capability alone has rows without a value.
void print_device_query(std::ostream& out, const theory::DeviceSpec& device, const std::string& format);

}  // namespace occbench::commands
