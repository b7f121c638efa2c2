// SPDX-License-Identifier: Apache-2.0
// Sections and symbols of an ELF file, with the section contents if the file is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/binary/byte_source.hpp"

namespace occbench::binary {

struct Section {
  std::string_view name;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0;
  std::uint64_t size = 0;  ///< also of NOBITS sections
  std::uint64_t offset = 0;
  Bytes bytes;          ///< empty for NOBITS sections and files not in memory
  bool is_cut = false;  ///< the section extends beyond the end of the file
};

struct Symbol {
  std::string_view name;
  std::size_t section = 0;  ///< 0: none
  unsigned char type = 0;   ///< STT_FUNC, ...
  unsigned char other = 0;
  std::uint64_t offset = 0;  ///< in the section
};

/// The source must outlive the object and its views.
class ElfFile {
 public:
  /// 32 or 64 bits, little-endian. Throws Damaged.
  explicit ElfFile(const ByteSource& file);
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int machine() const { return machine_; }
  [[nodiscard]] int type() const { return type_; }
  [[nodiscard]] int abi_version() const { return abi_version_; }
  [[nodiscard]] std::uint32_t flags() const { return flags_; }
  /// By index; the first is the null section.
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  /// By index; empty without a symbol table. Throws Damaged.
  [[nodiscard]] std::vector<Symbol> symbols() const;

 private:
  template <typename FileHeader, typename SectionHeader>
  void read(const ByteSource& file);

  std::uint64_t size_ = 0;
  bool is_64_bit_ = true;
  int machine_ = 0, type_ = 0, abi_version_ = 0;
  std::uint32_t flags_ = 0;
  Buffer names_;
  std::vector<Section> sections_;
};

[[nodiscard]] bool is_elf(Bytes bytes);

}  // namespace occbench::binary
