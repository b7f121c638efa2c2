// SPDX-License-Identifier: Apache-2.0
// How Triton launches a cubin of its cache: the JSON file beside it says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/binary/compiled_kernel.hpp"

namespace occbench::binary {

struct TritonLaunch {
  std::optional<int> block_size;
  std::optional<std::size_t> dynamic_smem_bytes;

  void add_to(CompiledKernel& kernel) const;
};

/// Of NAME.cubin by NAME.json; nothing where there is none that says so.
[[nodiscard]] TritonLaunch triton_launch(const std::string& cubin);

}  // namespace occbench::binary
