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
  /// instruction counted once, like the spills of `ptxas -v`. nullopt if only some addresses are constant:
  /// the stack may then hold an array as well.
  std::optional<std::uint64_t> spill_bytes;
  bool has_array = false;  ///< stack addresses are computed, also in functions
  bool barrier_id_at_run_time = false;
  /// Tensor memory of the largest allocation (tcgen05.alloc); nullopt if not constant.
  std::optional<int> tensor_columns = 0;
  int least_requested_registers = 0, most_requested_registers = 0;  ///< by setmaxnreg; 0 if unused
  bool takes_registers = false;                                     ///< setmaxnreg.inc
};

/// `code`: the 16-byte instructions of one kernel; from `own_bytes` on, those of the functions it calls.
[[nodiscard]] LocalMemory read_local_memory(Bytes code, std::size_t own_bytes);

/// Bytes moved by the loads and stores of spilled registers at these offsets in `code`, as noted by ptxas;
/// nullopt if other instructions are there. `has_short_instructions`: before cc 7.0, 8 bytes each.
[[nodiscard]] std::optional<std::uint64_t> noted_spill_bytes(Bytes code,
                                                             std::span<const std::uint32_t> offsets,
                                                             bool has_short_instructions);

}  // namespace occbench::binary
