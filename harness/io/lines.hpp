// SPDX-License-Identifier: Apache-2.0
// Reads a file, pipe or terminal line by line, with a maximum line length.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/io/files.hpp"

namespace occbench {

class LineReader {
 public:
  /// Bytes; longer lines are truncated.
  static constexpr std::size_t longest = std::size_t{1} << 16;
  /// Bytes; a longer line is an error: the input may be endless, like /dev/zero.
  static constexpr std::size_t endless = std::size_t{1} << 20;

  /// `before_waiting` is called before each read that may block, for example to flush output.
  LineReader(Descriptor file, std::string name, std::function<void()> before_waiting)
      : file_(std::move(file)), name_(std::move(name)), before_waiting_(std::move(before_waiting)) {}

  /// Reads a line without its newline; returns false at the end. Throws UserError(Exit::file) if reading
  /// fails or the line is longer than `endless`.
  bool next(std::string& line);
  /// Whether the last line was longer than `longest`.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// Whether the last line ended with a newline; false where the file ended first.
  [[nodiscard]] bool is_terminated() const { return is_terminated_; }

 private:
  bool fill();

  Descriptor file_;
  std::string name_;
  std::function<void()> before_waiting_;
  std::string buffer_;
  std::size_t read_ = 0;  ///< of the buffer
  bool is_cut_ = false, is_terminated_ = false;
};

}  // namespace occbench
