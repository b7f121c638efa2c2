// SPDX-License-Identifier: Apache-2.0
// Cubins: ELF files with the machine code and the kernel attributes of one architecture.
#pragma once

#include <string>
#include <vector>

#include "harness/binary/compiled_kernel.hpp"
#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

/// The architecture, as "sm_90a".
[[nodiscard]] std::string architecture_of(const ElfFile& cubin);

[[nodiscard]] bool is_cubin(const ElfFile& file);

/// Kernels in the order of their symbols, without `file`. Throws Damaged.
[[nodiscard]] std::vector<CompiledKernel> kernels_of(const ElfFile& cubin);

}  // namespace occbench::binary
