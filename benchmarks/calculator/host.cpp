// SPDX-License-Identifier: Apache-2.0
// What a browser has in place of a system: one input, which the page reads to it, no programs, no terminal.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "benchmarks/report/terminal.hpp"
#include "harness/binary/package.hpp"
#include "harness/io/check.hpp"
#include "harness/io/child.hpp"
#include "harness/io/unpacked.hpp"

namespace occbench {

UnpackedFile::UnpackedFile(const Descriptor& file, std::string source)
    : file_(file.get()), source_(std::move(source)) {}
UnpackedFile::~UnpackedFile() = default;

std::size_t UnpackedFile::read(char* buffer, std::size_t size) {
  const ssize_t got = ::read(file_, buffer, size);
  if (got < 0) throw UserError(Exit::file, source_ + ": cannot be read: " + std::strerror(errno));
  return static_cast<std::size_t>(got);
}

Descriptor::~Descriptor() = default;

void fail(const std::filesystem::path& path, const std::string& what) {
  throw UserError(Exit::file, path.string() + ": " + what);
}

std::string read_file(const std::filesystem::path& path, std::size_t) {
  throw UserError(Exit::file, path.string() + ": the page reads no files by name");
}

namespace binary {
Bytes begin_of(const PackedMember&, Buffer&) {
  throw Damaged("is in a package: `occbench inspect` reads it");
}
UnpackedMember unpack(const PackedMember&, Unpacking&) { throw Damaged("is packed"); }
}  // namespace binary

std::optional<std::size_t> terminal_columns(int) { return std::nullopt; }
std::optional<std::string> find_program(const std::string&) { return std::nullopt; }
ChildOutput run_child(const std::vector<std::string>& words) {
  throw UserError(Exit::tool_missing, words.front() + ": a page runs no programs");
}

}  // namespace occbench
