// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "harness/binary/package.hpp"

namespace occbench::binary {
namespace {

constexpr std::size_t piece_bytes = 1 << 18, begin_piece_bytes = 1 << 12;

/// Decompresses a member piece by piece.
class Inflater {
 public:
  /// Reads `input_bytes` at a time.
  Inflater(const PackedMember& member, std::size_t input_bytes) : member_(member), input_bytes_(input_bytes) {
    // zlib.h, inflateInit2: negative without a header, 16 more for that of gzip.
    const int window = member.packing == Packing::gzip ? MAX_WBITS + 16 : -MAX_WBITS;
    if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Fills `out`; returns fewer bytes only at the end. Throws Damaged.
  std::size_t read(std::span<std::byte> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0 && !has_ended_) {
      if (stream_.avail_in == 0 && !fill()) throw Damaged("is cut off");
      const int state = inflate(&stream_, Z_NO_FLUSH);
      if (state == Z_STREAM_END)
        has_ended_ = !begins_another();
      else if (state != Z_OK)
        throw Damaged("is damaged: it cannot be unpacked");
    }
    return out.size() - stream_.avail_out;
  }

 private:
  bool fill() {
    const std::uint64_t bytes = std::min<std::uint64_t>(input_bytes_, member_.content.size() - at_);
    if (bytes == 0) return false;
    const Bytes input = member_.content.read(at_, bytes, input_);
    at_ += bytes;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(bytes);
    return true;
  }

  /// A gzip file may have several parts, one after the other.
  bool begins_another() {
    constexpr Bytef gzip_begin = 0x1f;
    if (member_.packing != Packing::gzip || (stream_.avail_in == 0 && !fill())) return false;
    return *stream_.next_in == gzip_begin && inflateReset(&stream_) == Z_OK;
  }

  const PackedMember& member_;
  const std::size_t input_bytes_;
  Buffer input_;
  std::uint64_t at_ = 0;
  z_stream stream_{};
  bool has_ended_ = false;
};

Descriptor temporary_file() {
  const char* const set = std::getenv("TMPDIR");
  const std::string folder = set != nullptr && *set != '\0' ? set : "/tmp";
  Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.get() < 0) {  // not supported by every file system
    std::string path = folder + "/occbench-XXXXXX";
    file = Descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (file.get() >= 0) unlink(path.c_str());
  }
  if (file.get() < 0)
    throw Damaged("cannot be unpacked into '" + folder + "' (TMPDIR): " + std::strerror(errno));
  return file;
}

void write_whole(int file, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Damaged(std::string("cannot be unpacked (TMPDIR): ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

Bytes begin_of(const PackedMember& member, Buffer& buffer) {
  if (member.packing == Packing::none)
    return member.content.read(0, std::min<std::uint64_t>(package_header_bytes, member.content.size()),
                               buffer);
  const std::span<std::byte> begin = buffer.get(package_header_bytes);
  return begin.first(Inflater(member, begin_piece_bytes).read(begin));
}

UnpackedMember unpack(const PackedMember& member, Unpacking& unpacking) {
  UnpackedMember unpacked{temporary_file()};
  Inflater inflater(member, piece_bytes);
  std::vector<std::byte> piece(piece_bytes);
  uLong sum = crc32(0, nullptr, 0);
  while (const std::size_t bytes = inflater.read(piece)) {
    unpacking.take(bytes);
    unpacked.size += bytes;
    sum = crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(bytes));
    write_whole(unpacked.file.get(), Bytes(piece).first(bytes));
  }
  if (member.packing == Packing::deflate && (sum != member.crc32 || unpacked.size != member.unpacked_bytes))
    throw Damaged("is damaged: it cannot be unpacked");
  return unpacked;
}

}  // namespace occbench::binary
