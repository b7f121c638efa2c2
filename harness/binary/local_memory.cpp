// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/local_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace occbench::binary {
namespace {

constexpr std::size_t instruction_bytes = 16;
constexpr unsigned stack_pointer = 1;  // R1, by the ABI

/// One instruction's encoding.
struct Instruction {
  std::uint64_t low, high;

  [[nodiscard]] unsigned opcode() const { return low & 0xfff; }
  [[nodiscard]] bool never_runs() const { return ((low >> 12) & 0xf) == 0xf; }  // @!PT
  [[nodiscard]] unsigned destination() const { return (low >> 16) & 0xff; }
  [[nodiscard]] unsigned a() const { return (low >> 24) & 0xff; }
  [[nodiscard]] unsigned b() const { return (low >> 32) & 0xff; }
  [[nodiscard]] unsigned c() const { return high & 0xff; }
  [[nodiscard]] unsigned width_bytes() const { return width_of(high >> 9); }

  /// Access size by its three bits: U8, S8, U16, S16, 32, 64, 128.
  static unsigned width_of(std::uint64_t bits) {
    constexpr std::array<unsigned, 8> widths = {1, 1, 2, 2, 4, 8, 16, 16};
    return widths[bits & 7];
  }
};

constexpr unsigned load_local = 0x983, store_local = 0x387;
constexpr unsigned barrier_of_register = 0x51d,
                   barrier_of_registers = 0x31d;  // the id in a register; id and thread count

constexpr unsigned set_max_registers = 0x9c8,  // USETMAXREG, which setmaxnreg becomes
    take_registers = 6;                        // its TRY_ALLOC, of setmaxnreg.inc

constexpr unsigned allocate_tensor_columns = 0x5e3,  // UTCATOMSWS.FIND_AND_SET, of tcgen05.alloc
    uniform_move = 0x882;                            // UMOV of an immediate

/// The columns allocated by the instruction at `at`: a number of 32s in a uniform register that was just set.
std::optional<int> allocated_columns(Bytes code, std::size_t at, unsigned number_register) {
  constexpr std::size_t max_distance = 8;
  constexpr int unit = 32, most = 512;
  for (std::size_t i = 1; i <= max_distance && i * instruction_bytes <= at; ++i) {
    Instruction before{};
    std::memcpy(&before, code.data() + at - i * instruction_bytes, instruction_bytes);
    const bool is_vector_arithmetic = (before.opcode() & 0x1ff) < 0x80;  // R4 is not UR4
    if (before.destination() != number_register || is_vector_arithmetic) continue;
    const std::uint64_t number = before.low >> 32;
    if (before.opcode() != uniform_move || number > most / unit) return std::nullopt;
    return static_cast<int>(number) * unit;
  }
  return std::nullopt;
}

/// Whether the instruction computes with the stack's address: it reads R1 as one of its three operands. The
/// second operand is a register in one form of an instruction; in others an immediate, constant or uniform
/// register.
bool takes_address(const Instruction& i) {
  const unsigned form = i.opcode() >> 9, base = i.opcode() & 0x1ff;
  const bool is_control = base >= 0x140 && base < 0x160;  // BRA, BMOV, ...: these fields are not registers
  const bool is_move = base == 0x002;                     // has no first operand
  if (is_control || i.destination() == stack_pointer) return false;
  return (i.a() == stack_pointer && !is_move) || (form == 1 && i.b() == stack_pointer) ||
         i.c() == stack_pointer;
}

/// Loads and stores of local memory in a kernel's own code.
class LocalAccesses {
 public:
  void add(const Instruction& i) {
    if (i.opcode() == load_local || i.opcode() == store_local) {
      if (i.a() == stack_pointer)
        bytes_at_constants_ += i.width_bytes();
      else
        has_computed_ = true;
    } else if (takes_address(i)) {
      has_computed_ = true;
    } else if (i.destination() == stack_pointer && !sets_frame(i)) {
      has_frame_pointer_ = true;
    }
  }

  [[nodiscard]] bool has_array() const { return has_computed_; }
  /// Spilled registers are at constant offsets from the stack pointer or, with alloca(), from a frame
  /// pointer.
  [[nodiscard]] std::optional<std::uint64_t> spill_bytes() const {
    if (has_computed_ && (bytes_at_constants_ > 0 || has_frame_pointer_)) return std::nullopt;
    return bytes_at_constants_;
  }

 private:
  /// A frame of constant size: R1 is a constant, or R1 plus an immediate.
  static bool sets_frame(const Instruction& i) {
    constexpr unsigned moves[] = {0xa02, 0xb82, 0x624}, add_immediate = 0x810;  // MOV, LDC, IMAD.MOV; IADD3
    return std::ranges::find(moves, i.opcode()) != std::end(moves) ||
           (i.opcode() == add_immediate && i.a() == stack_pointer);
  }

  std::uint64_t bytes_at_constants_ = 0;
  bool has_computed_ = false, has_frame_pointer_ = false;
};

}  // namespace

LocalMemory read_local_memory(Bytes code, std::size_t own_bytes) {
  LocalMemory found;
  LocalAccesses own, functions;
  for (std::size_t at = 0; at + instruction_bytes <= code.size(); at += instruction_bytes) {
    Instruction i{};
    std::memcpy(&i, code.data() + at, instruction_bytes);
    if (i.never_runs()) continue;
    (at < own_bytes ? own : functions).add(i);
    if (i.opcode() == barrier_of_register || i.opcode() == barrier_of_registers) {
      found.barrier_id_at_run_time = true;
    } else if (i.opcode() == allocate_tensor_columns) {
      const auto columns = allocated_columns(code, at, i.b());
      if (!columns || !found.tensor_columns)
        found.tensor_columns.reset();
      else
        found.tensor_columns = std::max(*found.tensor_columns, *columns);
    } else if (i.opcode() == set_max_registers) {
      const auto count = static_cast<int>((i.low >> 32) & 0x1ff);  // up to 256
      int& least = found.least_requested_registers;
      least = least == 0 ? count : std::min(least, count);
      found.most_requested_registers = std::max(found.most_requested_registers, count);
      found.takes_registers |= ((i.high >> 8) & 7) == take_registers;
    }
  }
  found.spill_bytes = own.spill_bytes();
  found.has_array = own.has_array() || functions.has_array();
  return found;
}

std::optional<std::uint64_t> noted_spill_bytes(Bytes code, std::span<const std::uint32_t> offsets,
                                               bool has_short_instructions) {
  constexpr std::uint64_t short_load = 0xef4, short_store = 0xef5;
  const std::size_t size = has_short_instructions ? sizeof(std::uint64_t) : instruction_bytes;
  std::uint64_t bytes = 0;
  for (const std::size_t at : offsets) {
    Instruction i{};
    if (code.size() < size || at > code.size() - size) return std::nullopt;
    std::memcpy(&i, code.data() + at, size);
    const std::uint64_t short_opcode = i.low >> 52;
    const bool is_spill = has_short_instructions ? short_opcode == short_load || short_opcode == short_store
                                                 : i.opcode() == load_local || i.opcode() == store_local;
    if (!is_spill) return std::nullopt;
    bytes += has_short_instructions ? Instruction::width_of(i.low >> 48) : i.width_bytes();
  }
  return bytes;
}

}  // namespace occbench::binary
