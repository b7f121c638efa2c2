// SPDX-License-Identifier: Apache-2.0
// Resource usage of a kernel, as reported by a compiler or profiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/io/demangle.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::binary {

/// Shared memory that a report rounds: between `least` and `most` bytes. The value used is the one divisible
/// by the highest power of two; 45.57 Kbyte is 45,568 B.
struct RoundedBytes {
  std::string text;  ///< "45.57 Kbyte/block"
  std::size_t least = 0, most = 0;
};

/// Launches with the same number of blocks.
struct GridUse {
  std::int64_t launches = 0;
  double time_us = 0;
};

struct KernelUse {
  std::string name;  ///< as the tool prints it, mangled or not
  std::string cc;    ///< of the code, or of the device: "9.0"; empty if unknown
  std::optional<int> registers_per_thread;
  std::optional<int> block_size;
  std::optional<int> barriers;
  std::optional<int> cluster_size;
  std::size_t static_smem_bytes = 0;
  std::optional<std::size_t> dynamic_smem_bytes;
  std::optional<std::size_t> stack_bytes;
  std::optional<std::size_t> spill_bytes;  ///< stores plus loads; as printed by ptxas, or from machine code
  std::int64_t launches = 0;               ///< 0 if not run
  double time_us = 0;                      ///< of all launches; 0 if not timed
  /// False before device linking, which may raise registers and shared memory; nullopt if unknown.
  std::optional<bool> is_linked;
  /// `cc` is unknown, and on cc 9.0 and later static_smem_bytes includes reserved_smem_bytes.
  bool may_hold_reserved_smem = false;
  std::map<std::int64_t, GridUse> grids;  ///< by blocks per launch; empty if the grid is unknown
  // The profiler's data on the device and its limits; empty or nullopt if missing.
  std::string device_name;  ///< "NVIDIA H200"
  std::optional<int> sm_count;
  std::optional<RoundedBytes> rounded_static_smem, rounded_dynamic_smem;
  std::optional<int> smem_block_limit;           ///< ncu's 'Block Limit Shared Mem'
  std::optional<int> barrier_block_limit;        ///< ncu's 'Block Limit Barriers'
  std::optional<std::size_t> smem_config_bytes;  ///< shared memory of the SM in that launch
};

/// Number of barriers of a kernel: `taken`, within `least` to `most`, which all allow as many blocks.
struct BarrierCount {
  int taken, least, most;
};

/// The counts consistent with ncu's 'Block Limit Barriers'. nullopt if the report has the count itself or
/// lacks the limit, if no count is consistent, and before cc 9.0, where cuda_occupancy.h has no such limit.
[[nodiscard]] std::optional<BarrierCount> barriers_by_limit(const theory::SmLimits& sm, const KernelUse& use);

/// An error of a compiler, linker or driver. `resource`: "shared data", "parameters", "registers" (of a
/// function that a capped kernel calls), "definition" or "launch"; "shared memory", "threads" or "tensor
/// memory" for a launch by Triton or XLA; empty if only the tool's `text` is known.
struct ToolError {
  std::string kernel;
  std::string resource;
  std::size_t needed = 0, most = 0;  ///< bytes or registers
  std::string callee;
  std::string text;
};

/// Shared memory that the driver reserves per block since cc 8.0. Since cc 9.0, cuobjdump and nvlink count it
/// in kernels that use shared memory; cudaFuncAttributes does not.
inline constexpr std::size_t reserved_smem_bytes = 1024;
[[nodiscard]] bool has_reserved_smem(const std::string& cc);

/// The kernels of a file.
struct KernelUses {
  std::string source;  ///< "ptxas -v", for messages
  bool has_run = false;
  std::vector<KernelUse> kernels;
  std::vector<ToolError> refused;
  std::vector<std::string> left_out;  ///< skipped contents of the file, with counts
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

using occbench::demangle;

/// The demangled name for a table: without arguments and "void ", its middle cut if it is longer than
/// `max_length`.
[[nodiscard]] std::string short_name(const std::string& name, std::size_t max_length);

}  // namespace occbench::binary
