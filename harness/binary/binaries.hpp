// SPDX-License-Identifier: Apache-2.0
// Kernels of whatever people have as a file: cubin, fatbin, object, archive, library, program, Python
// extension, or a folder of them, as Triton and PyTorch's Inductor keep.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/binary/compiled_kernel.hpp"

namespace occbench::binary {

/// What lies in a file or folder beside its kernels.
struct Contents {
  std::vector<CompiledKernel> kernels;
  std::set<std::string> ptx;            ///< "compute_90": code that is compiled when it is loaded
  bool has_link_time_code = false;      ///< intermediate code for a device linker
  bool has_machine_code = false;        ///< with kernels or without: libraries keep some of either
  std::vector<std::string> complaints;  ///< "'libx.so': its part for sm_90 is damaged": the rest was read
  std::size_t files = 0;                ///< with kernels or PTX
};

/// Reads `path`. Throws UserError(Exit::file) where it cannot be read at all, is none of these, or has
/// neither kernels nor PTX nor complaints. Of a folder, files of other kinds are passed over; what cannot be
/// read, or is a link to a folder elsewhere, is complained of.
[[nodiscard]] Contents read_binaries(const std::filesystem::path& path);

/// The texts of the PTX in a program or library; none where it is something else, or cannot be read.
[[nodiscard]] std::vector<std::string> ptx_of(const std::filesystem::path& path);

}  // namespace occbench::binary
