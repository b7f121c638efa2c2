// SPDX-License-Identifier: Apache-2.0
// Kernels in a PyTorch profiler trace (Kineto's Chrome JSON). It is read event by event, since it may exceed
// memory.
#pragma once

#include <functional>
#include <vector>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// `read(buffer, size)` returns the number of bytes read, 0 at the end. A trace has static and dynamic
/// shared memory as one number, returned as dynamic. Throws std::invalid_argument with a one-line message if
/// it is not JSON.
[[nodiscard]] std::vector<KernelUse> read_trace(const std::function<std::size_t(char*, std::size_t)>& read);

}  // namespace occbench::binary
