// SPDX-License-Identifier: Apache-2.0
// Bytes of a file or a pipe that may be packed with gzip.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/io/files.hpp"

namespace occbench {

class UnpackedFile {
 public:
  /// `source` names it in messages. Throws as read() does.
  UnpackedFile(const Descriptor& file, std::string source);
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;
  ~UnpackedFile();

  /// Up to `size` of the next bytes; 0 at the end, which of a packed file is the end of its last member.
  /// Throws UserError(Exit::file) where it cannot be read, is cut off, or is damaged.
  std::size_t read(char* buffer, std::size_t size);
  [[nodiscard]] bool is_packed() const { return is_packed_; }
  /// Read so far, as they are in the file.
  [[nodiscard]] std::uint64_t packed_bytes() const { return packed_bytes_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  bool fill();
  bool begins_member();

  int file_;
  std::string source_;
  std::string input_;
  z_stream stream_{};
  bool is_packed_ = false, member_has_ended_ = false;
  std::uint64_t packed_bytes_ = 0;
};

}  // namespace occbench
