// SPDX-License-Identifier: Apache-2.0
// What a compiler or a profiler says that a kernel uses.
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
  std::string name;  ///< as the tool wrote it, mangled or not
  std::string cc;    ///< of the code, or of the device that ran it: "9.0"; empty where the tool does not say
  std::optional<int> registers_per_thread;
  std::optional<int> block_size;
  std::optional<int> barriers;
  std::optional<int> cluster_size;
  std::size_t static_smem_bytes = 0;
  std::optional<std::size_t> dynamic_smem_bytes;
  std::optional<std::size_t> stack_bytes;
  std::optional<std::size_t> spill_bytes;  ///< stores and loads together
  std::int64_t launches = 0;               ///< 0 where nothing was run
  double time_us = 0;                      ///< of all launches together; 0 where none was timed
};

/// What a file held.
struct KernelUses {
  std::string source;  ///< "ptxas -v", for messages
  bool has_run = false;
  std::vector<KernelUse> kernels;
};

/// Launches of one kernel with one footprint, as one entry; in the order of their first.
class Launches {
 public:
  void add(KernelUse launch);
  [[nodiscard]] std::vector<KernelUse> take() { return std::move(kernels_); }

 private:
  std::vector<KernelUse> kernels_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// "sm_90a" -> "9.0", "sm_120" -> "12.0"; empty for what is no architecture.
[[nodiscard]] std::string cc_of(const std::string& architecture);

using occbench::demangled;

/// The same for a table: without its arguments, "void " and the inner part of what is too long.
[[nodiscard]] std::string short_name(const std::string& name, std::size_t room);

}  // namespace occbench::binary
