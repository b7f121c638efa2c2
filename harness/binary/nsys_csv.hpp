// SPDX-License-Identifier: Apache-2.0
// Launches from `nsys stats --report cuda_gpu_trace`, as csv, tsv or columns, and from `nvprof
// --print-gpu-trace --csv`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/binary/byte_source.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/binary/report_number.hpp"
#include "harness/io/csv.hpp"

namespace occbench::binary {

/// Reads the table line by line and skips the output of other programs. Shared memory is rounded unless it is
/// in bytes.
class NsysCsv {
 public:
  void read(const std::string& printed);
  /// Whether there was a table, even one without kernels.
  [[nodiscard]] bool is_nsys() const { return is_nsys_; }
  [[nodiscard]] bool is_nvprof() const { return is_nvprof_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// Launches without registers or shape.
  [[nodiscard]] std::int64_t unknown_launches() const { return unknown_launches_; }
  /// Merged by kernel, footprint and device.
  [[nodiscard]] std::vector<KernelUse> kernels() { return launches_.take(); }

 private:
  enum Field {
    duration,
    grid_x,
    grid_y,
    grid_z,
    block_x,
    block_y,
    block_z,
    registers,
    static_smem,
    dynamic_smem,
    device,
    name,
    field_count
  };
  enum class Layout { cells, columns };
  struct Span {
    std::size_t begin, end;
  };
  bool read_header(const csv::Row& cells);
  /// Tries each layout.
  bool read_any_header(const std::string& line);
  /// The row's cells, of which the last may be missing; empty if the line is not a row.
  csv::Row cells_of(const std::string& line);
  void read_row(const csv::Row& cells);
  [[nodiscard]] const std::string& cell(const csv::Row& cells, Field field) const;
  [[nodiscard]] std::optional<ReportNumber> number(const csv::Row& cells, Field field) const;

  csv::Row header_;
  Layout layout_ = Layout::cells;
  char separator_ = ',';
  std::vector<Span> spans_;  ///< column extents, from the dashes below the header
  std::array<std::size_t, field_count> at_{};
  std::array<std::string, field_count> units_;
  Launches launches_;
  std::int64_t unknown_launches_ = 0;
  bool is_nsys_ = false, is_nvprof_ = false, is_cut_ = false;
};

/// Launches from `nsys export --type sqlite`: exact bytes, the grid and the device. Throws Damaged if the
/// file is not a database or has no nsys table. `left_out` counts launches without registers.
[[nodiscard]] KernelUses read_nsys_sqlite(const ByteSource& source);

}  // namespace occbench::binary
