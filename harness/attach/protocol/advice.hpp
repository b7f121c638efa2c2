// SPDX-License-Identifier: Apache-2.0
// The levels of kernels in every launch, for `occbench attach --apply`. The command writes them into the
// folder, and the library reads them there.
#pragma once

#include <regex.h>

#include <deque>
#include <optional>
#include <string>

#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {

/// Below the folder.
constexpr const char* advice_file = "advice";

/// The level of one signature; or, with a pattern, of all kernels whose name matches.
struct Advice {
  std::string symbol;
  int sms = 0;  ///< that its launches may run on
  unsigned grid[3] = {}, block[3] = {}, dynamic_smem_bytes = 0;
  std::string arguments;  ///< their hash, as in kernels.csv; zeros match any
  int blocks_per_sm = 0;  ///< 0: these launches are not changed
  std::string pattern;    ///< POSIX extended; of the other fields only `share` counts then
  double share = 0;       ///< of the natural blocks

  /// Its line in the advice file, with its end.
  [[nodiscard]] std::string line() const;
};

class AdviceBook {
 public:
  AdviceBook() = default;
  AdviceBook(const AdviceBook&) = delete;
  AdviceBook& operator=(const AdviceBook&) = delete;
  ~AdviceBook();
  /// Adds the lines of `path`; those that are not whole are left out.
  void read(const std::string& path);
  /// Blocks per SM that `what`, one signature, is given of its `natural` ones, by the first line that
  /// matches. Without a line for its arguments it is the level that all others of its shape agree on.
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
