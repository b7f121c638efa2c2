// SPDX-License-Identifier: Apache-2.0
// The kernels of all processes: launches of equal kernels are merged across processes.
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
  /// The index of the kernel with this signature; adds it if it is new.
  std::size_t find_or_add(Kernel kernel, const SignatureRecord& signature);
  [[nodiscard]] Kernel& operator[](std::size_t place) { return kernels_[place]; }
  [[nodiscard]] std::vector<Kernel>& kernels() { return kernels_; }
  /// Merges the kernels and sorts them by GPU time, descending. Returns the new index of each kernel.
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

  /// Merges a kernel's first signatures into the rest if it had too many different arguments. Returns the
  /// remaining kernels; `place[i]` is the new index of kernel i.
  std::vector<std::uint32_t> merge_rest(std::vector<std::uint32_t>& place);
  /// Moves the untouched times and launches of kernels in a graph to the graph.
  void move_times_to_graphs();

  std::vector<Kernel> kernels_;
  std::map<Key, std::uint32_t> places_;
};

}  // namespace occbench::attach
