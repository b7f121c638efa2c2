// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/fatbin.hpp"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {
namespace {

constexpr std::uint32_t magic = 0xba55ed50;

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // of the parts
};

struct PartHeader {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  // after the header
  std::uint32_t packed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, unused, unpacked_bytes;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(PartHeader) == 64);

constexpr std::uint16_t ptx = 1, cubin = 2;
constexpr std::uint64_t lz4_packed = 0x2000, zstd_packed = 0x8000;
constexpr std::uint64_t accelerated = 0x100000, of_family = 0x200000;  // the "a" and "f" of sm_100a, sm_100f
/// Bounds the allocation for a forged length. Every part of cuBLASLt, cuDNN and cuSPARSE is smaller.
constexpr std::uint64_t max_unpacked = std::uint64_t{512} << 20;

struct Unpacked {
  Bytes content;
  std::string damage;  ///< why there is no content
};

Unpacked unpack(const PartHeader& header, Bytes from, Buffer& buffer) {
  const auto size = static_cast<std::size_t>(header.unpacked_bytes);
  const char* const damaged = "is damaged: it cannot be unpacked";
  if ((header.flags & lz4_packed) != 0) {
    constexpr std::size_t max_ratio = 255;
    if (size / max_ratio > from.size() || from.size() > std::numeric_limits<int>::max())
      return {{}, "has an impossible length"};
    const std::span<std::byte> bytes = buffer.get(size);
    const int got =
        LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(bytes.data()),
                            static_cast<int>(from.size()), static_cast<int>(size));
    if (got < 0 || static_cast<std::size_t>(got) != size) return {{}, damaged};
    return {bytes, ""};
  }
  if (ZSTD_getFrameContentSize(from.data(), from.size()) != size) return {{}, damaged};
  const std::span<std::byte> bytes = buffer.get(size);
  const std::size_t got = ZSTD_decompress(bytes.data(), size, from.data(), from.size());
  if (ZSTD_getErrorCode(got) == ZSTD_error_srcSize_wrong)
    return {{}, "is cut off, or is damaged: it cannot be unpacked"};
  if (ZSTD_isError(got) != 0 || got != size) return {{}, damaged};
  return {bytes, ""};
}

/// Reads a container's parts, reusing its buffers.
class PartReader {
 public:
  PartReader(Unpacking& unpacking, bool with_ptx) : unpacking_(unpacking), with_ptx_(with_ptx) {}

  void visit(const PartHeader& header, const ByteSource& content,
             const std::function<void(const FatbinPart&)>& visit) {
    FatbinPart part;
    part.kind = header.kind == cubin ? FatbinPart::Kind::cubin
                : header.kind == ptx ? FatbinPart::Kind::ptx
                                     : FatbinPart::Kind::other;
    part.architecture = (header.kind == ptx ? "compute_" : "sm_") + std::to_string(header.architecture) +
                        ((header.flags & accelerated) != 0 ? "a"
                         : (header.flags & of_family) != 0 ? "f"
                                                           : "");
    const bool is_cubin = part.kind == FatbinPart::Kind::cubin;
    if (is_cubin || (with_ptx_ && part.kind == FatbinPart::Kind::ptx)) {
      auto [bytes, damage] = content_of(header, content);
      part.damage = std::move(damage);
      if (part.damage.empty() && is_cubin && !is_elf(bytes))
        part.damage = "is encrypted, or packed in a way that is not known";
      if (part.damage.empty()) part.content = bytes;
    }
    visit(part);
  }

 private:
  Unpacked content_of(const PartHeader& header, const ByteSource& content) {
    const bool is_packed = (header.flags & (lz4_packed | zstd_packed)) != 0;
    if (is_packed && header.packed_bytes > content.size())
      return {{}, "is cut off or has an impossible length"};
    const std::uint64_t size = is_packed ? header.packed_bytes : content.size();
    if (size > max_unpacked || (is_packed && header.unpacked_bytes > max_unpacked))
      return {{}, "has an impossible length"};
    if (is_packed && header.unpacked_bytes > unpacking_.bytes_left)
      return {{}, "would unpack to far more than its file has bytes"};
    const Bytes read = content.read(0, size, read_);
    if (!is_packed) return {read, ""};
    unpacking_.bytes_left -= header.unpacked_bytes;
    return unpack(header, read, unpacked_);
  }

  Unpacking& unpacking_;
  bool with_ptx_;
  Buffer read_, unpacked_;
};

}  // namespace

bool is_fatbin(Bytes begin) {
  std::uint32_t number = 0;
  if (begin.size() < sizeof(ContainerHeader)) return false;
  std::memcpy(&number, begin.data(), sizeof number);
  return number == magic;
}

std::string for_each_part(const ByteSource& source, Unpacking& unpacking,
                          const std::function<void(const FatbinPart&)>& visit, bool with_ptx) {
  PartReader reader(unpacking, with_ptx);
  Buffer buffer;
  const auto header_at = [&](const ByteSource& from, std::uint64_t at, auto& header) {
    std::memcpy(&header, from.read(at, sizeof header, buffer).data(), sizeof header);
  };
  for (std::uint64_t at = 0;;) {
    // Many zeros mean that the file was not written completely.
    constexpr std::uint64_t max_zeros = 1 << 20;
    const std::uint64_t near = std::min(source.size(), at + max_zeros);
    at = source.part(0, near).skip_zeros(at, buffer);
    if (at == source.size()) return "";
    if (at == near) return "holds more than 1 MiB of zeros in place of fatbins";
    ContainerHeader container{};
    if (sizeof container > source.size() - at) return "has a fatbin that is cut off";
    header_at(source, at, container);
    if (container.magic != magic) return "holds something else between its fatbins";
    if (container.header_bytes < sizeof container || container.header_bytes > source.size() - at ||
        container.bytes > source.size() - at - container.header_bytes)
      return "has a fatbin that is cut off";
    const ByteSource parts = source.part(at + container.header_bytes, container.bytes);
    at += container.header_bytes + container.bytes;
    std::uint64_t in = 0;
    while (parts.size() - in >= sizeof(PartHeader)) {
      PartHeader header{};
      header_at(parts, in, header);
      if (header.header_bytes < sizeof header || header.header_bytes > parts.size() - in ||
          header.bytes > parts.size() - in - header.header_bytes)
        return "has a fatbin with a damaged part";
      reader.visit(header, parts.part(in + header.header_bytes, header.bytes), visit);
      in += header.header_bytes + header.bytes;
    }
    if (parts.skip_zeros(in, buffer) != parts.size()) return "has a fatbin with a damaged part";
  }
}

}  // namespace occbench::binary
