// SPDX-License-Identifier: Apache-2.0
// A kernel as the model sees it: the instructions of its loop with the schedule that the compiler wrote into
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace occbench::theory {

/// What executes an instruction.
enum class Pipe : std::uint8_t {
  none,       ///< takes an issue slot, and nothing else
  fma,        ///< FP32 multiply, add and FMA: either half of the FMA pipe
  fma_heavy,  ///< integer multiply-add, sums of halves: one of the halves
  alu,        ///< integer, logic, comparison, selection
  fp64,
  special,    ///< reciprocals, roots, conversions, counts of bits ...
  uniform,    ///< the warp-wide integer unit
  tensor,     ///< mma.sync
  warpgroup,  ///< wgmma
  global_load,
  global_store,
  shared_load,
  shared_store,
  local_load,  ///< a spilled register comes back
  local_store,
  async_load,      ///< cp.async: global to shared, register by register
  bulk_load,       ///< cp.async.bulk: a whole stage
  shared_unit,     ///< mbarriers and fences: as long as a load from shared memory
  barrier,         ///< waits for the block
  commit_copies,   ///< makes a group of the cp.async so far
  wait_copies,     ///< for all but `count` groups of copies
  wait_stage,      ///< for the oldest bulk copy
  wait_warpgroup,  ///< for all but `count` wgmma
  branch,
  other,  ///< constants, special registers: a short latency
};
constexpr auto pipes = static_cast<std::size_t>(Pipe::other) + 1;

/// One instruction of the loop. Scoreboards 0 to 5 as the compiler assigned them, -1 for none.
struct Instruction {
  Pipe pipe = Pipe::none;
  bool taken = false;        ///< a branch that is
  bool wide = false;         ///< an integer multiply-add with the high half of its product, too
  bool in_register = false;  ///< a barrier's id or number of threads
  bool next = false;         ///< an access to global memory that begins where the warp's last one ended
  bool guessed = false;      ///< nobody knows what executes it, nor for how long
  bool same = false;         ///< a load that every trip makes of the same address
  std::uint8_t stall = 1;    ///< cycles before the warp's next may issue
  std::int8_t write = -1;    ///< held until the result is there
  std::int8_t read = -1;     ///< held until the operands have been read
  std::uint8_t wait = 0;     ///< mask of scoreboards that must be free
  std::uint8_t reads[2] = {0,
                           0};  ///< registers of the even and the odd bank, less what the operand cache kept
  std::uint8_t reads_alone[2] = {0, 0};  ///< the same after another warp's instruction
  std::uint16_t bytes = 0;               ///< per lane, of a memory access
  std::uint16_t count =
      0;  ///< columns of a wgmma; copies or groups that a wait leaves pending; how far a branch goes back
  std::int32_t line = 0;  ///< of the code, where it stands: eight instructions
};

/// A variant's description. Throughout: one trip of its loop.
struct Program {
  std::string family;
  std::string variant;
  int registers_per_thread = 0;
  std::size_t local_bytes = 0;  ///< stack per thread
  std::size_t static_smem_bytes = 0;
  int block_limit = 0;    ///< threads, by __launch_bounds__; 0: none
  double iterations = 1;  ///< that one trip of the loop makes
  std::vector<Instruction> loop;
  std::vector<std::string> guessed;  ///< opcodes in it that the model does not know, ascending

  /// Of the loop's instructions, those that it does not know.
  [[nodiscard]] double guessed_share() const;
  [[nodiscard]] int count(Pipe pipe) const;
  /// Places apart that a warp stores to in global memory.
  [[nodiscard]] int places() const;
  /// Bytes per lane of all accesses of this pipe.
  [[nodiscard]] double bytes(Pipe pipe) const;
  /// Lines of code that the loop goes through.
  [[nodiscard]] std::size_t code_lines() const;
  /// Bytes per lane of the loads that every trip makes of the same addresses.
  [[nodiscard]] double same_bytes() const;
};

/// A loop with more than this share of opcodes that the model does not know is not predicted.
constexpr double most_guessed = 0.02;

/// By family and variant.
using Programs = std::map<std::pair<std::string, std::string>, Program>;

/// Reads descriptions as `occbench audit --describe` writes them. Throws std::invalid_argument with the
/// line's number.
Programs parse_programs(std::string_view text);

}  // namespace occbench::theory
