// SPDX-License-Identifier: Apache-2.0
// Sections and symbols of an ELF file that lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace occbench::binary {

using Bytes = std::span<const std::byte>;

/// What cannot be read, in a few words: "is cut off", "has no section table".
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Section {
  std::string_view name;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0;
  std::uint64_t size = 0;  ///< also of those that take no bytes of the file
  Bytes bytes;             ///< empty where they take none
  bool is_cut = false;     ///< the file ends before them
};

struct Symbol {
  std::string_view name;
  std::size_t section = 0;  ///< 0: none
  unsigned char type = 0;   ///< STT_FUNC, ...
  unsigned char other = 0;
};

/// `bytes` stay where they are for as long as the object and its views live.
class ElfFile {
 public:
  /// Of 32 or 64 bits, little-endian. Throws Damaged.
  explicit ElfFile(Bytes bytes);

  [[nodiscard]] int machine() const { return machine_; }
  [[nodiscard]] int type() const { return type_; }
  [[nodiscard]] int abi_version() const { return abi_version_; }
  [[nodiscard]] std::uint32_t flags() const { return flags_; }
  /// By their index; the first is none.
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }
  /// By their index; empty where there is no table of symbols. Throws Damaged.
  [[nodiscard]] std::vector<Symbol> symbols() const;

 private:
  template <typename FileHeader, typename SectionHeader>
  void read(Bytes bytes);

  bool is_64_bit_ = true;
  int machine_ = 0, type_ = 0, abi_version_ = 0;
  std::uint32_t flags_ = 0;
  std::vector<Section> sections_;
};

[[nodiscard]] bool is_elf(Bytes bytes);

}  // namespace occbench::binary
