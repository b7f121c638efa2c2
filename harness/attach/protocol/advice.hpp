// SPDX-License-Identifier: Apache-2.0
// Levels that every launch of a kernel gets, for `occbench attach --apply`. The command writes them into the
// folder; the library reads them there.
#pragma once

#include <regex.h>

#include <deque>
#include <optional>
#include <string>

#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {

/// File name in the folder.
constexpr const char* advice_file = "advice";

/// The level of one signature or, with a pattern, of all kernels whose name matches.
struct Advice {
  std::string symbol;
  int sms = 0;  ///< that its launches may run on
  unsigned grid[3] = {}, block[3] = {}, dynamic_smem_bytes = 0;
  std::string arguments;  ///< hash, as in kernels.csv; zeros match any
  int blocks_per_sm = 0;  ///< 0: these launches are not changed
  std::string pattern;    ///< POSIX extended; only `share` is then used as well
  double share = 0;       ///< of the natural blocks

  /// The line in the advice file, with its line end.
  [[nodiscard]] std::string line() const;
};

class AdviceBook {
 public:
  AdviceBook() = default;
  AdviceBook(const AdviceBook&) = delete;
  AdviceBook& operator=(const AdviceBook&) = delete;
  ~AdviceBook();
  /// Adds the lines of `path`, except incomplete ones.
  void read(const std::string& path);
  /// Blocks per SM for the signature `what` with `natural` blocks, by the first matching line. Without a line
  /// for its arguments: the level that all others of its shape agree on.
  [[nodiscard]] std::optional<int> blocks_for(const Advice& what, const std::string& demangled,
                                              int natural) const;

 private:
  struct Entry {
    Advice advice;
    std::optional<regex_t> compiled;
  };
  void add(const Fields& fields);

  std::deque<Entry> entries_;
};

}  // namespace occbench::attach
