// SPDX-License-Identifier: Apache-2.0
// Parses reports on kernels within a build log: `ptxas -v`, `nvlink -v`, `cuobjdump -res-usage`, and errors
// of ptxas and nvlink. One class per form; all read the log line by line.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/binary/kernel_use.hpp"

namespace occbench::binary {

/// Kernels whose reports have begun but not ended. If two are open, two compilers wrote into one log at once,
/// and it is unknown which lines belong to which kernel.
class OpenReports {
 public:
  void begin(KernelUse kernel) { open_.push_back(std::move(kernel)), has_begun_ = true; }
  /// Whether any report has begun so far.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// The only open kernel; nullptr if there are none or several.
  [[nodiscard]] KernelUse* only() { return open_.size() == 1 ? &open_.front() : nullptr; }
  /// The last line of a report. Returns its kernel if that is known.
  std::optional<KernelUse> end();
  /// Compilation stopped: open kernels remain without a report.
  void drop() { open_.clear(), ended_ = 0; }

  [[nodiscard]] const std::vector<std::string>& interleaved_kernels() const { return interleaved_kernels_; }
  [[nodiscard]] std::int64_t lines_of_no_kernel() const { return lines_of_no_kernel_; }
  /// The name of the first open kernel.
  [[nodiscard]] std::optional<std::string> first() const;

 private:
  std::vector<KernelUse> open_;
  std::size_t ended_ = 0;                         ///< reports that ended while several were open
  std::vector<std::string> interleaved_kernels_;  ///< kernels whose reports are interleaved
  std::int64_t lines_of_no_kernel_ = 0;
  bool has_begun_ = false;
};

/// Reads `ptxas -v`.
class PtxasText {
 public:
  void read(const std::string& line);
  /// Kernels with a register count, in order; unnamed if the text has no name. `is_linked` is false if the
  /// log shows that they were compiled for the device linker, which may raise their registers; else unknown.
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  /// The name of the first kernel whose register line is missing or truncated.
  [[nodiscard]] std::optional<std::string> incomplete_kernel() const;
  [[nodiscard]] const OpenReports& reports() const { return reports_; }
  [[nodiscard]] std::int64_t lines_of_no_kernel() const;
  /// ptxas's remarks on 'setmaxnreg'.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  void read_unit(const std::string& line);

  OpenReports reports_;
  std::vector<KernelUse> kernels_;
  std::vector<KernelUse> unnamed_;  ///< before the first name, if only register lines were pasted
  std::vector<std::string> remarks_;
  bool are_kernel_properties_ = false;   ///< of the open kernel, not of a function it calls
  std::optional<std::string> cut_name_;  ///< the first kernel with a truncated register line
  bool is_relocatable_ = false;
  bool has_entry_ = false, has_function_ = false;  ///< since ptxas printed a compile time
};

/// Reads `nvlink -v`: registers and shared memory after device linking.
class NvlinkText {
 public:
  void read(const std::string& line);
  [[nodiscard]] const std::vector<KernelUse>& kernels() const { return kernels_; }
  [[nodiscard]] const OpenReports& reports() const { return reports_; }

 private:
  OpenReports reports_;
  std::vector<KernelUse> kernels_;
};

/// Reads `cuobjdump -res-usage`. Skips functions that kernels call, which have no parameter bank.
class ResourceUsage {
 public:
  void read(const std::string& line);
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  /// `is_terminated`: whether the text ends with a line feed.
  [[nodiscard]] std::optional<std::string> incomplete_kernel(bool is_terminated) const;

 private:
  void begin_code(const std::string& architecture);
  void read_usage(const std::string& line);
  void set_relocatable();

  std::vector<KernelUse> kernels_;
  std::string name_, cc_;
  // The fatbin whose code is listed; its link state applies only to its kernels.
  std::string code_kind_;                 ///< "elf"; empty outside fatbins
  std::set<std::string> codes_;           ///< "elf sm_90"
  std::size_t first_ = 0;                 ///< its first kernel
  std::size_t parameter_bank_bytes_ = 0;  ///< of the last kernel
  bool has_function_registers_ = false, is_relocatable_ = false;
  std::optional<std::string> incomplete_, cut_name_;  ///< cut_name_: of the last line
};

/// Reads errors of ptxas, nvlink and the driver.
class RefusalText {
 public:
  void read(const std::string& line);
  [[nodiscard]] const std::vector<ToolError>& all() const { return all_; }

 private:
  std::vector<ToolError> all_;
};

}  // namespace occbench::binary
