// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace occbench::binary {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are copied from the file unchanged");

/// Reads the structure at an offset of the file. Throws Damaged(`missing`) beyond its end.
template <typename T>
T read_at(const ByteSource& file, std::uint64_t at, const char* missing) {
  T value;
  Buffer buffer;
  if (at > file.size() || sizeof value > file.size() - at) throw Damaged(missing);
  std::memcpy(&value, file.read(at, sizeof value, buffer).data(), sizeof value);
  return value;
}

/// A zero-terminated string in a string table; empty outside of it. The length limit bounds the cost of
/// overlapping strings.
std::string_view text_at(Bytes table, std::uint64_t at) {
  constexpr std::size_t max_length = 1 << 16;
  if (at >= table.size()) return {};
  const char* const text = reinterpret_cast<const char*>(table.data()) + at;
  const std::size_t size = strnlen(text, std::min<std::uint64_t>(table.size() - at, max_length));
  if (size == max_length) throw Damaged("has a name of more than 64 KiB");
  return size == table.size() - at ? std::string_view() : std::string_view(text, size);
}

template <typename SectionHeader>
Section section_of(const SectionHeader& from, const ByteSource& file) {
  Section section{.name = {},
                  .type = from.sh_type,
                  .link = from.sh_link,
                  .info = from.sh_info,
                  .flags = from.sh_flags,
                  .size = from.sh_size,
                  .offset = from.sh_offset,
                  .bytes = {},
                  .is_cut = false};
  if (from.sh_type != SHT_NOBITS && from.sh_type != SHT_NULL) {
    section.is_cut = from.sh_offset > file.size() || from.sh_size > file.size() - from.sh_offset;
    if (!section.is_cut && !file.memory().empty())
      section.bytes = file.memory().subspan(from.sh_offset, from.sh_size);
  }
  return section;
}

template <typename Entry>
std::vector<Symbol> symbols_of(Bytes table, Bytes names) {
  std::vector<Symbol> symbols;
  symbols.reserve(table.size() / sizeof(Entry));
  for (std::uint64_t at = 0; at + sizeof(Entry) <= table.size(); at += sizeof(Entry)) {
    Entry from;
    std::memcpy(&from, &table[at], sizeof from);
    symbols.push_back({.name = text_at(names, from.st_name),
                       .section = from.st_shndx < SHN_LORESERVE ? std::size_t{from.st_shndx} : 0,
                       .type = static_cast<unsigned char>(ELF64_ST_TYPE(from.st_info)),  // as in 32 bits
                       .other = from.st_other,
                       .offset = from.st_value});
  }
  return symbols;
}

}  // namespace

bool is_elf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

ElfFile::ElfFile(const ByteSource& file) : size_(file.size()) {
  const auto identity =
      read_at<std::array<unsigned char, EI_NIDENT>>(file, 0, "is cut off in its ELF header");
  if (!is_elf(std::as_bytes(std::span(identity)))) throw Damaged("is not an ELF file");
  if (identity[EI_DATA] != ELFDATA2LSB || identity[EI_VERSION] != EV_CURRENT)
    throw Damaged("is not an ELF file that can be read");
  abi_version_ = identity[EI_ABIVERSION];
  is_64_bit_ = identity[EI_CLASS] == ELFCLASS64;
  if (is_64_bit_) {
    read<Elf64_Ehdr, Elf64_Shdr>(file);
  } else if (identity[EI_CLASS] == ELFCLASS32) {
    read<Elf32_Ehdr, Elf32_Shdr>(file);
  } else {
    throw Damaged("is not an ELF file that can be read");
  }
}

template <typename FileHeader, typename SectionHeader>
void ElfFile::read(const ByteSource& file) {
  const auto header = read_at<FileHeader>(file, 0, "is cut off in its ELF header");
  machine_ = header.e_machine;
  type_ = header.e_type;
  flags_ = header.e_flags;
  if (header.e_shoff == 0) return;

  constexpr const char* cut = "is cut off before its section table";
  if (header.e_shentsize != sizeof(SectionHeader)) throw Damaged("has a damaged section table");
  // Numbers too large for the file header are in the first section header (ELF, "Section Header Table").
  const auto first = read_at<SectionHeader>(file, header.e_shoff, cut);
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const std::uint64_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  constexpr std::uint64_t max_sections = 1 << 20,
                          max_names_bytes = 1 << 28;  // sparse files can claim any size
  if (count > (file.size() - header.e_shoff) / sizeof(SectionHeader)) throw Damaged(cut);
  if (count > max_sections) throw Damaged("has an impossible number of sections");

  Buffer buffer;
  const Bytes table = file.read(header.e_shoff, count * sizeof(SectionHeader), buffer);
  std::vector<std::uint64_t> name_offsets;
  sections_.reserve(count);
  name_offsets.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    SectionHeader from;
    std::memcpy(&from, &table[i * sizeof from], sizeof from);
    sections_.push_back(section_of(from, file));
    name_offsets.push_back(from.sh_name);
  }
  if (names >= count || sections_[names].type == SHT_NOBITS) return;
  if (sections_[names].is_cut || sections_[names].size > max_names_bytes)
    throw Damaged("has a damaged section table");
  const Bytes texts = file.read(sections_[names].offset, sections_[names].size, names_);
  for (std::uint64_t i = 0; i < count; ++i) sections_[i].name = text_at(texts, name_offsets[i]);
}

std::vector<Symbol> ElfFile::symbols() const {
  const auto table = std::ranges::find(sections_, std::uint32_t{SHT_SYMTAB}, &Section::type);
  if (table == sections_.end()) return {};
  if (table->is_cut || table->link >= sections_.size()) throw Damaged("has a damaged table of symbols");
  const Bytes names = sections_[table->link].bytes;
  return is_64_bit_ ? symbols_of<Elf64_Sym>(table->bytes, names) : symbols_of<Elf32_Sym>(table->bytes, names);
}

}  // namespace occbench::binary
