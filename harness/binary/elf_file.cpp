// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace occbench::binary {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are read as they lie in the file");

/// The structure that lies at a place of the file. Throws Damaged where it does not fit.
template <typename T>
T read_at(Bytes bytes, std::uint64_t at, const char* missing) {
  T value;
  if (at > bytes.size() || sizeof value > bytes.size() - at) throw Damaged(missing);
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The string that ends with a zero in a table of strings; empty outside of it.
std::string_view text_at(Bytes table, std::uint64_t at) {
  if (at >= table.size()) return {};
  const char* const text = reinterpret_cast<const char*>(table.data()) + at;
  const void* const end = std::memchr(text, 0, table.size() - at);
  return end == nullptr
             ? std::string_view()
             : std::string_view(text, static_cast<std::size_t>(static_cast<const char*>(end) - text));
}

template <typename SectionHeader>
Section section_of(const SectionHeader& from, Bytes file) {
  Section section{.name = {},
                  .type = from.sh_type,
                  .link = from.sh_link,
                  .info = from.sh_info,
                  .flags = from.sh_flags,
                  .size = from.sh_size,
                  .bytes = {},
                  .is_cut = false};
  if (from.sh_type != SHT_NOBITS && from.sh_type != SHT_NULL) {
    section.is_cut = from.sh_offset > file.size() || from.sh_size > file.size() - from.sh_offset;
    if (!section.is_cut) section.bytes = file.subspan(from.sh_offset, from.sh_size);
  }
  return section;
}

template <typename Entry>
std::vector<Symbol> symbols_of(Bytes table, Bytes names) {
  std::vector<Symbol> symbols;
  symbols.reserve(table.size() / sizeof(Entry));
  for (std::uint64_t at = 0; at + sizeof(Entry) <= table.size(); at += sizeof(Entry)) {
    const auto from = read_at<Entry>(table, at, "has a damaged table of symbols");
    symbols.push_back({.name = text_at(names, from.st_name),
                       .section = from.st_shndx < SHN_LORESERVE ? std::size_t{from.st_shndx} : 0,
                       .type = static_cast<unsigned char>(ELF64_ST_TYPE(from.st_info)),  // as in 32 bits
                       .other = from.st_other});
  }
  return symbols;
}

}  // namespace

bool is_elf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

ElfFile::ElfFile(Bytes bytes) {
  if (!is_elf(bytes)) throw Damaged("is no ELF file");
  const auto identity =
      read_at<std::array<unsigned char, EI_NIDENT>>(bytes, 0, "is cut off in its ELF header");
  if (identity[EI_DATA] != ELFDATA2LSB || identity[EI_VERSION] != EV_CURRENT)
    throw Damaged("is no ELF file that can be read");
  abi_version_ = identity[EI_ABIVERSION];
  is_64_bit_ = identity[EI_CLASS] == ELFCLASS64;
  if (is_64_bit_) {
    read<Elf64_Ehdr, Elf64_Shdr>(bytes);
  } else if (identity[EI_CLASS] == ELFCLASS32) {
    read<Elf32_Ehdr, Elf32_Shdr>(bytes);
  } else {
    throw Damaged("is no ELF file that can be read");
  }
}

template <typename FileHeader, typename SectionHeader>
void ElfFile::read(Bytes bytes) {
  const auto header = read_at<FileHeader>(bytes, 0, "is cut off in its ELF header");
  machine_ = header.e_machine;
  type_ = header.e_type;
  flags_ = header.e_flags;
  if (header.e_shoff == 0) return;

  constexpr const char* cut = "is cut off before its section table";
  if (header.e_shentsize != sizeof(SectionHeader)) throw Damaged("has a damaged section table");
  // Numbers too large for the file's header stand in the first section's (ELF, "Section Header Table").
  const auto first = read_at<SectionHeader>(bytes, header.e_shoff, cut);
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const std::uint64_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (count > (bytes.size() - header.e_shoff) / sizeof(SectionHeader)) throw Damaged(cut);

  std::vector<std::uint64_t> name_offsets;
  sections_.reserve(count);
  name_offsets.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto from = read_at<SectionHeader>(bytes, header.e_shoff + i * sizeof(SectionHeader), cut);
    sections_.push_back(section_of(from, bytes));
    name_offsets.push_back(from.sh_name);
  }
  if (names >= count) return;
  for (std::uint64_t i = 0; i < count; ++i)
    sections_[i].name = text_at(sections_[names].bytes, name_offsets[i]);
}

std::vector<Symbol> ElfFile::symbols() const {
  const auto table = std::ranges::find(sections_, std::uint32_t{SHT_SYMTAB}, &Section::type);
  if (table == sections_.end()) return {};
  if (table->is_cut || table->link >= sections_.size()) throw Damaged("has a damaged table of symbols");
  const Bytes names = sections_[table->link].bytes;
  return is_64_bit_ ? symbols_of<Elf64_Sym>(table->bytes, names) : symbols_of<Elf32_Sym>(table->bytes, names);
}

}  // namespace occbench::binary
