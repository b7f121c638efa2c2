// SPDX-License-Identifier: Apache-2.0
// A kernel read from machine code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/binary/kernel_use.hpp"
#include "harness/binary/source_lines.hpp"

namespace occbench::binary {

struct CompiledKernel {
  /// Mangled name, cc and footprint. The block size if it is fixed (`__block_size__`, Triton); dynamic shared
  /// memory if a file next to the cubin has it (Triton).
  KernelUse use;
  std::string file;                 ///< with the member of an archive: "libx.a(y.o)"
  std::string architecture;         ///< "sm_90a"
  std::optional<int> launch_bound;  ///< largest block size (`__launch_bounds__`)
  PtxRequests ptx_requests;         ///< known with -lineinfo
  std::optional<bool> has_local_array;
  std::map<int, std::uint64_t>
      constant_bytes;  ///< by bank: 0 parameters, 2 compiler constants, 3 __constant__ of the module
  std::uint64_t code_bytes = 0;
  bool barrier_id_at_run_time = false;
  /// Least and most registers per thread requested by setmaxnreg; 0 if unused.
  int least_requested_registers = 0, most_requested_registers = 0;
  bool takes_registers = false;       ///< by setmaxnreg.inc, from warps that release theirs
  int virtual_resources = 0;          ///< per block, of an SM's; noted by ptxas with tcgen05.alloc
  std::optional<int> tensor_columns;  ///< tensor memory of the largest allocation; nullopt if not constant
  /// With -lineinfo: the kernel's first line, and its line with the most spilled bytes.
  std::optional<SourceLine> first_line, spill_line;
  /// False before device linking: shared memory and stack are not final.
  bool is_linked = true;
};

}  // namespace occbench::binary
