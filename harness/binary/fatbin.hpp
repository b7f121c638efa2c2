// SPDX-License-Identifier: Apache-2.0
// NVIDIA's containers of code for several architectures, packed or not: what nvcc puts into .nv_fatbin, and a
// .fatbin file.
#pragma once

#include <functional>
#include <string>

#include "harness/binary/byte_source.hpp"

namespace occbench::binary {

/// One entry of a container.
struct FatbinPart {
  enum class Kind { cubin, ptx, other };
  Kind kind = Kind::other;
  std::string architecture;  ///< "sm_90", of PTX "compute_90"
  Bytes content;             ///< of a cubin or, if asked for, of PTX, unpacked; it lasts as long as the call
  std::string damage;        ///< why a cubin has no content: "is packed in a way that is not known"
};

/// By the first bytes of it.
[[nodiscard]] bool is_fatbin(Bytes begin);

/// What the parts of one file may unpack to, together. Libraries unpack to 3 to 10 times their size.
struct Unpacking {
  explicit Unpacking(std::uint64_t file_bytes) : bytes_left((std::uint64_t{64} << 20) + 100 * file_bytes) {}
  std::uint64_t bytes_left;
};

/// Visits each part of all containers that follow one another in `source`, with gaps of zeros. Returns why
/// the rest could not be read; empty at the end. Throws Damaged where a file cannot be read any more.
[[nodiscard]] std::string for_each_part(const ByteSource& source, Unpacking& unpacking,
                                        const std::function<void(const FatbinPart&)>& visit,
                                        bool with_ptx = false);

}  // namespace occbench::binary
