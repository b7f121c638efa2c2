// SPDX-License-Identifier: Apache-2.0
// Register spills and run-time barrier ids in machine code. The few relevant instruction encodings are the
// same from cc 7.0 to 12.1; a test compares them with nvdisasm's listing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

struct LocalMemory {
  /// Bytes of STL and LDL at constant offsets from the stack pointer in the kernel's own code, each
  /// instruction counted once: spills as `ptxas -v` counts them. nullopt if some addresses are computed and
  /// others are not: the stack may then hold an array as well.
  std::optional<std::uint64_t> spill_bytes;
  bool has_array = false;  ///< addresses on the stack are computed, also in functions
  bool barrier_id_at_run_time = false;
  /// Of tensor memory, in the largest allocation (tcgen05.alloc); nullopt if a number is not constant.
  std::optional<int> tensor_columns = 0;
  int least_requested_registers = 0, most_requested_registers = 0;  ///< of setmaxnreg; 0 if it is not used
  bool takes_registers = false;                                     ///< setmaxnreg.inc
};

/// `code`: the 16-byte instructions of one kernel, and from `own_bytes` on of the functions that it calls.
[[nodiscard]] LocalMemory read_local_memory(Bytes code, std::size_t own_bytes);

/// Bytes that the loads and stores of spilled registers move, at these offsets in `code`, which ptxas noted;
/// nullopt if there are other instructions. `has_short_instructions`: before cc 7.0, of 8 bytes.
[[nodiscard]] std::optional<std::uint64_t> noted_spill_bytes(Bytes code,
                                                             std::span<const std::uint32_t> offsets,
                                                             bool has_short_instructions);

}  // namespace occbench::binary
