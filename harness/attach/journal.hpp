// SPDX-License-Identifier: Apache-2.0
// The files of one process (protocol.hpp says which). What is noted is on its way to the disk when the call
// returns, and needs no end: a process may be killed at any time.
#pragma once

#include <string>
#include <vector>

#include "harness/attach/protocol.hpp"

namespace occbench::attach {

class Journal {
 public:
  /// New files in `folder`; none where that fails, and then nothing is noted.
  Journal(const std::string& folder, std::size_t limit_bytes);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// A line of fields; tabs and line feeds in them become blanks.
  void line(const std::vector<std::string>& fields);
  /// Of signature `n`, below most_signatures; null where nothing is noted.
  [[nodiscard]] Count* count(std::size_t n) { return counts_ == nullptr ? nullptr : counts_ + n; }
  void add(const Launch& launch);

 private:
  int text_ = -1, launches_ = -1;
  Count* counts_ = nullptr;
  Launch* window_ = nullptr;  ///< the part of the file that is mapped
  std::size_t used_ = 0;      ///< of the window
  std::size_t windows_ = 0, most_windows_;
  bool is_full_ = false;
};

}  // namespace occbench::attach
