// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "harness/theory/hardware.hpp"

namespace occbench::theory {

namespace {

struct Opcode {
  std::string_view name;
  Pipe pipe;
};

// What is not here goes to `other` when it holds a scoreboard for its result, to the uniform unit when it
// begins with a U, and to the ALU otherwise. `as_the_rule_has_it` lists those of which that is known; of the
// rest it is a guess, which the program counts. On an H200 what computes was timed in all warps of a block:
// I2F, F2I and counts of bits take the special functions' pipe. Not timed: conversions to and from 64 bits,
// products of halves.
// clang-format off
constexpr Opcode opcodes[] = {
    {"FFMA", Pipe::fma},
    {"FADD", Pipe::fma},
    {"FMUL", Pipe::fma},
    {"HFMA2", Pipe::fma},
    {"IMAD", Pipe::fma_heavy},
    {"IDP", Pipe::fma_heavy},
    {"HADD2", Pipe::fma_heavy},
    {"FFMA2", Pipe::fma},
    {"DFMA", Pipe::fp64},
    {"DADD", Pipe::fp64},
    {"DMUL", Pipe::fp64},
    {"MUFU", Pipe::special},
    {"F2I", Pipe::special},
    {"I2F", Pipe::special},
    {"FRND", Pipe::special},
    {"POPC", Pipe::special},
    {"FLO", Pipe::special},
    {"BREV", Pipe::special},
    {"HMMA", Pipe::tensor},
    {"HGMMA", Pipe::warpgroup},
    {"LDG", Pipe::global_load},
    {"LD", Pipe::global_load},
    {"STG", Pipe::global_store},
    {"ST", Pipe::global_store},
    {"LDS", Pipe::shared_load},
    {"STS", Pipe::shared_store},
    {"SHFL", Pipe::shared_load},
    {"LDL", Pipe::local_load},
    {"LDLU", Pipe::local_load},
    {"STL", Pipe::local_store},
    {"LDGSTS", Pipe::async_load},
    {"UBLKCP", Pipe::bulk_load},
    {"BAR", Pipe::barrier},
    {"SYNCS", Pipe::shared_unit},
    {"MEMBAR", Pipe::shared_unit},
    {"FENCE", Pipe::shared_unit},
    {"DEPBAR", Pipe::wait_copies},
    {"WARPGROUP", Pipe::none},
    {"BRA", Pipe::branch},
    {"BSSY", Pipe::none},
    {"BSYNC", Pipe::branch},
    {"NOP", Pipe::none},
    {"YIELD", Pipe::none},
    {"WARPSYNC", Pipe::none},
    {"LDGDEPBAR", Pipe::commit_copies},
    {"EXIT", Pipe::none},
};
// clang-format on

// clang-format off
constexpr std::string_view as_the_rule_has_it[] = {
    "SHF", "LOP3", "IADD3", "MOV", "ISETP", "LEA", "VIADD", "FMNMX", "FSETP", "FSEL", "PLOP3", "SEL", "PRMT",
    "FMNMX3", "VOTE", "IABS", "IMNMX", "VIMNMX", "VIMNMX3", "VIADDMNMX", "SGXT", "BMSK", "LOP", "FCHK", "P2R",
    "R2P", "VABSDIFF", "VABSDIFF4", "IADD", "HSETP2", "HMNMX2", "FSET",
    "LDC", "CS2R", "S2R", "S2UR",
    "UIADD3", "UISETP", "ULDC", "LDCU", "UMOV", "USHF", "ULOP3", "UIMAD", "ULEA", "R2UR", "UPRMT", "USEL",
    "VOTEU", "UPLOP3", "UFLO", "UPOPC", "UBREV", "UP2UR", "UR2UP", "USGXT", "UBMSK", "UIABS", "UVIADD",
    "UIMNMX", "UVIMNMX", "ELECT",
};
// clang-format on

constexpr auto line_instructions = static_cast<int>(fact("code_line"));
constexpr std::size_t most_instructions = 1 << 20;  // of all variants of a text

/// Words of a line, at most eight.
struct Words {
  std::array<std::string_view, 8> word{};
  std::size_t count = 0;
};
Words split(std::string_view line) {
  Words w;
  while (!line.empty() && w.count < w.word.size()) {
    const auto end = std::min(line.find(' '), line.size());
    if (end > 0) w.word[w.count++] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return w;
}

template <class T>
T parsed(std::string_view text, auto... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("'" + std::string(text) + "' is no number");
  return value;
}
/// A whole number that the model has room for.
template <class T>
T number(std::string_view text, T least, T most, int base = 10) {
  const T value = parsed<T>(text, base);
  if (value < least || value > most)
    throw std::invalid_argument("'" + std::string(text) + "' is not " + std::to_string(least) + " to " +
                                std::to_string(most));
  return value;
}
double iterations(std::string_view text) {
  const double value = parsed<double>(text);
  if (!(value > 0 && value <= 1e6))
    throw std::invalid_argument("'" + std::string(text) + "' is no number of iterations");
  return value;
}
/// Registers read of one bank, from "even odd".
std::uint8_t digit(std::string_view text, int bank) {
  if (text.size() != 2) throw std::invalid_argument("'" + std::string(text) + "' is not two digits");
  return number<std::uint8_t>(text.substr(static_cast<std::size_t>(bank), 1), 0, 9);
}
std::int8_t scoreboard(std::string_view text) {
  return text == "-" ? std::int8_t{-1} : number<std::int8_t>(text, 0, 5);
}
/// Of an access, from bits.
std::uint16_t bytes_per_lane(std::string_view text) { return number<std::uint16_t>(text, 8, 1024) / 8; }
/// Columns, copies, groups or instructions.
std::uint16_t count_of(std::string_view text) { return number<std::uint16_t>(text, 0, 65535); }

Instruction instruction(std::string_view name, const Words& w) {
  if (w.count != 7) throw std::invalid_argument("an instruction has seven words");
  Instruction i;
  i.stall = number<std::uint8_t>(w.word[1], 0, 15);
  i.write = scoreboard(w.word[2]);
  i.read = scoreboard(w.word[3]);
  i.wait = number<std::uint8_t>(w.word[4], 0, 0x3f, 16);
  for (const int bank : {0, 1}) {
    i.reads[bank] = digit(w.word[5], bank);
    i.reads_alone[bank] = digit(w.word[6], bank);
  }
  const auto dot = std::min(name.find('.'), name.size());
  const std::string_view base = name.substr(0, dot);
  const std::string_view rest = name.substr(std::min(dot + 1, name.size()));
  const auto* const known = std::ranges::find(opcodes, base, &Opcode::name);
  if (known != std::end(opcodes))
    i.pipe = known->pipe;
  else if (base.starts_with("U") || base == "R2UR")
    i.pipe = Pipe::uniform;
  else
    i.pipe = i.write >= 0 ? Pipe::other : Pipe::alu;
  i.guessed = known == std::end(opcodes) &&
              std::ranges::find(as_the_rule_has_it, base) == std::end(as_the_rule_has_it);
  switch (i.pipe) {
    case Pipe::global_load:
    case Pipe::global_store:
      i.next = rest.find(".NEXT") != std::string_view::npos;
      i.same = rest.ends_with(".SAME");
      i.bytes = bytes_per_lane(rest.substr(0, rest.find('.')));
      break;
    case Pipe::shared_load:
    case Pipe::shared_store:
    case Pipe::local_load:
    case Pipe::local_store:
    case Pipe::async_load:
      // A shuffle goes the way of a load from shared memory, 4 bytes a lane.
      i.bytes = base == "SHFL" ? 4 : bytes_per_lane(rest);
      break;
    case Pipe::fma_heavy:
      i.wide = rest == "WIDE";
      break;
    case Pipe::warpgroup:
      i.count = count_of(rest);
      break;
    case Pipe::branch:
      i.taken = rest.starts_with("TAKEN");
      if (i.taken && rest.size() > 6) i.count = count_of(rest.substr(6));
      break;
    case Pipe::barrier:
      i.in_register = rest == "REGISTER";
      break;
    case Pipe::wait_copies:
      i.count = count_of(rest.substr(rest.rfind('.') + 1));
      break;
    case Pipe::shared_unit:
      if (rest == "PHASECHK") i.pipe = Pipe::wait_stage;
      break;
    case Pipe::none:
      if (base == "WARPGROUP" && rest.starts_with("WAIT.")) {
        i.pipe = Pipe::wait_warpgroup;
        i.count = count_of(rest.substr(5));
      }
      break;
    default:
      break;
  }
  return i;
}

/// Tells each instruction of a loop in which line of the code it stands.
void place(std::vector<Instruction>& loop) {
  std::int32_t at = 0;
  for (Instruction& i : loop) {
    i.line = at / line_instructions;
    // a loop that makes no trip is not in the text: what comes behind it stands farther on than is seen
    at = i.taken && i.count > 0 ? std::max(0, at - i.count) : at + 1;
  }
}

}  // namespace

int Program::count(Pipe pipe) const {
  return static_cast<int>(std::ranges::count(loop, pipe, &Instruction::pipe));
}

int Program::places() const {
  return static_cast<int>(std::ranges::count_if(
      loop, [](const Instruction& i) { return i.pipe == Pipe::global_store && !i.next; }));
}

double Program::guessed_share() const {
  if (loop.empty()) return 0;
  return static_cast<double>(std::ranges::count(loop, true, &Instruction::guessed)) /
         static_cast<double>(loop.size());
}

double Program::bytes(Pipe pipe) const {
  double sum = 0;
  for (const Instruction& i : loop)
    if (i.pipe == pipe) sum += i.bytes;
  return sum;
}

std::size_t Program::code_lines() const {
  std::set<std::int32_t> lines;
  for (const Instruction& i : loop) lines.insert(i.line);
  return lines.size();
}

double Program::same_bytes() const {
  double sum = 0;
  for (const Instruction& i : loop)
    if (i.same) sum += i.bytes;
  return sum;
}

Programs parse_programs(std::string_view text) {
  Programs programs;
  std::vector<Program*> sharing;  // of the same loop: the variants whose lines came last
  std::set<std::string> guessed;  // opcodes of it
  std::vector<Instruction> loop;
  struct Block {
    std::size_t copies, begin;
  };
  std::vector<Block> open;
  std::size_t room = most_instructions;  // a copy costs the text nothing, and the memory as much as any
  const auto take = [&](std::size_t instructions) {
    if (room < instructions) throw std::invalid_argument("more instructions than the model has room for");
    room -= instructions;
  };
  const auto finish = [&] {
    if (!open.empty()) throw std::invalid_argument("a block lacks its }");
    place(loop);
    if (sharing.size() > 1) take(loop.size() * (sharing.size() - 1));
    for (Program* program : sharing) {
      program->loop = loop;
      program->guessed = {guessed.begin(), guessed.end()};
    }
    guessed.clear();
    sharing.clear();
    loop.clear();
  };
  int line_number = 1;
  try {
    for (; !text.empty(); ++line_number) {
      const auto end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty() || line.front() == '#') continue;
      const Words w = split(line);
      if (line.front() >= 'a' && line.front() <= 'z') {
        if (w.count != 7) throw std::invalid_argument("a variant's line has seven words");
        if (!loop.empty() || !open.empty()) finish();
        std::pair key{std::string(w.word[0]), std::string(w.word[1])};
        Program& program = programs[key];
        program = {.family = key.first,
                   .variant = key.second,
                   .registers_per_thread = number(w.word[2], 0, 255),
                   .local_bytes = number<std::size_t>(w.word[3], 0, 512 << 10),
                   .static_smem_bytes = number<std::size_t>(w.word[4], 0, 1 << 20),
                   .block_limit = number(w.word[5], 0, 1024),
                   .iterations = iterations(w.word[6]),
                   .loop = {}};
        sharing.push_back(&program);
        continue;
      }
      if (sharing.empty()) throw std::invalid_argument("an instruction before the first variant");
      if (line == "}") {
        if (open.empty()) throw std::invalid_argument("a } without its block");
        const Block block = open.back();
        open.pop_back();
        const std::size_t length = loop.size() - block.begin;
        if (block.copies > 1) take(length * (block.copies - 1));
        loop.reserve(block.begin + length * block.copies);
        for (std::size_t i = length; i < length * block.copies; ++i)
          loop.push_back(loop[block.begin + i - length]);
        loop.resize(block.begin + length * block.copies);  // none of it
        continue;
      }
      const auto star = w.word[0].find('*');
      const auto copies = star == std::string_view::npos
                              ? std::size_t{1}
                              : number<std::size_t>(w.word[0].substr(0, star), 0, 65535);
      const std::string_view name = star == std::string_view::npos ? w.word[0] : w.word[0].substr(star + 1);
      if (name == "{") {
        open.push_back({copies, loop.size()});
      } else {
        take(copies);
        loop.insert(loop.end(), copies, instruction(name, w));
        if (copies > 0 && loop.back().guessed) guessed.emplace(name.substr(0, name.find('.')));
      }
    }
    finish();
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument("line " + std::to_string(line_number) + ": " + e.what());
  }
  return programs;
}

}  // namespace occbench::theory
