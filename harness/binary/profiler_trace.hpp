// SPDX-License-Identifier: Apache-2.0
// Kernels in Chrome traces: of PyTorch (Kineto) and of JAX and TensorFlow (XLA). A trace is read event by
// event, since it may exceed memory.
#pragma once

#include <functional>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// `read(buffer, size)` returns the number of bytes read, 0 at the end. PyTorch has static and dynamic shared
/// memory as one number, returned as dynamic. `source` of the answer names the profiler; `left_out` counts
/// kernels without registers. Throws std::invalid_argument with a one-line message if it is not JSON, or the
/// trace of a GPU or profiler that gives no registers.
[[nodiscard]] KernelUses read_trace(const std::function<std::size_t(char*, std::size_t)>& read);

}  // namespace occbench::binary
