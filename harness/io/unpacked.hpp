// SPDX-License-Identifier: Apache-2.0
// Reads a file or pipe that may be gzip-compressed.
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

  /// Reads up to `size` decompressed bytes; returns their number, 0 at the end of the file's last member.
  /// Throws UserError(Exit::file) if reading fails, or the file is truncated, damaged or far larger unpacked.
  std::size_t read(char* buffer, std::size_t size);
  [[nodiscard]] bool is_packed() const { return is_packed_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  bool fill();
  bool begins_member();

  int file_;
  std::string source_;
  std::string input_;
  z_stream stream_{};
  bool is_packed_ = false, member_has_ended_ = false;
  std::uint64_t packed_bytes_ = 0, unpacked_bytes_ = 0;  ///< read so far
};

}  // namespace occbench
