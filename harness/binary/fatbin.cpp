// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/fatbin.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

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
  std::uint64_t bytes;  // behind the header
  std::uint32_t packed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, unused, unpacked_bytes;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(PartHeader) == 64);

constexpr std::uint16_t ptx = 1, cubin = 2;
constexpr std::uint64_t lz4_packed = 0x2000, zstd_packed = 0x8000;
/// Every part of cuBLASLt, cuDNN and cuSPARSE is smaller, and a made-up length can ask for no more.
constexpr std::uint64_t most_unpacked = std::uint64_t{512} << 20;

/// `from` unpacked into `buffer`; what else remains is why not.
std::string unpack(const PartHeader& header, Bytes from, std::vector<std::byte>& buffer) {
  if (header.packed_bytes > from.size() || header.unpacked_bytes > most_unpacked)
    return "is cut off or has an impossible length";
  const auto packed = static_cast<std::size_t>(header.packed_bytes);
  const auto size = static_cast<std::size_t>(header.unpacked_bytes);
  constexpr std::size_t most_lz4_ratio = 255;
  if ((header.flags & lz4_packed) != 0) {
    if (size / most_lz4_ratio > packed || size > std::numeric_limits<int>::max() ||
        packed > std::numeric_limits<int>::max())
      return "has an impossible length";
    buffer.resize(size);
    const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(from.data()),
                                        reinterpret_cast<char*>(buffer.data()), static_cast<int>(packed),
                                        static_cast<int>(size));
    return got >= 0 && static_cast<std::size_t>(got) == size ? "" : "is damaged: it cannot be unpacked";
  }
  if (ZSTD_getFrameContentSize(from.data(), packed) != size) return "is damaged: it cannot be unpacked";
  buffer.resize(size);
  const std::size_t got = ZSTD_decompress(buffer.data(), size, from.data(), packed);
  return ZSTD_isError(got) == 0 && got == size ? "" : "is damaged: it cannot be unpacked";
}

void visit_part(const PartHeader& header, Bytes content, std::vector<std::byte>& buffer,
                const std::function<void(const FatbinPart&)>& visit, bool with_ptx) {
  FatbinPart part;
  part.kind = header.kind == cubin ? FatbinPart::Kind::cubin
              : header.kind == ptx ? FatbinPart::Kind::ptx
                                   : FatbinPart::Kind::other;
  part.architecture = (header.kind == ptx ? "compute_" : "sm_") + std::to_string(header.architecture);
  if (part.kind == FatbinPart::Kind::cubin || (with_ptx && part.kind == FatbinPart::Kind::ptx)) {
    part.content = content;
    if ((header.flags & (lz4_packed | zstd_packed)) != 0) {
      part.damage = unpack(header, content, buffer);
      part.content = buffer;
    }
    if (part.kind == FatbinPart::Kind::cubin && part.damage.empty() && !is_elf(part.content))
      part.damage = "is encrypted, or packed in a way that is not known";
    if (!part.damage.empty()) part.content = {};
  }
  visit(part);
}

}  // namespace

bool is_fatbin(Bytes bytes) {
  std::uint32_t begin = 0;
  if (bytes.size() < sizeof(ContainerHeader)) return false;
  std::memcpy(&begin, bytes.data(), sizeof begin);
  return begin == magic;
}

std::string for_each_part(Bytes bytes, const std::function<void(const FatbinPart&)>& visit, bool with_ptx) {
  std::vector<std::byte> buffer;  // one for all
  while (true) {
    const auto gap = std::ranges::find_if(bytes, [](std::byte b) { return b != std::byte{}; });
    bytes = bytes.subspan(static_cast<std::size_t>(gap - bytes.begin()));
    if (bytes.empty()) return "";
    if (!is_fatbin(bytes)) return "holds something else between its fatbins";
    ContainerHeader container{};
    std::memcpy(&container, bytes.data(), sizeof container);
    if (container.header_bytes < sizeof container || container.header_bytes > bytes.size() ||
        container.bytes > bytes.size() - container.header_bytes)
      return "has a fatbin that is cut off";
    Bytes parts = bytes.subspan(container.header_bytes, container.bytes);
    bytes = bytes.subspan(container.header_bytes + container.bytes);
    while (parts.size() >= sizeof(PartHeader)) {
      PartHeader header{};
      std::memcpy(&header, parts.data(), sizeof header);
      if (header.header_bytes < sizeof header || header.header_bytes > parts.size() ||
          header.bytes > parts.size() - header.header_bytes)
        return "has a fatbin with a damaged part";
      visit_part(header, parts.subspan(header.header_bytes, header.bytes), buffer, visit, with_ptx);
      parts = parts.subspan(header.header_bytes + header.bytes);
    }
  }
}

}  // namespace occbench::binary
