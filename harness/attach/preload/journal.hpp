// SPDX-License-Identifier: Apache-2.0
// The files of one process (protocol.hpp says which). What is noted is on its way to the disk when the call
// returns, and needs no end: a process may be killed at any time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

class Journal {
 public:
  static constexpr std::size_t most_text_bytes = std::size_t{48} << 20;

  /// New files in `folder`; none where that fails, and then nothing is noted.
  Journal(const std::string& folder, std::size_t limit_bytes);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// A line of fields; tabs and line feeds in them become blanks.
  void line(const std::vector<std::string>& fields);
  /// Of signature `n`, below most_signatures; null where nothing is noted.
  [[nodiscard]] Count* count(std::size_t n) { return counts_ == nullptr ? nullptr : &counts_->of[n]; }
  void add(const Launch& launch);
  /// A file of its own beside the others, which the command reads while the process runs; the first stays.
  void leave(const std::string& name, const std::string& text) const;
  /// Whether no launch can be added any more.
  [[nodiscard]] bool is_full() const { return counts_ == nullptr || counts_->full != Full::no; }
  /// Whether more lines may be noted.
  [[nodiscard]] bool has_room() const { return text_bytes_ < most_text_bytes && !is_full(); }

 private:
  /// A descriptor may be closed by the program, which then opens another file by its number.
  struct File {
    int descriptor = -1;
    dev_t device = 0;
    ino_t inode = 0;
    [[nodiscard]] bool is_open() const;
  };
  static File make(const std::string& path);
  void end(Full why);

  std::string folder_;
  File text_, launches_;
  std::size_t text_bytes_ = 0;
  Counts* counts_ = nullptr;
  Launch* window_ = nullptr;  ///< the part of the file that is mapped
  std::size_t used_ = 0;      ///< of the window
  std::size_t windows_ = 0, most_windows_;
};

}  // namespace occbench::attach
