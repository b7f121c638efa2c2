// SPDX-License-Identifier: Apache-2.0
// Launch parameters of a cubin in Triton's cache, from the JSON file next to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/binary/compiled_kernel.hpp"

namespace occbench::binary {

struct TritonLaunch {
  std::optional<int> block_size;
  std::optional<std::size_t> dynamic_smem_bytes;

  void add_to(CompiledKernel& kernel) const {
    if (!kernel.use.block_size) kernel.use.block_size = block_size;
    if (!kernel.use.dynamic_smem_bytes) kernel.use.dynamic_smem_bytes = dynamic_smem_bytes;
  }
};

/// Reads NAME.json for NAME.cubin; both values are empty without it.
[[nodiscard]] TritonLaunch triton_launch(const std::string& cubin);

}  // namespace occbench::binary
