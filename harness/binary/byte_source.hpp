// SPDX-License-Identifier: Apache-2.0
// A range of a file or of memory, read piece by piece. Files are not mapped: one that shrinks would cause
// SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace occbench::binary {

using Bytes = std::span<const std::byte>;

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file that cannot be read; what() is "is cut off", "has no section table" ...
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A reusable buffer for one piece at a time. It grows to the largest piece and is not cleared.
class Buffer {
 public:
  [[nodiscard]] std::span<std::byte> get(std::size_t size) {
    if (bytes_.size() < size) bytes_.resize(size);
    return std::span(bytes_).first(size);
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Limits how much is unpacked from a file, and read again from its members. Libraries unpack to 3 to 10
/// times their size.
struct Unpacking {
  explicit Unpacking(std::uint64_t file_bytes) : bytes_left((std::uint64_t{64} << 20) + 100 * file_bytes) {}
  /// Throws Damaged if less is left.
  void take(std::uint64_t bytes) {
    if (bytes > bytes_left) throw Damaged("would unpack to far more than its file has bytes");
    bytes_left -= bytes;
  }
  std::uint64_t bytes_left;
};

class ByteSource {
 public:
  ByteSource(Bytes memory) : memory_(memory), size_(memory.size()) {}  // NOLINT: implicit
  /// An open file of `size` bytes, which must stay open.
  ByteSource(int file, std::uint64_t size) : file_(file), size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// A sub-range. Throws Damaged if it is out of range.
  [[nodiscard]] ByteSource part(std::uint64_t at, std::uint64_t size) const;
  /// Reads bytes, those of a file into `buffer`. Throws Damaged if they do not exist (any more).
  [[nodiscard]] Bytes read(std::uint64_t at, std::size_t size, Buffer& buffer) const;
  /// The range in memory; empty for a file.
  [[nodiscard]] Bytes memory() const { return memory_; }
  /// Offset of the first nonzero byte from `at` on, or size().
  [[nodiscard]] std::uint64_t skip_zeros(std::uint64_t at, Buffer& buffer) const;

 private:
  Bytes memory_;
  int file_ = -1;
  std::uint64_t begin_ = 0, size_ = 0;  ///< of the file
};

}  // namespace occbench::binary
