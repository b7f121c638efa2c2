// SPDX-License-Identifier: Apache-2.0
// Kernels in a trace of the PyTorch profiler (Kineto's Chrome JSON). A trace may be larger than memory: it is
// read event by event.
#pragma once

#include <functional>
#include <vector>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// `read(buffer, size)` gives the next bytes, 0 at the end. A trace says static and dynamic shared memory as
/// one number, which stands under dynamic here. Throws std::invalid_argument with one line where it is no
/// JSON.
[[nodiscard]] std::vector<KernelUse> read_trace(const std::function<std::size_t(char*, std::size_t)>& read);

}  // namespace occbench::binary
