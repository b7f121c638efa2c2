// SPDX-License-Identifier: Apache-2.0
// A range of a file or of memory, read piece by piece. A file is not mapped: one that shrinks meanwhile would
// end the program with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace occbench::binary {

using Bytes = std::span<const std::byte>;

/// What cannot be read, in a few words: "is cut off", "has no section table".
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Room for one piece at a time; it grows to the largest and is not cleared between two.
class Buffer {
 public:
  [[nodiscard]] std::span<std::byte> room(std::size_t size) {
    if (bytes_.size() < size) bytes_.resize(size);
    return std::span(bytes_).first(size);
  }

 private:
  std::vector<std::byte> bytes_;
};

class ByteSource {
 public:
  ByteSource(Bytes memory) : memory_(memory), size_(memory.size()) {}  // NOLINT: memory is a source as it is
  /// Of an open file of `size` bytes, which stays open.
  ByteSource(int file, std::uint64_t size) : file_(file), size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// A range within it. Throws Damaged where it is not.
  [[nodiscard]] ByteSource part(std::uint64_t at, std::uint64_t size) const;
  /// The bytes, in `buffer` where they come from a file. Throws Damaged where they are not there (any more).
  [[nodiscard]] Bytes read(std::uint64_t at, std::size_t size, Buffer& buffer) const;
  /// The range in memory; empty where it is of a file.
  [[nodiscard]] Bytes memory() const { return memory_; }
  /// The first byte that is not zero, at `at` or behind; its end where there is none.
  [[nodiscard]] std::uint64_t skip_zeros(std::uint64_t at, Buffer& buffer) const;

 private:
  Bytes memory_;
  int file_ = -1;
  std::uint64_t begin_ = 0, size_ = 0;  ///< of the file
};

}  // namespace occbench::binary
