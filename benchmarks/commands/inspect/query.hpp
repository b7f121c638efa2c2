// SPDX-License-Identifier: Apache-2.0
// `occbench inspect`'s answer for a kernel: occupancy, the next cliffs, and findings.
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
  std::string change;  ///< "2 registers fewer"
  double occupancy = 0;
  int blocks_per_sm = 0;
};

/// Bits.
enum class Finding : unsigned {
  register_cliff = 1,   ///< one register fewer gains occupancy
  runtime_barrier = 2,  ///< a barrier's id is in a register, so the kernel has all 16
  spills = 4,
  static_smem_over_48k = 8,
  code_over_icache = 16,
  bound_not_met = 32,      ///< __launch_bounds__ asks for more resident blocks than any launch has
  requests_not_met = 64,   ///< setmaxnreg waits for registers that a block never has
  requests_ignored = 128,  ///< ptxas left setmaxnreg out
};
struct FindingText {
  Finding finding;
  const char* name;
  const char* meaning;  ///< nullptr: the kernel's status says it

  [[nodiscard]] bool is_in(unsigned findings) const {
    return (findings & static_cast<unsigned>(finding)) != 0;
  }
};
inline constexpr FindingText finding_texts[] = {
    {Finding::register_cliff, "register_cliff", "one register over a cliff"},
    {Finding::runtime_barrier, "runtime_barrier",
     "a barrier's id is in a register, so all 16 barriers are taken"},
    {Finding::spills, "spills", "spills registers"},
    {Finding::static_smem_over_48k, "static_smem_over_48k", "more than 48 KiB of static shared memory"},
    {Finding::code_over_icache, "code_over_icache", "code longer than the SM's instruction cache"},
    {Finding::bound_not_met, "bound_not_met", nullptr},
    {Finding::requests_not_met, "requests_not_met", nullptr},
    {Finding::requests_ignored, "requests_ignored",
     "ptxas ignored its setmaxnreg: it needs __launch_bounds__"}};
/// "spills+code_over_icache"; empty for none.
[[nodiscard]] std::string findings_text(unsigned findings);

/// A kernel at one block size.
struct InspectedKernel {
  const binary::CompiledKernel* kernel = nullptr;
  const CalcDevice* device = nullptr;  ///< nullptr for an unknown architecture
  theory::Query query;
  theory::Answer answer;  ///< without a device, its status says why there is none
  std::optional<int> largest_block;
  std::optional<UsefulStep> gains, loses;
  unsigned findings = 0;
  bool is_chosen = false;                        ///< the block size, as none was given
  std::span<const InspectedKernel> ranked = {};  ///< of a range: the kernel's rows, this the first
};

/// Threads per block: one number, or a range to rank.
struct BlockSizes {
  int least = 0, most = 0;
  bool is_range = false;  ///< "64..1024" or "all"

  [[nodiscard]] bool is_given() const { return most > 0; }
};
/// "", "256", "64..1024" or "all". Throws std::invalid_argument.
[[nodiscard]] BlockSizes parse_block_sizes(const std::string& text);

class Inspector {
 public:
  /// `device`: a name, or empty for a device of each kernel's own architecture. Throws as `resolve` does.
  Inspector(const std::string& device, const DeviceResolver& resolve, const BlockSizes& sizes,
            std::optional<std::size_t> dynamic_smem_bytes);

  /// One row; of a range, one for each block size, highest occupancy first. A kernel with a fixed block size
  /// has one row.
  [[nodiscard]] std::vector<InspectedKernel> rows_of(const binary::CompiledKernel& kernel);

  /// Whether the device runs this code; always true without one.
  [[nodiscard]] bool runs(const binary::CompiledKernel& kernel) const;
  [[nodiscard]] const CalcDevice* device() const { return device_ ? &*device_ : nullptr; }

 private:
  const CalcDevice* device_of(const std::string& cc);
  /// Without a block size.
  [[nodiscard]] theory::Query query_of(const binary::CompiledKernel& kernel) const;
  /// The row with this answer, its cliffs and findings.
  [[nodiscard]] InspectedKernel with_answer(InspectedKernel row, const theory::Query& query,
                                            const theory::Answer& answer) const;

  std::optional<CalcDevice> device_;
  std::map<std::string, std::optional<CalcDevice>> by_cc_;
  BlockSizes sizes_;
  std::optional<std::size_t> dynamic_smem_bytes_;
};

}  // namespace occbench::commands
