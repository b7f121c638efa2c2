// SPDX-License-Identifier: Apache-2.0
// A kernel as the model sees it: the instructions of its loop, with the compiler's schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace occbench::theory {

/// The unit that executes an instruction.
enum class Pipe : std::uint8_t {
  none,       ///< takes an issue slot only
  fma,        ///< FP32 multiply, add and FMA: either half of the FMA pipe
  fma_heavy,  ///< integer multiply-add, FP16 addition: one half of the FMA pipe
  alu,        ///< integer, logic, comparison, selection
  fp64,
  special,    ///< reciprocal, root, conversion, bit count ...
  uniform,    ///< the warp-wide integer unit
  tensor,     ///< mma.sync
  warpgroup,  ///< wgmma
  global_load,
  global_store,
  shared_load,
  shared_store,
  local_load,  ///< reloads a spilled register
  local_store,
  async_load,      ///< cp.async: global to shared memory, per lane
  bulk_load,       ///< cp.async.bulk: a whole pipeline stage
  shared_unit,     ///< mbarriers and fences, with the latency of shared memory
  barrier,         ///< bar.sync
  commit_copies,   ///< cp.async.commit_group
  wait_copies,     ///< until at most `count` groups of copies are in flight
  wait_stage,      ///< until the oldest bulk copy completes
  wait_warpgroup,  ///< until at most `count` groups of wgmma are in flight
  branch,
  other,  ///< constants, special registers
};
constexpr auto pipe_count = static_cast<std::size_t>(Pipe::other) + 1;

/// One instruction of the loop. Scoreboards 0 to 5 as the compiler assigned them, -1 for none.
struct Instruction {
  Pipe pipe = Pipe::none;
  bool taken = false;                    ///< branch that is taken
  bool wide = false;                     ///< integer multiply-add with a 64-bit product
  bool in_register = false;              ///< barrier whose id or thread count is in a register
  bool contiguous = false;               ///< global access that begins where the warp's previous one ended
  bool guessed = false;                  ///< unknown opcode: guessed pipe and latency
  bool same_address = false;             ///< load from the same addresses in every trip
  std::uint8_t stall = 1;                ///< cycles before the warp's next instruction may issue
  std::int8_t write = -1;                ///< scoreboard held until the result is available
  std::int8_t read = -1;                 ///< scoreboard held until the operands are read
  std::uint8_t wait = 0;                 ///< mask of scoreboards that must be released
  std::uint8_t reads[2] = {0, 0};        ///< registers read of the even and odd bank, less operand-cache hits
  std::uint8_t reads_alone[2] = {0, 0};  ///< the same if another warp issued in between
  std::uint16_t bytes = 0;               ///< per lane, of a memory access
  std::uint16_t count =
      0;  ///< wgmma: columns; wait: copies or groups left in flight; branch: instructions back
  std::int32_t line = 0;  ///< instruction-cache line, of eight instructions
};

/// The machine code of a variant. Counts and bytes are per trip of its loop.
struct Program {
  std::string family;
  std::string variant;
  int registers_per_thread = 0;
  std::size_t local_bytes = 0;  ///< stack per thread
  std::size_t static_smem_bytes = 0;
  int block_limit = 0;    ///< threads, by __launch_bounds__; 0: none
  double iterations = 1;  ///< per trip: an unrolled loop makes several
  std::vector<Instruction> loop;
  std::vector<std::string> guessed;  ///< unknown opcodes in it, ascending

  /// Share of instructions with unknown opcodes.
  [[nodiscard]] double guessed_share() const;
  [[nodiscard]] int count(Pipe pipe) const;
  /// Separate (not contiguous) places in global memory to which a warp stores.
  [[nodiscard]] int store_places() const;
  /// Bytes per lane of all accesses of this pipe.
  [[nodiscard]] double bytes(Pipe pipe) const;
  /// Instruction-cache lines of the loop.
  [[nodiscard]] std::size_t code_lines() const;
  /// Bytes per lane of loads from the same addresses in every trip.
  [[nodiscard]] double same_address_bytes() const;
};

/// A loop with more than this share of unknown opcodes is not predicted.
constexpr double max_guessed_share = 0.02;

/// Keyed by family and variant.
using Programs = std::map<std::pair<std::string, std::string>, Program>;

/// Parses descriptions written by `occbench audit --describe`. Throws std::invalid_argument with the line
/// number.
Programs parse_programs(std::string_view text);

}  // namespace occbench::theory
