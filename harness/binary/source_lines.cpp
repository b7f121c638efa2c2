// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/source_lines.hpp"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace occbench::binary {
namespace {

/// Reads consecutive numbers and texts. Throws Damaged at the end.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool is_at_end() const { return at_ == bytes_.size(); }
  Bytes take(std::size_t size) {
    if (size > bytes_.size() - at_) throw Damaged("has a line table that is cut off");
    return bytes_.subspan(std::exchange(at_, at_ + size), size);
  }
  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t unsigned_leb() { return leb().first; }
  std::int64_t signed_leb() {
    const auto [value, bits] = leb();
    const bool is_negative = bits < 64 && ((value >> (bits - 1)) & 1) != 0;
    return static_cast<std::int64_t>(is_negative ? value | (~std::uint64_t{0} << bits) : value);
  }
  std::string_view text() {
    const std::string_view rest = text_of(bytes_.subspan(at_));
    const std::size_t size = rest.find('\0');
    if (size == std::string_view::npos) throw Damaged("has a line table that is cut off");
    at_ += size + 1;
    return rest.substr(0, size);
  }

 private:
  /// DWARF's variable-length numbers: the value and its number of bits.
  std::pair<std::uint64_t, unsigned> leb() {
    std::uint64_t value = 0;
    unsigned bits = 0;
    for (;;) {
      const auto byte = number<unsigned char>();
      if (bits < 64) value |= std::uint64_t{byte & 0x7fU} << bits;
      bits += 7;
      if ((byte & 0x80) == 0) return {value, bits};
    }
  }

  Bytes bytes_;
  std::size_t at_ = 0;
};

const Section* section_named(const ElfFile& cubin, std::string_view name) {
  const auto found = std::ranges::find(cubin.sections(), name, &Section::name);
  return found == cubin.sections().end() || found->is_cut ? nullptr : &*found;
}

/// The symbols whose addresses are stored at a section's byte offsets.
std::unordered_map<std::uint64_t, std::uint32_t> relocations_of(const ElfFile& cubin, std::string_view name) {
  std::unordered_map<std::uint64_t, std::uint32_t> symbols;
  const auto read = [&](const char* prefix, std::size_t entry_bytes) {
    const Section* const section = section_named(cubin, prefix + std::string(name));
    if (section == nullptr) return;
    for (std::size_t at = 0; at + entry_bytes <= section->bytes.size(); at += entry_bytes) {
      Elf64_Rel entry;
      std::memcpy(&entry, &section->bytes[at], sizeof entry);
      symbols[entry.r_offset] = static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info));
    }
  };
  read(".rela", sizeof(Elf64_Rela));
  read(".rel", sizeof(Elf64_Rel));
  return symbols;
}

}  // namespace

/// Runs the line number programs of .debug_line (DWARF 4, 6.2).
class LineTable::Reader {
 public:
  Reader(LineTable& table, const ElfFile& cubin, std::string_view section, Bytes bytes)
      : table_(table), symbols_(relocations_of(cubin, section)), bytes_(bytes) {}

  void read_units() {
    for (Cursor units(bytes_); !units.is_at_end();) {
      const auto size = units.number<std::uint32_t>();
      const std::size_t start = units.at();
      Cursor unit(units.take(size));
      if (read_header(unit)) read_program(unit, start);
    }
  }

 private:
  /// False for an unknown version.
  bool read_header(Cursor& unit) {
    const auto version = unit.number<std::uint16_t>();
    if (version < 2 || version > 4) return false;
    const auto header_bytes = unit.number<std::uint32_t>();
    const std::size_t program = unit.at() + header_bytes;
    instruction_bytes_ = unit.number<unsigned char>();
    unit.take(version == 4 ? 2 : 1);  // operations per instruction, default_is_stmt
    line_base_ = unit.number<signed char>();
    line_range_ = unit.number<unsigned char>();
    opcode_base_ = unit.number<unsigned char>();
    if (line_range_ == 0 || opcode_base_ == 0) throw Damaged("has a damaged line table");
    const Bytes lengths = unit.take(opcode_base_ - 1);
    operand_counts_.assign(1, 0);
    for (const std::byte length : lengths) operand_counts_.push_back(std::to_integer<unsigned char>(length));
    read_files(unit);
    if (program < unit.at()) throw Damaged("has a damaged line table");
    unit.take(program - unit.at());
    return true;
  }

  void read_files(Cursor& unit) {
    std::vector<std::string_view> folders = {""};
    for (std::string_view name; !(name = unit.text()).empty();) folders.push_back(name);
    first_file_ = table_.files_.size();
    for (std::string_view name; !(name = unit.text()).empty();) {
      const std::uint64_t folder = unit.unsigned_leb();
      unit.unsigned_leb();  // time
      unit.unsigned_leb();  // size
      const bool has_folder = !name.starts_with('/') && folder > 0 && folder < folders.size();
      if (has_folder) folder_bytes_ += folders[folder].size();
      if (folder_bytes_ > max_folder_bytes) throw Damaged("has a damaged line table");
      table_.files_.push_back((has_folder ? std::string(folders[folder]) + '/' : "") + std::string(name));
    }
  }

  /// `start`: offset in the section of the unit's bytes after its size.
  void read_program(Cursor& unit, std::size_t start) {
    for (begin_function(); !unit.is_at_end();) {
      const auto opcode = unit.number<unsigned char>();
      if (opcode >= opcode_base_) {
        const unsigned step = opcode - opcode_base_;
        advance(step / line_range_);
        add_lines(line_base_ + static_cast<int>(step % line_range_));
        rows_.push_back(row_);
      } else if (opcode == 0) {
        read_extended(unit, start);
      } else {
        read_standard(unit, opcode);
      }
    }
  }

  void read_standard(Cursor& unit, unsigned opcode) {
    enum { copy = 1, advance_pc = 2, advance_line = 3, set_file = 4, const_add_pc = 8, fixed_advance_pc = 9 };
    switch (opcode) {
      case copy:
        return rows_.push_back(row_);
      case advance_pc:
        return advance(unit.unsigned_leb());
      case advance_line:
        return add_lines(unit.signed_leb());
      case set_file:
        row_.file = static_cast<std::uint32_t>(unit.unsigned_leb());
        return;
      case const_add_pc:
        return advance((255U - opcode_base_) / line_range_);
      case fixed_advance_pc:
        row_.offset += unit.number<std::uint16_t>();
        return;
      default:
        for (unsigned i = 0; i < operand_counts_[opcode]; ++i) unit.unsigned_leb();
    }
  }

  void read_extended(Cursor& unit, std::size_t start) {
    constexpr unsigned end_sequence = 1, set_address = 2, inlined_call = 0x90;
    const std::uint64_t size = unit.unsigned_leb();
    const std::size_t begin = start + unit.at();
    Cursor operation(unit.take(size));
    if (size == 0) return;
    switch (operation.number<unsigned char>()) {
      case end_sequence:
        resolve_callers();
        if (symbol_ && !rows_.empty()) table_.functions_[*symbol_] = {std::move(rows_), first_file_};
        return begin_function();
      case set_address:
        if (const auto found = symbols_.find(begin + 1); found != symbols_.end()) symbol_ = found->second;
        row_.offset = 0;
        return;
      case inlined_call:  // the second number is the function's name
        row_.caller = static_cast<std::uint32_t>(operation.unsigned_leb());
        return;
      default:
        return;
    }
  }

  void begin_function() {
    rows_ = {};
    row_ = {.file = 1, .line = 1};
    symbol_.reset();
  }

  /// Replaces each row by that of the function itself: a caller precedes what is inlined into it.
  void resolve_callers() {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (Row& row = rows_[i]; row.caller > 0 && row.caller <= i) {
        const Row& caller = rows_[row.caller - 1];
        row = {.offset = row.offset, .file = caller.file, .caller = caller.caller, .line = caller.line};
      }
  }

  void advance(std::uint64_t instructions) { row_.offset += instructions * instruction_bytes_; }

  /// A damaged table may exceed the type's range.
  void add_lines(std::int64_t lines) {
    row_.line =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(row_.line) + static_cast<std::uint64_t>(lines));
  }

  static constexpr std::size_t max_folder_bytes = 1 << 24;  // a few bytes can name a long folder again

  LineTable& table_;
  std::unordered_map<std::uint64_t, std::uint32_t> symbols_;
  Bytes bytes_;
  unsigned instruction_bytes_ = 1, line_range_ = 1, opcode_base_ = 1;
  int line_base_ = 0;
  std::vector<unsigned> operand_counts_;
  std::size_t first_file_ = 0, folder_bytes_ = 0;
  std::vector<Row> rows_;
  Row row_;
  std::optional<std::uint32_t> symbol_;
};

LineTable::LineTable(const ElfFile& cubin) {
  constexpr std::string_view name = ".debug_line";
  const Section* const section = section_named(cubin, name);
  if (section == nullptr) return;
  try {
    Reader(*this, cubin, name, section->bytes).read_units();
  } catch (const Damaged&) {  // keeps the functions before the damage
  }
}

std::optional<SourceLine> LineTable::line_at(std::uint32_t symbol, std::uint64_t offset) const {
  const auto found = functions_.find(symbol);
  if (found == functions_.end()) return std::nullopt;
  const std::vector<Row>& rows = found->second.rows;
  const auto after = std::ranges::upper_bound(rows, offset, {}, &Row::offset);
  if (after == rows.begin()) return std::nullopt;
  const Row& row = *std::prev(after);
  const std::size_t file = found->second.first_file + row.file - 1;
  const bool is_known = row.caller == 0 && row.file > 0 && file < files_.size() && row.line > 0 &&
                        row.line <= std::numeric_limits<int>::max();
  if (!is_known) return std::nullopt;
  return SourceLine{files_[file], static_cast<int>(row.line)};
}

std::unordered_map<std::string_view, PtxRequests> ptx_requests(const ElfFile& cubin) {
  constexpr std::string_view entry = ".entry ", request = ".minnctapersm ";
  std::unordered_map<std::string_view, PtxRequests> requests;
  for (const Section& section : cubin.sections()) {
    if (!section.name.starts_with(".nv_debug_ptx_txt") || section.is_cut) continue;
    const std::string_view text = text_of(section.bytes);
    for (std::size_t at = text.find(entry); at != std::string_view::npos;) {
      const std::size_t next = text.find(entry, at + entry.size());
      const std::string_view kernel = text.substr(0, next).substr(at + entry.size());
      at = next;
      const std::string_view head = kernel.substr(0, kernel.find('{'));
      PtxRequests& found = requests[head.substr(0, head.find('('))];
      if (const std::size_t place = head.find(request); place != std::string_view::npos) {
        const std::string_view number = head.substr(place + request.size());
        std::from_chars(number.data(), number.data() + number.size(), found.blocks);
      }
      found.has_setmaxnreg =
          kernel.substr(0, kernel.find(".func ")).find("setmaxnreg.") != std::string_view::npos;
    }
  }
  return requests;
}

}  // namespace occbench::binary
