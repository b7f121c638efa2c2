// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/byte_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace occbench::binary {

ByteSource ByteSource::part(std::uint64_t at, std::uint64_t size) const {
  if (at > size_ || size > size_ - at) throw Damaged("is cut off");
  if (file_ < 0) return memory_.subspan(at, size);
  ByteSource part(file_, size);
  part.begin_ = begin_ + at;
  return part;
}

Bytes ByteSource::read(std::uint64_t at, std::size_t size, Buffer& buffer) const {
  if (at > size_ || size > size_ - at) throw Damaged("is cut off");
  if (file_ < 0) return memory_.subspan(at, size);
  const std::span<std::byte> bytes = buffer.get(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pread(file_, &bytes[done], size - done, static_cast<off_t>(begin_ + at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Damaged(std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) throw Damaged("was cut off while it was read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

std::uint64_t ByteSource::skip_zeros(std::uint64_t at, Buffer& buffer) const {
  constexpr std::uint64_t piece_bytes = 1 << 12;
  while (at < size_) {
    const Bytes piece = read(at, std::min(piece_bytes, size_ - at), buffer);
    const auto found = std::ranges::find_if(piece, [](std::byte b) { return b != std::byte{}; });
    at += static_cast<std::uint64_t>(found - piece.begin());
    if (found != piece.end()) break;
  }
  return at;
}

}  // namespace occbench::binary
