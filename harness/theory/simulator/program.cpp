// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/theory/hardware.hpp"

namespace occbench::theory {

namespace {

struct Opcode {
  std::string_view name;
  Pipe pipe;
};

// Opcodes not listed here get a default pipe: the uniform unit if they begin with U, `other` if they hold a
// scoreboard for their result, else the ALU. This is verified for `known_defaults`; for others it is a guess,
// which the program counts. Arithmetic was timed on an H200, except 64-bit conversions and FP16 products;
// DSETP runs at 89 % of DADD's rate, in a loop where each has an IADD3.
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
    {"DSETP", Pipe::fp64},
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
constexpr std::string_view known_defaults[] = {
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
constexpr std::size_t max_instructions = 1 << 20;  // in all variants of a text

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
T parse_number(std::string_view text, auto... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("'" + std::string(text) + "' is not a number");
  return value;
}
/// A whole number in [min, max].
template <class T>
T number(std::string_view text, T min, T max, int base = 10) {
  const T value = parse_number<T>(text, base);
  if (value < min || value > max)
    throw std::invalid_argument("'" + std::string(text) + "' is not " + std::to_string(min) + " to " +
                                std::to_string(max));
  return value;
}
double iterations(std::string_view text) {
  const double value = parse_number<double>(text);
  if (!(value > 0 && value <= 1e6))
    throw std::invalid_argument("'" + std::string(text) + "' is not a number of iterations");
  return value;
}
/// Registers read from each bank: a digit for the even bank and one for the odd.
std::uint8_t registers_read(std::string_view text, int bank) {
  if (text.size() != 2) throw std::invalid_argument("'" + std::string(text) + "' is not two digits");
  return number<std::uint8_t>(text.substr(static_cast<std::size_t>(bank), 1), 0, 9);
}
std::int8_t scoreboard(std::string_view text) {
  return text == "-" ? std::int8_t{-1} : number<std::int8_t>(text, 0, 5);
}
/// From an access width in bits.
std::uint16_t bytes_per_lane(std::string_view text) { return number<std::uint16_t>(text, 8, 1024) / 8; }
std::uint16_t count_of(std::string_view text) { return number<std::uint16_t>(text, 0, 65535); }

/// Sets the pipe of an opcode, and whether it is a guess.
void set_pipe(Instruction& i, std::string_view opcode) {
  const auto* const known = std::ranges::find(opcodes, opcode, &Opcode::name);
  if (known != std::end(opcodes))
    i.pipe = known->pipe;
  else if (opcode.starts_with("U") || opcode == "R2UR")
    i.pipe = Pipe::uniform;
  else
    i.pipe = i.write >= 0 ? Pipe::other : Pipe::alu;
  i.guessed =
      known == std::end(opcodes) && std::ranges::find(known_defaults, opcode) == std::end(known_defaults);
}

/// Parses the name's suffixes after the first dot.
void set_modifiers(Instruction& i, std::string_view opcode, std::string_view modifiers) {
  switch (i.pipe) {
    case Pipe::global_load:
    case Pipe::global_store:
      i.contiguous = modifiers.find(".NEXT") != std::string_view::npos;
      i.same_address = modifiers.ends_with(".SAME");
      i.bytes = bytes_per_lane(modifiers.substr(0, modifiers.find('.')));
      break;
    case Pipe::shared_load:
    case Pipe::shared_store:
    case Pipe::local_load:
    case Pipe::local_store:
    case Pipe::async_load:
      // A shuffle behaves like a 4-byte load from shared memory.
      i.bytes = opcode == "SHFL" ? 4 : bytes_per_lane(modifiers);
      break;
    case Pipe::fma_heavy:
      i.wide = modifiers == "WIDE";
      break;
    case Pipe::warpgroup:
      i.count = count_of(modifiers);
      break;
    case Pipe::branch:
      i.taken = modifiers.starts_with("TAKEN");
      if (i.taken && modifiers.size() > 6) i.count = count_of(modifiers.substr(6));
      break;
    case Pipe::barrier:
      i.in_register = modifiers == "REGISTER";
      break;
    case Pipe::wait_copies:
      i.count = count_of(modifiers.substr(modifiers.rfind('.') + 1));
      break;
    case Pipe::shared_unit:
      if (modifiers == "PHASECHK") i.pipe = Pipe::wait_stage;
      break;
    case Pipe::none:
      if (opcode == "WARPGROUP" && modifiers.starts_with("WAIT.")) {
        i.pipe = Pipe::wait_warpgroup;
        i.count = count_of(modifiers.substr(5));
      }
      break;
    default:
      break;
  }
}

Instruction parse_instruction(std::string_view name, const Words& w) {
  if (w.count != 7) throw std::invalid_argument("an instruction has seven words");
  Instruction i;
  i.stall = number<std::uint8_t>(w.word[1], 0, 15);
  i.write = scoreboard(w.word[2]);
  i.read = scoreboard(w.word[3]);
  i.wait = number<std::uint8_t>(w.word[4], 0, 0x3f, 16);
  for (const int bank : {0, 1}) {
    i.reads[bank] = registers_read(w.word[5], bank);
    i.reads_alone[bank] = registers_read(w.word[6], bank);
  }
  const auto dot = std::min(name.find('.'), name.size());
  const std::string_view opcode = name.substr(0, dot);
  set_pipe(i, opcode);
  set_modifiers(i, opcode, name.substr(std::min(dot + 1, name.size())));
  return i;
}

void set_code_lines(std::vector<Instruction>& loop) {
  std::int32_t at = 0;
  for (Instruction& i : loop) {
    i.line = at / line_instructions;
    // The text omits inner loops without trips, so what follows them is in fact further on.
    at = i.taken && i.count > 0 ? std::max(0, at - i.count) : at + 1;
  }
}

/// Reads a description line by line.
class ProgramParser {
 public:
  /// Throws std::invalid_argument, without the line's number.
  void read(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() >= 'a' && line.front() <= 'z') return read_variant(split(line));
    if (sharing_.empty()) throw std::invalid_argument("an instruction before the first variant");
    if (line == "}") return close_block();
    read_instruction(split(line));
  }

  /// Ends the loop of the last variants.
  void finish() {
    if (!blocks_.empty()) throw std::invalid_argument("a block lacks its }");
    set_code_lines(loop_);
    if (sharing_.size() > 1) count_instructions(loop_.size() * (sharing_.size() - 1));
    for (Program* program : sharing_) {
      program->loop = loop_;
      program->guessed = {guessed_.begin(), guessed_.end()};
    }
    guessed_.clear();
    sharing_.clear();
    loop_.clear();
  }

  [[nodiscard]] Programs take_programs() { return std::move(programs_); }

 private:
  struct Block {
    std::size_t copies, begin;
  };

  /// Variants on successive lines share the loop that follows.
  void read_variant(const Words& w) {
    if (w.count != 7) throw std::invalid_argument("a variant's line has seven words");
    if (!loop_.empty() || !blocks_.empty()) finish();
    std::pair key{std::string(w.word[0]), std::string(w.word[1])};
    Program& program = programs_[key];
    program = {.family = key.first,
               .variant = key.second,
               .registers_per_thread = number(w.word[2], 0, 255),
               .local_bytes = number<std::size_t>(w.word[3], 0, 512 << 10),
               .static_smem_bytes = number<std::size_t>(w.word[4], 0, 1 << 20),
               .block_limit = number(w.word[5], 0, 1024),
               .iterations = iterations(w.word[6]),
               .loop = {},
               .guessed = {}};
    sharing_.push_back(&program);
  }

  /// "N*OPCODE ..." repeats an instruction, "N*{" a block up to its "}".
  void read_instruction(const Words& w) {
    const auto star = w.word[0].find('*');
    const auto copies = star == std::string_view::npos
                            ? std::size_t{1}
                            : number<std::size_t>(w.word[0].substr(0, star), 0, 65535);
    const std::string_view name = star == std::string_view::npos ? w.word[0] : w.word[0].substr(star + 1);
    if (name == "{") return blocks_.push_back({copies, loop_.size()});
    count_instructions(copies);
    loop_.insert(loop_.end(), copies, parse_instruction(name, w));
    if (copies > 0 && loop_.back().guessed) guessed_.emplace(name.substr(0, name.find('.')));
  }

  void close_block() {
    if (blocks_.empty()) throw std::invalid_argument("a } without its block");
    const Block block = blocks_.back();
    blocks_.pop_back();
    const std::size_t length = loop_.size() - block.begin;
    if (block.copies > 1) count_instructions(length * (block.copies - 1));
    loop_.reserve(block.begin + length * block.copies);
    for (std::size_t i = length; i < length * block.copies; ++i)
      loop_.push_back(loop_[block.begin + i - length]);
    loop_.resize(block.begin + length * block.copies);  // for 0 copies
  }

  /// Limits the memory that a short text can request.
  void count_instructions(std::size_t instructions) {
    if (instructions_left_ < instructions)
      throw std::invalid_argument("more instructions than the model has room for");
    instructions_left_ -= instructions;
  }

  Programs programs_;
  std::vector<Program*> sharing_;  ///< the variants of the current loop
  std::set<std::string> guessed_;  ///< unknown opcodes of the current loop
  std::vector<Instruction> loop_;
  std::vector<Block> blocks_;  ///< open ones
  std::size_t instructions_left_ = max_instructions;
};

}  // namespace

int Program::count(Pipe pipe) const {
  return static_cast<int>(std::ranges::count(loop, pipe, &Instruction::pipe));
}

int Program::store_places() const {
  return static_cast<int>(std::ranges::count_if(
      loop, [](const Instruction& i) { return i.pipe == Pipe::global_store && !i.contiguous; }));
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

double Program::same_address_bytes() const {
  double sum = 0;
  for (const Instruction& i : loop)
    if (i.same_address) sum += i.bytes;
  return sum;
}

Programs parse_programs(std::string_view text) {
  ProgramParser parser;
  int line_number = 1;
  try {
    for (; !text.empty(); ++line_number) {
      const auto end = std::min(text.find('\n'), text.size());
      parser.read(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    parser.finish();
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument("line " + std::to_string(line_number) + ": " + e.what());
  }
  return parser.take_programs();
}

}  // namespace occbench::theory
