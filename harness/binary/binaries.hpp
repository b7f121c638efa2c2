// SPDX-License-Identifier: Apache-2.0
// Reads the kernels of a cubin, fatbin, object, archive, library, program or Python extension, of a wheel,
// zip or tar file of them, or of a folder of them such as the caches of Triton and PyTorch's Inductor.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/binary/byte_source.hpp"
#include "harness/binary/compiled_kernel.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {

/// The kernels of a file or folder, and its other code.
struct Contents {
  std::vector<CompiledKernel> kernels;
  std::set<std::string> ptx;          ///< "compute_90": architectures of PTX
  bool has_link_time_code = false;    ///< for link-time optimization
  bool has_machine_code = false;      ///< also if it has no kernels
  std::vector<std::string> warnings;  ///< parts that were skipped: "'libx.so': its part for sm_90 is damaged"
  std::size_t files = 0;              ///< with kernels or PTX

  [[nodiscard]] std::size_t kernels_and_ptx() const { return kernels.size() + ptx.size(); }
};

/// Reads `path`. Throws UserError(Exit::file) if it cannot be read, is of another kind, or has no kernels,
/// PTX or warnings. A folder's files of other kinds are skipped; unreadable files and links to other
/// folders become warnings.
[[nodiscard]] Contents read_binaries(const std::filesystem::path& path);

/// Launch parameters of a cubin in Triton's cache.
struct TritonLaunch {
  std::optional<int> block_size;
  std::optional<std::size_t> dynamic_smem_bytes;

  void add_to(CompiledKernel& kernel) const {
    if (!kernel.use.block_size) kernel.use.block_size = block_size;
    if (!kernel.use.dynamic_smem_bytes) kernel.use.dynamic_smem_bytes = dynamic_smem_bytes;
  }
};

/// Checks the first bytes.
[[nodiscard]] bool is_binary(Bytes begin);
/// Throws UserError(Exit::file).
[[nodiscard]] Descriptor open_binary(const std::filesystem::path& path);
/// read_binaries() for an open file; messages call it `path`.
[[nodiscard]] Contents read_binary(Descriptor file, const std::filesystem::path& path,
                                   const TritonLaunch& launch = {});
/// Adds the content of a file; false if it is of another kind. Throws like read_binaries().
bool add_binary(Contents& contents, Descriptor file, const std::filesystem::path& path,
                const TritonLaunch& launch);

/// The PTX texts in a program or library; empty if it is of another kind or cannot be read.
[[nodiscard]] std::vector<std::string> ptx_of(const std::filesystem::path& path);

}  // namespace occbench::binary
