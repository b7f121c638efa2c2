// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/source_lines.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace occbench::binary {
namespace {

template <typename Value>
void put(std::string& text, const Value& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string leb(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string extended(char operation, const std::string& rest = "") {
  return std::string(1, '\0') + leb(rest.size() + 1) + operation + rest;
}

constexpr std::uint32_t symbol = 7;
constexpr char end_sequence = 1, set_address = 2, inlined_call = static_cast<char>(0x90);

/// A cubin of one line table, whose program of file a.cu belongs to `symbol`.
std::string cubin_of(const std::string& program) {
  std::string unit("\x02\0", 2);  // version
  const std::string header =
      std::string("\x01\x01\xfb\x0e\x0a\0\x01\x01\x01\x01\0\0\0\x01", 14) +  // to opcode 9
      std::string("\0a.cu\0\0\0\0\0", 10);
  put(unit, static_cast<std::uint32_t>(header.size()));
  unit += header;
  const std::size_t address = 4 + unit.size() + 3;  // of the first operation
  unit += extended(set_address, std::string(8, '\0')) + program;
  std::string table;
  put(table, static_cast<std::uint32_t>(unit.size()));
  table += unit;
  std::string relocations;
  put(relocations, Elf64_Rel{.r_offset = address, .r_info = ELF64_R_INFO(symbol, 2)});

  const std::string names("\0.debug_line\0.rel.debug_line\0.shstrtab\0", 39);
  Elf64_Ehdr file{};
  std::memcpy(file.e_ident,
              "\x7f"
              "ELF\2\1\1",
              7);
  file.e_shentsize = sizeof(Elf64_Shdr), file.e_shnum = 4, file.e_shstrndx = 3;
  std::string sections(sizeof(Elf64_Shdr), '\0'), content;
  const auto add = [&](unsigned name, unsigned type, const std::string& bytes) {
    put(sections, Elf64_Shdr{.sh_name = name,
                             .sh_type = type,
                             .sh_offset = sizeof file + content.size(),
                             .sh_size = bytes.size()});
    content += bytes;
  };
  add(1, SHT_PROGBITS, table), add(13, SHT_REL, relocations), add(29, SHT_STRTAB, names);
  file.e_shoff = sizeof file + content.size();
  std::string cubin;
  put(cubin, file);
  return cubin + content + sections;
}

LineTable table_of(const std::string& program) {
  const std::string cubin = cubin_of(program + extended(end_sequence));
  return LineTable(ElfFile(std::as_bytes(std::span(cubin))));
}

const SourceLine first{"a.cu", 1};

TEST(SourceLines, InlinedCodeMapsToItsCallSite) {
  const LineTable table = table_of("\x01" + extended(inlined_call, leb(1) + leb(0)) + "\x03\x08\x02\x04\x01");
  EXPECT_EQ(table.line_at(symbol, 0), first);
  EXPECT_EQ(table.line_at(symbol, 4), first);  // itself of line 9
  EXPECT_FALSE(table.line_at(symbol + 1, 0));
}

/// Each row's call is in the row before, as no compiler writes.
TEST(SourceLines, ResolvesLongInlineChainsInLinearTime) {
  constexpr std::uint64_t rows = 100'000;
  std::string program = "\x01";
  for (std::uint64_t row = 1; row < rows; ++row)
    program += extended(inlined_call, leb(row) + leb(0)) + "\x02\x04\x01";
  const LineTable table = table_of(program);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t row = 0; row < rows; ++row) ASSERT_EQ(table.line_at(symbol, 4 * row), first);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

/// For the sanitizers.
TEST(SourceLines, LineNumberOverflowIsUnknown) {
  const std::string most = std::string(9, '\xff') + '\0';  // of a signed number
  EXPECT_FALSE(table_of("\x03" + most + "\x0a").line_at(symbol, 0));
}

}  // namespace
}  // namespace occbench::binary
