// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/elf_file.hpp"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>

namespace occbench::binary {
namespace {

std::string_view text_of(Elf* elf, std::size_t table, std::size_t at) {
  const char* const text = elf_strptr(elf, table, at);
  return text == nullptr ? std::string_view() : text;
}

Elf* handle(void* elf) { return static_cast<Elf*>(elf); }

}  // namespace

void ElfFile::Closer::operator()(void* elf) const { elf_end(handle(elf)); }

bool is_elf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

ElfFile::ElfFile(Bytes bytes) {
  static const bool knows_version = elf_version(EV_CURRENT) != EV_NONE;
  // It is only read: libelf takes a pointer to what it could write to, and writes on elf_update() alone.
  char* const image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  if (!knows_version || !is_elf(bytes)) throw Damaged("is no ELF file");
  elf_.reset(elf_memory(image, bytes.size()));
  Elf* const elf = handle(elf_.get());
  GElf_Ehdr header;
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr)
    throw Damaged("is no ELF file that can be read");
  machine_ = header.e_machine;
  type_ = header.e_type;
  abi_version_ = header.e_ident[EI_ABIVERSION];
  flags_ = header.e_flags;

  std::size_t count = 0, names = 0;
  if (elf_getshdrnum(elf, &count) != 0 || (count > 0 && elf_getshdrstrndx(elf, &names) != 0))
    throw Damaged("is cut off before its section table");
  if (header.e_shoff > bytes.size() || count > bytes.size() / sizeof(Elf32_Shdr))
    throw Damaged("is cut off before its section table");
  sections_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Shdr from;
    if (gelf_getshdr(elf_getscn(elf, i), &from) == nullptr) throw Damaged("has a damaged section table");
    Section section{.name = text_of(elf, names, from.sh_name),
                    .type = from.sh_type,
                    .link = from.sh_link,
                    .info = from.sh_info,
                    .flags = from.sh_flags,
                    .size = from.sh_size,
                    .bytes = {},
                    .is_cut = false};
    if (from.sh_type != SHT_NOBITS && from.sh_type != SHT_NULL) {
      section.is_cut = from.sh_offset > bytes.size() || from.sh_size > bytes.size() - from.sh_offset;
      if (!section.is_cut) section.bytes = bytes.subspan(from.sh_offset, from.sh_size);
    }
    sections_.push_back(section);
  }
}

std::vector<Symbol> ElfFile::symbols() const {
  Elf* const elf = handle(elf_.get());
  const auto table = std::ranges::find(sections_, std::uint32_t{SHT_SYMTAB}, &Section::type);
  std::vector<Symbol> symbols;
  if (table == sections_.end()) return symbols;
  Elf_Data* const data =
      elf_getdata(elf_getscn(elf, static_cast<std::size_t>(table - sections_.begin())), nullptr);
  if (data == nullptr) throw Damaged("has a damaged table of symbols");
  GElf_Sym from;
  for (int i = 0; gelf_getsym(data, i, &from) != nullptr; ++i)
    symbols.push_back({.name = text_of(elf, table->link, from.st_name),
                       .section = from.st_shndx < SHN_LORESERVE ? std::size_t{from.st_shndx} : 0,
                       .type = static_cast<unsigned char>(GELF_ST_TYPE(from.st_info)),
                       .other = from.st_other});
  return symbols;
}

}  // namespace occbench::binary
