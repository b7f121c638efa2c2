// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "harness/attach/preload/machine_code.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t instruction_bytes = 16;

// Opcodes of ptxas 13.0: the low 9 bits; the next 3 give the operand kinds.
enum Opcode : unsigned {
  jump_absolute = 0x14a,
  jump_indirect = 0x14c,
  jump_indirect_uniform = 0x159,
  branch_indirect = 0x149,
  branch_indirect_uniform = 0x158,
  call_absolute = 0x143,
  call = 0x144,
  ret = 0x150,
  branch = 0x147,
  sleep = 0x15d,
  load_generic = 0x180,
  load_global = 0x181,
  atomic_generic = 0x18a,
  atomic_generic_cas = 0x18b,
  cache_control = 0x18f,
  fence = 0x192,
  atomic_packed = 0x1a2,
  atomic_float = 0x1a3,
  atomic_global = 0x1a8,
  atomic_global_cas = 0x1a9,
};

struct Instruction {
  std::uint64_t low = 0, high = 0;
  [[nodiscard]] unsigned opcode() const { return low & 0x1ff; }
  [[nodiscard]] bool has_immediate() const { return ((low >> 9) & 7) == 4; }
};

/// Target of a branch, relative to the next instruction.
std::int64_t offset_of(const Instruction& i, int capability) {
  constexpr int with_new_offsets = 90;
  const auto signed_from = [](std::uint64_t value, unsigned bits) {
    return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
  };
  const std::uint64_t high = i.high & 0x3ffff;
  if (capability < with_new_offsets) return signed_from(i.low >> 32 | high << 32, 50);
  return 4 * signed_from(((i.low >> 34 | high << 30) << 8) | ((i.low >> 16) & 0xff), 56);
}

/// A load that is neither weak nor of constant memory: it sees what other blocks write.
bool is_strong(const Instruction& i) {
  constexpr std::uint64_t weak = 0, constant = 4;
  const std::uint64_t strength = (i.high >> 13) & 0xf;
  return strength != weak && strength != constant;
}

bool sees_other_blocks(const Instruction& i) {
  switch (i.opcode()) {
    case load_generic:
    case load_global:
      return is_strong(i);
    case atomic_generic:
    case atomic_generic_cas:
    case atomic_packed:
    case atomic_float:
    case atomic_global:
    case atomic_global_cas:
    case cache_control:
    case fence:
    case sleep:
      return true;
    default:
      return false;
  }
}

/// Every cycle lies between a backward branch and its target.
struct Flow {
  struct Stretch {
    std::int64_t from = 0, to = 0;
  };
  std::vector<Stretch> loops;
  std::vector<std::int64_t> seen;  ///< positions of instructions that see other blocks' writes
  std::optional<std::int64_t> first_call;
  bool is_known = true;
};

void add(Flow& flow, const Instruction& i, std::int64_t place, int capability) {
  switch (i.opcode()) {
    case branch:
    case call: {
      // A branch by a uniform predicate still has a target; a call through a register has none.
      if (i.opcode() == call && !i.has_immediate()) flow.is_known = false;
      const std::int64_t to = place + static_cast<std::int64_t>(instruction_bytes) + offset_of(i, capability);
      if (to <= place) flow.loops.push_back({to, place});
      if (i.opcode() == call && !flow.first_call) flow.first_call = place;
      return;
    }
    case ret:  // to after any call in this section
      if (flow.first_call && *flow.first_call < place) flow.loops.push_back({*flow.first_call, place});
      return;
    case jump_absolute:
    case jump_indirect:
    case jump_indirect_uniform:
    case branch_indirect:
    case branch_indirect_uniform:
    case call_absolute:
      flow.is_known = false;
      return;
    default:
      if (sees_other_blocks(i)) flow.seen.push_back(place);
  }
}

}  // namespace

BlockWaits block_waits(std::span<const unsigned char> code, int capability, bool is_function) {
  constexpr int first = 80, beyond = 130;  // range of capabilities this was verified for
  if (capability < first || capability >= beyond) return BlockWaits::perhaps;
  Flow flow;
  for (std::size_t at = 0; at + instruction_bytes <= code.size() && flow.is_known; at += instruction_bytes) {
    Instruction i;
    std::memcpy(&i.low, code.data() + at, sizeof i.low);
    std::memcpy(&i.high, code.data() + at + sizeof i.low, sizeof i.high);
    add(flow, i, static_cast<std::int64_t>(at), capability);
  }
  if (!flow.is_known || (is_function && !flow.seen.empty())) return BlockWaits::perhaps;
  const bool waits = std::ranges::any_of(flow.seen, [&](std::int64_t place) {
    return std::ranges::any_of(
        flow.loops, [&](const Flow::Stretch& loop) { return loop.from <= place && place <= loop.to; });
  });
  return waits ? BlockWaits::perhaps : BlockWaits::none;
}

}  // namespace occbench::attach
