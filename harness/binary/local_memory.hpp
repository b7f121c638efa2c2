// SPDX-License-Identifier: Apache-2.0
// What machine code does with its stack, and with named barriers. The few instructions that say so are read
// from their encoding: it is the same from cc 7.0 to 12.1, and a test holds it against nvdisasm's listing.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

struct LocalMemory {
  /// Bytes that a thread's STL and LDL at constant offsets from the stack pointer move, each instruction
  /// once: spilled registers, as `ptxas -v` counts them. nullopt where the stack's address is computed with:
  /// then an array lies there as well.
  std::optional<std::uint64_t> spill_bytes;
  bool barrier_id_at_run_time = false;
};

/// `code` is that of one kernel, of 16-byte instructions.
[[nodiscard]] LocalMemory read_local_memory(Bytes code);

}  // namespace occbench::binary
