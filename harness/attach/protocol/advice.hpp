// SPDX-License-Identifier: Apache-2.0
// Levels that kernels are to have in every launch, for `occbench attach --apply`. The command writes them
// into the folder, and the library reads them there.
#pragma once

#include <regex.h>

#include <deque>
#include <optional>
#include <string>

namespace occbench::attach {

/// Below the folder.
constexpr const char* advice_file = "advice";

/// Of one signature; or, with a pattern, of all kernels whose name matches.
struct Advice {
  std::string symbol;
  int sms = 0;  ///< that its launches may run on
  unsigned grid[3] = {}, block[3] = {}, dynamic_smem_bytes = 0;
  std::string arguments;  ///< their hash, as in kernels.csv; zeros stand for any
  int blocks_per_sm = 0;  ///< 0: these are left as they are
  std::string pattern;    ///< POSIX extended; then the rest but `share` says nothing
  double share = 0;       ///< of the natural blocks

  /// A line of fields between tabs, with its end.
  [[nodiscard]] std::string line() const;
};

class AdviceBook {
 public:
  AdviceBook() = default;
  AdviceBook(const AdviceBook&) = delete;
  AdviceBook& operator=(const AdviceBook&) = delete;
  ~AdviceBook();
  /// Lines of `path`; those that say nothing are left out.
  void read(const std::string& path);
  /// Blocks per SM that `what` is to have, of `natural` ones; what was said first holds. `what` is of one
  /// signature. Where nothing is said of its arguments, what is said of all others of its shape holds.
  [[nodiscard]] std::optional<int> blocks_for(const Advice& what, const std::string& demangled,
                                              int natural) const;

 private:
  struct Entry {
    Advice advice;
    std::optional<regex_t> compiled;
  };
  std::deque<Entry> entries_;
};

}  // namespace occbench::attach
