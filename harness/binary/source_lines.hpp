// SPDX-License-Identifier: Apache-2.0
// What nvcc's -lineinfo leaves in a cubin: the source line of each instruction, and the kernels' PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/binary/elf_file.hpp"

namespace occbench::binary {

struct SourceLine {
  std::string file;  ///< as the compiler was given it
  int line = 0;      ///< from 1

  bool operator==(const SourceLine&) const = default;
};

/// The table in .debug_line (DWARF 2 to 4 with NVIDIA's opcode for inlined calls). Damage to it is no
/// damage to the code: what is read is what stands before.
class LineTable {
 public:
  explicit LineTable(const ElfFile& cubin);

  /// Where in the function itself, not in what was inlined into it, its instruction at `offset` (bytes) is
  /// from. `symbol`: the function's index.
  [[nodiscard]] std::optional<SourceLine> line_at(std::uint32_t symbol, std::uint64_t offset) const;

 private:
  /// Instructions from `offset` on. `caller`: the row, from 1, of the call that was inlined; 0 for none, and
  /// of a finished function where it is known.
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t file = 0, caller = 0;
    std::int64_t line = 0;
  };
  /// The rows of a function, by offset; its unit's files are those from `first_file` on.
  struct Function {
    std::vector<Row> rows;
    std::size_t first_file = 0;
  };
  class Reader;

  std::vector<std::string> files_;
  std::unordered_map<std::uint32_t, Function> functions_;  ///< by symbol
};

/// What a kernel's PTX asks for.
struct PtxRequests {
  int blocks = 0;               ///< resident at least, of `__launch_bounds__`; 0 for no such request
  bool has_setmaxnreg = false;  ///< which ptxas may ignore
};

/// By mangled name, of the kernels whose PTX is in the cubin.
[[nodiscard]] std::unordered_map<std::string_view, PtxRequests> ptx_requests(const ElfFile& cubin);

}  // namespace occbench::binary
