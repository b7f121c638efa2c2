// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/package.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace occbench::binary {
namespace {

constexpr std::size_t max_name_bytes = 4096;  // of a path

/// A little-endian number in a header that is long enough.
template <typename T>
T number_at(Bytes header, std::size_t at) {
  T value;
  std::memcpy(&value, &header[at], sizeof value);
  return value;
}

// zip: PKWARE's APPNOTE.TXT, 4.3.7 to 4.3.16 and 4.5.3.

constexpr std::uint32_t local_magic = 0x04034b50, entry_magic = 0x02014b50, end_magic = 0x06054b50,
                        end64_magic = 0x06064b50, locator_magic = 0x07064b50;
constexpr std::size_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, end64_bytes = 56,
                      locator_bytes = 20;

struct Directory {
  std::uint64_t at = 0, bytes = 0;
};

/// The central directory, located by the record at a zip's end.
std::optional<Directory> directory_of(const ByteSource& zip) {
  constexpr std::uint64_t max_comment = 0xffff;
  if (zip.size() < end_bytes) return std::nullopt;
  Buffer buffer;
  const std::uint64_t tail_bytes = std::min(zip.size(), end_bytes + max_comment);
  const std::uint64_t tail_at = zip.size() - tail_bytes;
  const Bytes tail = zip.read(tail_at, tail_bytes, buffer);
  std::size_t at = tail.size() - end_bytes;
  while (number_at<std::uint32_t>(tail, at) != end_magic)
    if (at-- == 0) return std::nullopt;
  Directory found{number_at<std::uint32_t>(tail, at + 16), number_at<std::uint32_t>(tail, at + 12)};
  const bool is_zip64 =
      at >= locator_bytes && number_at<std::uint32_t>(tail, at - locator_bytes) == locator_magic;
  if (is_zip64) {
    Buffer wide;
    const auto end64_at = number_at<std::uint64_t>(tail, at - locator_bytes + 8);
    const Bytes end64 = zip.read(end64_at, end64_bytes, wide);
    if (number_at<std::uint32_t>(end64, 0) != end64_magic) return std::nullopt;
    found = {number_at<std::uint64_t>(end64, 48), number_at<std::uint64_t>(end64, 40)};
  }
  return found;
}

/// 64-bit sizes and offset, stored in this order in an extra field.
void read_zip64_extra(Bytes extra, std::array<std::uint64_t*, 3> wide) {
  constexpr std::uint16_t zip64 = 1;
  while (extra.size() >= 4) {
    const std::size_t size = number_at<std::uint16_t>(extra, 2);
    if (size > extra.size() - 4) return;
    if (number_at<std::uint16_t>(extra, 0) == zip64) {
      Bytes values = extra.subspan(4, size);
      for (std::uint64_t* value : wide)
        if (*value == 0xffffffff && values.size() >= 8) {
          *value = number_at<std::uint64_t>(values, 0);
          values = values.subspan(8);
        }
    }
    extra = extra.subspan(4 + size);
  }
}

/// `entry`: from the directory, with its name and extra fields.
PackedMember zip_member(const ByteSource& zip, Bytes entry, std::size_t name_bytes) {
  constexpr unsigned is_encrypted = 1, stored = 0, deflated = 8;
  std::uint64_t packed_bytes = number_at<std::uint32_t>(entry, 20),
                unpacked_bytes = number_at<std::uint32_t>(entry, 24),
                at = number_at<std::uint32_t>(entry, 42);
  read_zip64_extra(entry.subspan(entry_bytes + name_bytes), {&unpacked_bytes, &packed_bytes, &at});
  PackedMember member{.name = std::string(text_of(entry.subspan(entry_bytes, name_bytes))),
                      .content = Bytes(),
                      .unpacked_bytes = unpacked_bytes,
                      .crc32 = number_at<std::uint32_t>(entry, 16)};
  const unsigned method = number_at<std::uint16_t>(entry, 10);
  if ((number_at<std::uint16_t>(entry, 8) & is_encrypted) != 0)
    member.refusal = "is encrypted";
  else if (method != stored && method != deflated)
    member.refusal = "is packed by zip's method " + std::to_string(method) + "; unpack it first";
  member.packing = method == deflated ? Packing::deflate : Packing::none;
  if (member.refusal.empty()) try {
      Buffer buffer;
      const Bytes local = zip.read(at, local_bytes, buffer);
      if (number_at<std::uint32_t>(local, 0) != local_magic) throw Damaged("is damaged");
      const std::size_t skipped =
          local_bytes + number_at<std::uint16_t>(local, 26) + number_at<std::uint16_t>(local, 28);
      member.content = zip.part(at + skipped, packed_bytes);
    } catch (const Damaged& damage) {
      member.refusal = damage.what();
    }
  return member;
}

std::string for_each_in_zip(const ByteSource& zip, const std::function<void(const PackedMember&)>& visit) {
  const auto directory = directory_of(zip);
  if (!directory) return "is a zip file that is cut off";
  const ByteSource entries = zip.part(directory->at, directory->bytes);
  Buffer buffer;
  for (std::uint64_t at = 0; at < entries.size();) {
    const Bytes header = entries.read(at, entry_bytes, buffer);
    const std::size_t name_bytes = number_at<std::uint16_t>(header, 28);
    const std::size_t bytes = entry_bytes + name_bytes + number_at<std::uint16_t>(header, 30);
    const std::size_t comment_bytes = number_at<std::uint16_t>(header, 32);
    if (number_at<std::uint32_t>(header, 0) != entry_magic || name_bytes > max_name_bytes)
      return "is a zip file with a damaged directory";
    const PackedMember member = zip_member(zip, entries.read(at, bytes, buffer), name_bytes);
    if (!member.name.ends_with('/')) visit(member);
    at += bytes + comment_bytes;
  }
  return "";
}

// tar: POSIX ustar and pax ('pax Interchange Format'), and GNU's long names and sizes.

constexpr std::size_t tar_block = 512;

/// Octal digits or, in GNU's format, a big-endian number after a byte with the highest bit set.
std::optional<std::uint64_t> tar_number(std::string_view field) {
  std::uint64_t value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (const char c : field.substr(field.size() - 8)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

bool is_tar_header(Bytes header) {
  constexpr std::size_t sum_at = 148, sum_end = 156;
  const std::string_view text = text_of(header);
  if (text.size() < tar_block || text.substr(257, 5) != "ustar") return false;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < tar_block; ++i)
    sum += i >= sum_at && i < sum_end ? ' ' : std::to_integer<unsigned>(header[i]);
  return tar_number(text.substr(sum_at, sum_end - sum_at)) == sum;
}

/// Parses path and size from pax records: "27 path=NAME\n".
void read_pax(std::string_view records, std::string& name, std::optional<std::uint64_t>& size) {
  while (!records.empty()) {
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), bytes);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc() || bytes > records.size() || bytes < digits + 2) return;
    const std::string_view record = records.substr(digits + 1, bytes - digits - 2);
    if (record.starts_with("path=")) name = record.substr(5);
    if (record.starts_with("size=")) {
      std::uint64_t value = 0;
      if (std::from_chars(record.data() + 5, record.data() + record.size(), value).ec == std::errc())
        size = value;
    }
    records.remove_prefix(bytes);
  }
}

std::string for_each_in_tar(const ByteSource& tar, const std::function<void(const PackedMember&)>& visit) {
  constexpr std::uint64_t max_meta_bytes = 1 << 20;
  Buffer buffer, meta;
  std::string long_name;
  std::optional<std::uint64_t> long_size;
  for (std::uint64_t at = 0; at < tar.size();) {
    if (tar.size() - at < tar_block) return "is a tar file that is cut off";
    const Bytes header = tar.read(at, tar_block, buffer);
    if (header[0] == std::byte{}) return "";  // two zero blocks mark the end
    const std::string_view text = text_of(header);
    const auto field = [&](std::size_t begin, std::size_t size) {
      const std::string_view whole = text.substr(begin, size);
      return std::string(whole.substr(0, whole.find('\0')));
    };
    const auto own_size = tar_number(text.substr(124, 12));
    const char type = text[156];
    if (!is_tar_header(header) || !own_size) return "is a tar file with a damaged member";
    const bool is_meta = type == 'x' || type == 'L';
    const std::uint64_t size = is_meta ? *own_size : long_size.value_or(*own_size);
    at += tar_block;
    if (size > tar.size() - at) return "is a tar file that is cut off";
    const ByteSource content = tar.part(at, size);
    at += std::min((size + tar_block - 1) / tar_block * tar_block, tar.size() - at);
    if (is_meta) {
      if (size > max_meta_bytes) return "is a tar file with a damaged member";
      const std::string_view records = text_of(content.read(0, size, meta));
      if (type == 'x')
        read_pax(records, long_name, long_size);
      else
        long_name = records.substr(0, records.find('\0'));
      continue;
    }
    const std::string prefix = field(345, 155);
    std::string name = !long_name.empty() ? std::exchange(long_name, {})
                       : prefix.empty()   ? field(0, 100)
                                          : prefix + "/" + field(0, 100);
    long_size.reset();
    if (name.size() > max_name_bytes) return "is a tar file with a damaged member";
    const bool is_sparse = type == 'S';
    if (type == '0' || type == '\0' || type == '7' || is_sparse)
      visit({.name = std::move(name),
             .content = content,
             .refusal = is_sparse ? "is a sparse file; unpack it first" : ""});
  }
  return "is a tar file that is cut off";  // after a whole member
}

}  // namespace

Package package_of(Bytes begin) {
  const std::string_view text = text_of(begin);
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return Package::zip;
  if (text.starts_with("\x1f\x8b\x08")) return Package::gzip;
  return is_tar_header(begin) ? Package::tar : Package::none;
}

std::string for_each_packed(const ByteSource& source, Package kind,
                            const std::function<void(const PackedMember&)>& visit) {
  return kind == Package::zip ? for_each_in_zip(source, visit) : for_each_in_tar(source, visit);
}

}  // namespace occbench::binary
