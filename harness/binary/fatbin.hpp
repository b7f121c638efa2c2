// SPDX-License-Identifier: Apache-2.0
// Fatbins: containers of possibly compressed code for several architectures, in section .nv_fatbin or a
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
  Bytes content;             ///< decompressed cubin or, if requested, PTX; valid during the call only
  std::string damage;        ///< why a cubin has no content
};

/// Checks the first bytes.
[[nodiscard]] bool is_fatbin(Bytes begin);

/// Visits each part of the successive containers in `source`, which may have zeros between them. Returns an
/// error if the rest cannot be read, or an empty string. Throws Damaged if reading the file fails.
[[nodiscard]] std::string for_each_part(const ByteSource& source, Unpacking& unpacking,
                                        const std::function<void(const FatbinPart&)>& visit,
                                        bool with_ptx = false);

}  // namespace occbench::binary
