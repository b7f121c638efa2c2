// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/archive.hpp"

#include <ar.h>
#include <libelf.h>

#include <cstring>
#include <memory>

namespace occbench::binary {
namespace {

constexpr std::string_view thin_magic = "!<thin>\n";

bool begins_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

bool is_archive(Bytes bytes) { return begins_with(bytes, {ARMAG, SARMAG}) || begins_with(bytes, thin_magic); }

std::string for_each_member(Bytes archive, const std::function<void(std::string_view, Bytes)>& visit) {
  if (begins_with(archive, thin_magic)) return "is a thin archive; name its objects";
  elf_version(EV_CURRENT);
  const auto close = [](Elf* elf) { elf_end(elf); };
  using Handle = std::unique_ptr<Elf, decltype(close)>;
  char* const image = const_cast<char*>(reinterpret_cast<const char*>(archive.data()));  // only read
  const Handle whole(elf_memory(image, archive.size()), close);
  if (!whole || elf_kind(whole.get()) != ELF_K_AR) return "is an archive that cannot be read";
  Elf_Cmd next = ELF_C_READ_MMAP;
  while (Handle member{elf_begin(-1, next, whole.get()), close}) {
    const Elf_Arhdr* const header = elf_getarhdr(member.get());
    if (header == nullptr) return "is an archive with a damaged member";
    const std::int64_t begin = elf_getbase(member.get());
    if (begin < 0 || header->ar_size < 0 || static_cast<std::size_t>(begin) > archive.size() ||
        static_cast<std::size_t>(header->ar_size) > archive.size() - static_cast<std::size_t>(begin))
      return "is an archive that is cut off";
    const std::string_view name = header->ar_name == nullptr ? "" : header->ar_name;
    if (!name.starts_with('/'))  // the table of symbols, and that of long names
      visit(name,
            archive.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(header->ar_size)));
    next = elf_next(member.get());
    if (next == ELF_C_NULL) break;
  }
  return "";
}

}  // namespace occbench::binary
