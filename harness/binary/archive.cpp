// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/archive.hpp"

#include <ar.h>

#include <charconv>
#include <cstring>
#include <optional>

namespace occbench::binary {
namespace {

constexpr std::string_view thin_magic = "!<thin>\n";

/// A field of a member's header without the trailing blanks.
template <std::size_t size>
std::string_view field(const char (&text)[size]) {
  const std::string_view whole(text, size);
  return whole.substr(0, whole.find_last_not_of(' ') + 1);
}

std::optional<std::size_t> number(std::string_view digits) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// Resolves GNU's "name.o/", or "/17": an offset in the table of long names.
std::optional<std::string_view> member_name(std::string_view name, std::string_view long_names) {
  constexpr std::size_t max_length = 4096;  // of a path, since many members may share one long name
  if (name.starts_with('/')) {
    const auto at = number(name.substr(1));
    if (!at || *at >= long_names.size()) return std::nullopt;
    name = long_names.substr(*at, max_length + 2);
    name = name.substr(0, name.find('\n'));
  }
  if (name.ends_with('/')) name.remove_suffix(1);
  return name.size() <= max_length ? std::optional(name) : std::nullopt;
}

}  // namespace

bool is_archive(Bytes begin) {
  return text_of(begin).starts_with(std::string_view(ARMAG, SARMAG)) ||
         text_of(begin).starts_with(thin_magic);
}

std::string for_each_member(const ByteSource& archive,
                            const std::function<void(std::string_view, const ByteSource&)>& visit) {
  Buffer buffer, names;
  constexpr std::size_t max_names_bytes = 1 << 26;
  if (text_of(archive.read(0, SARMAG, buffer)) == thin_magic) return "is a thin archive; name its objects";
  std::string_view long_names;
  for (std::uint64_t at = SARMAG; at < archive.size();) {
    ar_hdr header;
    if (sizeof header > archive.size() - at) return "is an archive that is cut off";
    std::memcpy(&header, archive.read(at, sizeof header, buffer).data(), sizeof header);
    at += sizeof header;
    const auto size = number(field(header.ar_size));
    if (!size || std::string_view(header.ar_fmag, sizeof header.ar_fmag) != ARFMAG)
      return "is an archive with a damaged member";
    if (*size > archive.size() - at) return "is an archive that is cut off";
    const ByteSource content = archive.part(at, *size);
    at += *size + *size % 2;  // members begin at even offsets

    const std::string_view name = field(header.ar_name);
    if (name == "//") {
      if (*size > max_names_bytes) return "is an archive with a damaged member";
      long_names = text_of(content.read(0, *size, names));
    } else if (name != "/" && name != "/SYM64/") {  // symbol tables
      const auto full = member_name(name, long_names);
      if (!full) return "is an archive with a damaged member";
      visit(*full, content);
    }
  }
  return "";
}

}  // namespace occbench::binary
