// SPDX-License-Identifier: Apache-2.0
#include "harness/io/unpacked.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/io/check.hpp"

namespace occbench {
namespace {

constexpr int window_and_header = 15 + 16;  // 32 KiB, and that of gzip (zlib.h, inflateInit2)
constexpr Bytef first_magic = 0x1f, second_magic = 0x8b;

}  // namespace

UnpackedFile::UnpackedFile(const Descriptor& file, std::string source)
    : file_(file.get()), source_(std::move(source)), input_(std::size_t{1} << 18, '\0') {
  while (stream_.avail_in < 2 && fill()) {
  }
  is_packed_ =
      stream_.avail_in >= 2 && stream_.next_in[0] == first_magic && stream_.next_in[1] == second_magic;
  if (is_packed_ && inflateInit2(&stream_, window_and_header) != Z_OK)
    refuse("cannot be unpacked: no memory");
}

UnpackedFile::~UnpackedFile() {
  if (is_packed_) inflateEnd(&stream_);
}

void UnpackedFile::refuse(const std::string& why) const { throw UserError(Exit::file, source_ + ": " + why); }

/// Reads more input; returns false at the end of the file.
bool UnpackedFile::fill() {
  if (stream_.avail_in > 0) std::memmove(input_.data(), stream_.next_in, stream_.avail_in);
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  ssize_t n = 0;
  do n = ::read(file_, input_.data() + stream_.avail_in, input_.size() - stream_.avail_in);
  while (n < 0 && errno == EINTR);
  if (n < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
  stream_.avail_in += static_cast<uInt>(n);
  packed_bytes_ += static_cast<std::uint64_t>(n);
  return n > 0;
}

/// After a member: whether another follows (RFC 1952, 2.2), after zero padding.
bool UnpackedFile::begins_member() {
  for (;;) {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) ++stream_.next_in, --stream_.avail_in;
    if (stream_.avail_in > 0) break;
    if (!fill()) return false;
  }
  if (*stream_.next_in != first_magic)
    refuse("is not a whole gzip file: something else follows the packed part");
  return true;
}

std::size_t UnpackedFile::read(char* buffer, std::size_t size) {
  if (!is_packed_) {
    if (stream_.avail_in == 0 && !fill()) return 0;
    const std::size_t part = std::min<std::size_t>(size, stream_.avail_in);
    std::memcpy(buffer, stream_.next_in, part);
    stream_.next_in += part;
    stream_.avail_in -= static_cast<uInt>(part);
    return part;
  }
  stream_.next_out = reinterpret_cast<Bytef*>(buffer);
  stream_.avail_out = static_cast<uInt>(size);
  while (stream_.avail_out == size) {
    if (member_has_ended_) {
      if (!begins_member()) return 0;
      inflateReset(&stream_);
      member_has_ended_ = false;
    }
    if (stream_.avail_in == 0 && !fill()) refuse("is not a whole gzip file: it is cut off");
    const int state = inflate(&stream_, Z_NO_FLUSH);
    member_has_ended_ = state == Z_STREAM_END;
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      refuse("is not a whole gzip file: it is damaged");
  }
  const std::size_t got = size - stream_.avail_out;
  unpacked_bytes_ += got;
  // Samples, logs and traces compress by 10 to 50 times. A higher ratio would take minutes for a small file.
  constexpr std::uint64_t some = std::uint64_t{16} << 20, times = 100;
  if (unpacked_bytes_ > some + times * packed_bytes_)
    refuse("unpacks to more than 100 times its size; unpack it first");
  return got;
}

}  // namespace occbench
