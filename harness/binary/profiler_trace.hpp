// SPDX-License-Identifier: Apache-2.0
// Kernels in Chrome traces of PyTorch (Kineto), JAX and TensorFlow (XLA). A trace is read event by event, as
// it may exceed memory.
#pragma once

#include <functional>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// `read(buffer, size)` returns the number of bytes read, 0 at the end. PyTorch reports static plus dynamic
/// shared memory, returned as dynamic. The result's `source` names the profiler; `left_out` counts kernels
/// without registers. Throws std::invalid_argument with a one-line message if it is not JSON, or comes from a
/// GPU or profiler without register counts.
[[nodiscard]] KernelUses read_trace(const std::function<std::size_t(char*, std::size_t)>& read);

}  // namespace occbench::binary
