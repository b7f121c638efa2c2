// SPDX-License-Identifier: Apache-2.0
// The kernels of all processes: launches of equal kernels count as one, whichever process they are from.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/attach/analysis/collect.hpp"
#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {

class KernelTable {
 public:
  /// Where the kernel of this signature is, the new one if there is none yet.
  std::size_t place_of(Kernel kernel, const SignatureRecord& signature);
  [[nodiscard]] Kernel& operator[](std::size_t place) { return kernels_[place]; }
  [[nodiscard]] std::vector<Kernel>& kernels() { return kernels_; }
  /// Merges and sorts the kernels, most GPU time first. Returns where the kernel of each place went.
  std::vector<std::uint32_t> finish();

 private:
  struct Key {
    std::string name;
    std::size_t device = 0;
    std::string shape, arguments;
    int registers = 0;
    SkipReason skip_reason{};
    std::string range;
    auto operator<=>(const Key&) const = default;
  };

  /// Where a kernel had too many different arguments, its first signatures join the rest. Returns the
  /// kernels that stay; `place[i]` is where kernel i went.
  std::vector<std::uint32_t> merge_rest(std::vector<std::uint32_t>& place);
  /// The untouched times of a kernel in a graph are the graph's, and its launches.
  void move_times_to_graphs();

  std::vector<Kernel> kernels_;
  std::map<Key, std::uint32_t> places_;
};

}  // namespace occbench::attach
