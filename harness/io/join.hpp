// SPDX-License-Identifier: Apache-2.0
// A list in one line.
#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// "a, b, c" of any range of texts.
template <class Words>
std::string join(const Words& words, std::string_view between = ", ") {
  std::string all;
  for (const auto& word : words) {
    if (!all.empty()) all += between;
    all += word;
  }
  return all;
}

}  // namespace occbench
