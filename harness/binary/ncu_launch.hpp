// SPDX-License-Identifier: Apache-2.0
// Launches as reported by Nsight Compute, metric by metric, from any of its pages.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/binary/kernel_use.hpp"
#include "harness/binary/report_number.hpp"

namespace occbench::binary {

/// Collects launches and converts them at the end, when the report's number format is known.
class NcuLaunches {
 public:
  struct Kernel {
    std::string name, cc, block, grid;  ///< block and grid as "(16, 16, 1)"; empty if unknown
    std::int64_t launches = 1;          ///< more in a summary
  };

  /// Starts the launch `id`, unless it is the current one.
  void start(const std::string& id, const Kernel& kernel);
  /// A metric of the current launch by its name ("launch__block_size") or label ("Block Size").
  void add(std::string_view metric, std::string_view unit, std::string_view text);

  /// Launches with register counts, merged by kernel and footprint.
  [[nodiscard]] std::vector<KernelUse> kernels() const;
  [[nodiscard]] std::size_t count() const { return launches_.size(); }
  [[nodiscard]] std::size_t without_registers() const;
  [[nodiscard]] bool has_registers() const { return without_registers() < count(); }

  /// The longest known name or label before a blank at the start of `line`, or "".
  [[nodiscard]] static std::string_view known_at(std::string_view line);

 private:
  struct Cell {
    std::string unit, text;
  };
  struct Launch {
    std::string id;
    Kernel kernel;
    std::map<std::size_t, Cell> cells;  ///< by the index of the metric
  };
  [[nodiscard]] KernelUse use_of(const Launch& launch) const;

  std::vector<Launch> launches_;
  NumberStyle style_;
};

}  // namespace occbench::binary
