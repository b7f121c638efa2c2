// SPDX-License-Identifier: Apache-2.0
// Reads kernels from files whose type is detected by content.
#pragma once

#include <string>

#include "harness/binary/kernel_use.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {

/// Reads kernels from output of compilers and profilers (docs/reading.md lists the forms), also
/// gzip-compressed. The result's `source` names the form. `path` is "-" for stdin; `source` names the file in
/// messages. Throws UserError: Exit::file if the form is unknown or there is no kernel, Exit::tool_missing if
/// it needs ncu, which is not installed.
[[nodiscard]] KernelUses read_kernels(Descriptor file, const std::string& path, const std::string& source);

/// The ncu output of `ncu --csv` or an .ncu-rep, including metric instances if available. Throws as above.
[[nodiscard]] std::string ncu_text(Descriptor file, const std::string& path, const std::string& source);

}  // namespace occbench::binary
