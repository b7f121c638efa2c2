// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/protocol/attachable.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>

namespace occbench::attach {

namespace {

bool has_other_rights(const char* path) noexcept {
  struct stat s {};
  if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return false;
  return ((s.st_mode & S_ISUID) != 0 && s.st_uid != geteuid()) ||
         ((s.st_mode & S_ISGID) != 0 && s.st_gid != getegid()) ||
         (geteuid() != 0 && getxattr(path, "security.capability", nullptr, 0) > 0);
}

/// Whether the program names no dynamic loader. The loader itself, run as a program, names none either, but
/// loads libraries.
bool is_static(int file, const ElfW(Ehdr) & header, const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  if (std::strncmp(slash == nullptr ? path : slash + 1, "ld", 2) == 0) return false;
  constexpr int most = 64;
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phnum > most) return false;
  ElfW(Phdr) parts[most];
  const auto bytes = static_cast<ssize_t>(header.e_phnum * sizeof *parts);
  if (pread(file, parts, static_cast<std::size_t>(bytes), static_cast<off_t>(header.e_phoff)) != bytes)
    return false;
  for (int n = 0; n < header.e_phnum; ++n)
    if (parts[n].p_type == PT_INTERP) return false;
  return true;
}

}  // namespace

const char* why_not_attachable(const char* path) noexcept {
  if (has_other_rights(path)) return with_other_rights;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return nullptr;
  ElfW(Ehdr) header{};
  const bool is_elf = pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  const unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  const char* why = nullptr;
  if (is_elf && header.e_ident[EI_CLASS] != own_class)
    why = "of another architecture";
  else if (is_elf && is_static(file, header, path))
    why = "statically linked";
  close(file);
  return why;
}

}  // namespace occbench::attach
