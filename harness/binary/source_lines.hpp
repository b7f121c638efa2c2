// SPDX-License-Identifier: Apache-2.0
// Data of nvcc's -lineinfo in a cubin: the source line of each instruction, and the kernels' PTX.
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
  std::string file;  ///< as passed to the compiler
  int line = 0;      ///< from 1

  bool operator==(const SourceLine&) const = default;
};

/// The table in .debug_line (DWARF 2 to 4 with NVIDIA's opcode for inlined calls). If it is damaged, the part
/// before the damage is used; the code is unaffected.
class LineTable {
 public:
  explicit LineTable(const ElfFile& cubin);

  /// The source line in the function itself, not in inlined functions, of its instruction at `offset`
  /// (bytes). `symbol`: the function's index.
  [[nodiscard]] std::optional<SourceLine> line_at(std::uint32_t symbol, std::uint64_t offset) const;

 private:
  /// Instructions from `offset` on. `caller`: the row (from 1) of the inlined call; 0 for none, and in
  /// finished functions once it is resolved.
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t file = 0, caller = 0;
    std::int64_t line = 0;
  };
  /// The rows of a function by offset; its unit's files begin at `first_file`.
  struct Function {
    std::vector<Row> rows;
    std::size_t first_file = 0;
  };
  class Reader;

  std::vector<std::string> files_;
  std::unordered_map<std::uint32_t, Function> functions_;  ///< by symbol
};

/// Requests in a kernel's PTX.
struct PtxRequests {
  int blocks = 0;               ///< least resident, from `__launch_bounds__`; 0: none
  bool has_setmaxnreg = false;  ///< ptxas may ignore it
};

/// By mangled name, for the kernels whose PTX is in the cubin.
[[nodiscard]] std::unordered_map<std::string_view, PtxRequests> ptx_requests(const ElfFile& cubin);

}  // namespace occbench::binary
