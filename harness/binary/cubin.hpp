// SPDX-License-Identifier: Apache-2.0
// NVIDIA's ELF files: one architecture's machine code, and what its compiler noted of each kernel.
#pragma once

#include <string>
#include <vector>

#include "harness/binary/compiled_kernel.hpp"
#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

/// "sm_90a" of a cubin.
[[nodiscard]] std::string architecture_of(const ElfFile& cubin);

[[nodiscard]] bool is_cubin(const ElfFile& file);

/// In the order of its symbols; without `file`. Throws Damaged.
[[nodiscard]] std::vector<CompiledKernel> kernels_of(const ElfFile& cubin);

}  // namespace occbench::binary
