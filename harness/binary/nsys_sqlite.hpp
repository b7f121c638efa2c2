// SPDX-License-Identifier: Apache-2.0
// Launches in what `nsys export --type sqlite` writes: exact bytes, the grid and the device.
#pragma once

#include "harness/binary/byte_source.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// Throws Damaged if the file is no database or has no table of nsys. `left_out` counts launches without
/// registers.
[[nodiscard]] KernelUses read_nsys_sqlite(const ByteSource& source);

}  // namespace occbench::binary
