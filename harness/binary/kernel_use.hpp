// SPDX-License-Identifier: Apache-2.0
// Resource usage of a kernel, as a compiler or a profiler reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/io/demangle.hpp"

namespace occbench::binary {

struct KernelUse {
  std::string name;  ///< as the tool prints it, mangled or not
  std::string cc;    ///< of the code, or of the device that ran it: "9.0"; empty if unknown
  std::optional<int> registers_per_thread;
  std::optional<int> block_size;
  std::optional<int> barriers;
  std::optional<int> cluster_size;
  std::size_t static_smem_bytes = 0;
  std::optional<std::size_t> dynamic_smem_bytes;
  std::optional<std::size_t> stack_bytes;
  std::optional<std::size_t> spill_bytes;  ///< stores and loads together
  std::int64_t launches = 0;               ///< 0 if it was not run
  double time_us = 0;                      ///< of all launches together; 0 if not timed
};

/// The kernels of a file.
struct KernelUses {
  std::string source;  ///< "ptxas -v", for messages
  bool has_run = false;
  std::vector<KernelUse> kernels;
};

/// Merges launches of the same kernel and footprint, in the order of first launches.
class Launches {
 public:
  void add(KernelUse launch);
  [[nodiscard]] std::vector<KernelUse> take() { return std::move(kernels_); }

 private:
  std::vector<KernelUse> kernels_;
  std::unordered_map<std::string, std::size_t> indices_;
};

/// "sm_90a" -> "9.0", "sm_120" -> "12.0"; empty if it is not an architecture.
[[nodiscard]] std::string cc_of(const std::string& architecture);

using occbench::demangled;

/// The demangled name for a table: without arguments and "void ", its middle cut if it is longer than
/// `max_length`.
[[nodiscard]] std::string short_name(const std::string& name, std::size_t max_length);

}  // namespace occbench::binary
