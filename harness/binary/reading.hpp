// SPDX-License-Identifier: Apache-2.0
// What people have of their kernels, recognised by its content.
#pragma once

#include <string>

#include "harness/binary/kernel_use.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {

/// Kernels in the output of `ptxas -v` or `cuobjdump -res-usage`, in `ncu --csv`, an .ncu-rep or a trace of
/// the PyTorch profiler, packed with gzip or not. `path` is "-" for what is piped in, and `source` names it
/// in messages. Throws UserError: Exit::file where it is none of these or holds no kernel,
/// Exit::tool_missing where only ncu can read it and is not here.
[[nodiscard]] KernelUses read_kernels(Descriptor file, const std::string& path, const std::string& source);

/// What ncu printed of launches, with the parts of each metric where it printed them: `ncu --csv`, or an
/// .ncu-rep, which ncu reads. Throws as above.
[[nodiscard]] std::string ncu_text(Descriptor file, const std::string& path, const std::string& source);

}  // namespace occbench::binary
