// SPDX-License-Identifier: Apache-2.0
// What `occbench inspect` says of a kernel beyond its machine code: occupancy, the next step each way, and
// what is worth a look.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/commands/calc/query.hpp"
#include "harness/binary/compiled_kernel.hpp"

namespace occbench::commands {

/// The nearest change of one resource, or of two together, that changes occupancy.
struct UsefulStep {
  std::string text;  ///< "2 registers fewer"
  double occupancy = 0;
  int blocks_per_sm = 0;
};

/// Worth a look; bits.
enum class Finding : unsigned {
  register_cliff = 1,   ///< one register fewer gains occupancy
  runtime_barrier = 2,  ///< a barrier's id is in a register, so the kernel has all 16
  spills = 4,
  static_smem_over_48k = 8,
  code_over_icache = 16,
};
/// "spills+code_over_icache"; empty for none.
[[nodiscard]] std::string findings_text(unsigned findings);

/// A kernel at one block size.
struct Inspected {
  const binary::CompiledKernel* kernel = nullptr;
  const CalcDevice* device = nullptr;  ///< nullptr where nothing is known of the architecture
  theory::Query query;
  theory::Answer answer;  ///< its status says why where there is none
  std::optional<int> largest_block;
  std::optional<UsefulStep> gains, loses;
  unsigned findings = 0;
  bool is_chosen = false;  ///< the block size: nobody gave one
};

/// Threads per block, as a user asks for them.
struct BlockSizes {
  int least = 0, most = 0;
  bool is_range = false;  ///< "64..1024" or "all": each of them is answered for

  [[nodiscard]] bool is_given() const { return most > 0; }
};
/// "", "256", "64..1024" or "all". Throws std::invalid_argument.
[[nodiscard]] BlockSizes parse_block_sizes(const std::string& text);

class Inspector {
 public:
  /// `device`: the user's word, or empty, and each kernel is answered for its own architecture. Throws as
  /// `resolve` does.
  Inspector(const std::string& device, const DeviceResolver& resolve, const BlockSizes& sizes,
            std::optional<std::size_t> dynamic_smem_bytes);

  /// One row, or of a range of block sizes one for each, highest occupancy first. A kernel with a block size
  /// of its own has that alone.
  [[nodiscard]] std::vector<Inspected> rows_of(const binary::CompiledKernel& kernel);

  /// Whether the device that was asked for runs this code; always true if none was.
  [[nodiscard]] bool runs(const binary::CompiledKernel& kernel) const;
  [[nodiscard]] const CalcDevice* device() const { return device_ ? &*device_ : nullptr; }

 private:
  const CalcDevice* device_of(const std::string& cc);

  std::optional<CalcDevice> device_;
  std::map<std::string, std::optional<CalcDevice>> by_cc_;
  BlockSizes sizes_;
  std::optional<std::size_t> dynamic_smem_bytes_;
};

}  // namespace occbench::commands
