// SPDX-License-Identifier: Apache-2.0
// Members of zip files (wheels, PyTorch's .pt2) and tar files, and the decompression of these and of gzip
// files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "harness/binary/byte_source.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {

enum class Package { none, zip, tar, gzip };

inline constexpr std::size_t package_header_bytes = 512;
/// Checks the first `package_header_bytes`.
[[nodiscard]] Package package_of(Bytes begin);

enum class Packing { none, deflate, gzip };

/// A gzip file, or a member of a package.
struct PackedMember {
  std::string name;
  ByteSource content;
  Packing packing = Packing::none;
  std::uint64_t unpacked_bytes = 0;  ///< of a zip's member, with its CRC-32
  std::uint32_t crc32 = 0;
  std::string refusal = {};  ///< why it cannot be read: "is encrypted"
};

/// Calls `visit` for each file in a zip or tar file. Returns an error if the rest cannot be read, or an empty
/// string. Throws Damaged if reading the package fails.
[[nodiscard]] std::string for_each_packed(const ByteSource& source, Package kind,
                                          const std::function<void(const PackedMember&)>& visit);

/// The first bytes of a member, at most `package_header_bytes`. Throws Damaged.
[[nodiscard]] Bytes begin_of(const PackedMember& member, Buffer& buffer);

/// A decompressed member in an unnamed file in $TMPDIR.
struct UnpackedMember {
  Descriptor file;
  std::uint64_t size = 0;

  [[nodiscard]] ByteSource source() const { return {file.get(), size}; }
};
/// Throws Damaged, also if it exceeds what `unpacking` allows.
[[nodiscard]] UnpackedMember unpack(const PackedMember& member, Unpacking& unpacking);

}  // namespace occbench::binary
