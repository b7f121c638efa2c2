// SPDX-License-Identifier: Apache-2.0
// A kernel as its machine code has it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

struct CompiledKernel {
  /// Mangled name, cc and footprint. A block size where the kernel has but one (`__block_size__`, Triton);
  /// dynamic shared memory where a file beside it says so (Triton).
  KernelUse use;
  std::string file;                 ///< and its member, of an archive: "libx.a(y.o)"
  std::string architecture;         ///< "sm_90a"
  std::optional<int> launch_bound;  ///< largest block that it was compiled for (`__launch_bounds__`)
  std::optional<bool> has_local_array;
  std::map<int, std::uint64_t> constant_bytes;  ///< by bank: 0 has the parameters, 2 its own, 3 the module's
  std::uint64_t code_bytes = 0;
  bool barrier_id_at_run_time = false;
  /// Compiled for a device linker, which has not run: shared memory and the stack are not known yet.
  bool is_linked = true;
};

}  // namespace occbench::binary
