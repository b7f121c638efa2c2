// SPDX-License-Identifier: Apache-2.0
// Lines of a file, a pipe or a terminal, one at a time and none too long.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/io/files.hpp"

namespace occbench {

class LineReader {
 public:
  /// Bytes; what is longer is read to its end and handed out cut off.
  static constexpr std::size_t longest = std::size_t{1} << 16;
  /// Bytes; what is longer has no end, as /dev/zero has none.
  static constexpr std::size_t endless = std::size_t{1} << 20;

  /// `before_waiting` is called before each read that may block: the moment to flush what was answered.
  LineReader(Descriptor file, std::string name, std::function<void()> before_waiting)
      : file_(std::move(file)), name_(std::move(name)), before_waiting_(std::move(before_waiting)) {}

  /// False at the end. The line comes without its newline. Throws UserError(Exit::file) where it cannot be
  /// read, or is longer than `endless`.
  bool next(std::string& line);
  /// Whether the last line was longer than `longest`.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  bool fill();

  Descriptor file_;
  std::string name_;
  std::function<void()> before_waiting_;
  std::string buffer_;
  std::size_t read_ = 0;  ///< of the buffer
  bool is_cut_ = false;
};

}  // namespace occbench
