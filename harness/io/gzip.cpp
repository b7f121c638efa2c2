// SPDX-License-Identifier: Apache-2.0
#include "harness/io/gzip.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "harness/io/files.hpp"
#include "harness/io/unpacked.hpp"

namespace occbench {

namespace fs = std::filesystem;

namespace {

constexpr int gzip_window = 15 + 16;  // 32 KiB, and a gzip header (zlib.h, deflateInit2)

fs::path gzip_path(const fs::path& path) { return path.string() + ".gz"; }

Bytef* bytes_of(std::string& text, std::size_t from) { return reinterpret_cast<Bytef*>(text.data()) + from; }

/// Feeds the stream its next input.
void feed(z_stream& stream, std::string& in, std::size_t& given) {
  if (stream.avail_in > 0) return;
  const std::size_t next = std::min<std::size_t>(in.size() - given, std::numeric_limits<uInt>::max());
  stream.next_in = bytes_of(in, given);
  stream.avail_in = static_cast<uInt>(next);
  given += next;
}

/// Extends `out` for more output.
void make_room(z_stream& stream, std::string& out, std::size_t used) {
  out.resize(std::max<std::size_t>(used + (1 << 20), out.size()));
  stream.next_out = bytes_of(out, used);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - used, 1 << 30));
}

}  // namespace

void pack_file(const fs::path& path) {
  std::string in = read_file(path, samples_limit);
  std::string out;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail(path, "cannot be packed: no memory");
  std::size_t given = 0;
  std::size_t used = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    feed(stream, in, given);
    make_room(stream, out, used);
    state = deflate(&stream, given == in.size() ? Z_FINISH : Z_NO_FLUSH);
    used = stream.total_out;
  }
  deflateEnd(&stream);
  out.resize(used);
  replace_file(gzip_path(path), out);
  if (unlink(path.c_str()) != 0)
    fail(path, "is packed in " + gzip_path(path).filename().string() + ", but stays");
}

void unpack_file(const fs::path& path, std::size_t limit) {
  const fs::path from = gzip_path(path);
  check_readable(from, limit);
  const Descriptor file(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  UnpackedFile in(file, from.string());
  if (!in.is_packed()) fail(from, "is not a whole gzip file");
  std::string out;
  std::string buffer(1 << 20, '\0');
  while (const std::size_t got = in.read(buffer.data(), buffer.size())) {
    if (out.size() + got > limit)
      fail(from, "holds more than the " + std::to_string(limit >> 20) + " MiB that are read");
    out.append(buffer, 0, got);
  }
  replace_file(path, out);
  static_cast<void>(unlink(from.c_str()));
}

std::string unpack(std::string_view packed) {
  constexpr std::size_t trailer = 8;  // CRC-32 and size
  std::uint32_t size = 0;
  if (packed.size() > trailer) std::memcpy(&size, packed.end() - sizeof size, sizeof size);
  std::string in(packed);
  std::string out(size, '\0');
  z_stream stream{};
  std::size_t given = 0;
  feed(stream, in, given);
  stream.next_out = bytes_of(out, 0);
  stream.avail_out = size;
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
  const int state = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::invalid_argument("damaged gzip data");
  return out;
}

}  // namespace occbench
