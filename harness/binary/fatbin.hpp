// SPDX-License-Identifier: Apache-2.0
// NVIDIA's containers of code for several architectures, packed or not: what nvcc puts into .nv_fatbin, and a
// .fatbin file.
#pragma once

#include <functional>
#include <string>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

/// One entry of a container.
struct FatbinPart {
  enum class Kind { cubin, ptx, other };
  Kind kind = Kind::other;
  std::string architecture;  ///< "sm_90", of PTX "compute_90"
  Bytes content;             ///< of a cubin or, if asked for, of PTX, unpacked; it lasts as long as the call
  std::string damage;        ///< why a cubin has no content: "is packed in a way that is not known"
};

[[nodiscard]] bool is_fatbin(Bytes bytes);

/// Visits each part of all containers that follow one another in `bytes`, with gaps of zeros. Returns why the
/// rest could not be read; empty at the end.
[[nodiscard]] std::string for_each_part(Bytes bytes, const std::function<void(const FatbinPart&)>& visit,
                                        bool with_ptx = false);

}  // namespace occbench::binary
