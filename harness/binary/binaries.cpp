// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/binaries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/binary/archive.hpp"
#include "harness/binary/cubin.hpp"
#include "harness/binary/fatbin.hpp"
#include "harness/binary/package.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {
namespace {

namespace fs = std::filesystem;

/// Sparse files cost no disk space but as much time to read.
constexpr std::uint64_t max_file_bytes = std::uint64_t{16} << 30;
/// Every cubin of cuBLASLt, cuDNN and cuSPARSE is smaller.
constexpr std::uint64_t max_cubin_bytes = std::uint64_t{512} << 20;

struct OpenFile {
  OpenFile(Descriptor from, const fs::path& path) : file(std::move(from)) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0) fail(path, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file");
    size = static_cast<std::uint64_t>(status.st_size);
    if (size > max_file_bytes)
      fail(path, "has " + std::to_string(size >> 30) + " GiB, and at most " +
                     std::to_string(max_file_bytes >> 30) + " are read");
  }

  [[nodiscard]] ByteSource source() const { return {file.get(), size}; }

  Descriptor file;
  std::uint64_t size = 0;
};

/// Reads one file into a Contents.
class Reader {
 public:
  Reader(Contents& contents, const fs::path& path, OpenFile file, const TritonLaunch& launch)
      : contents_(contents), path_(path), file_(std::move(file)), unpacking_(file_.size), launch_(launch) {}

  /// Returns false if this kind of file has no kernels.
  bool read() { return read(file_.source(), path_.string()); }

 private:
  bool read(const ByteSource& source, const std::string& name) {
    Buffer buffer;
    try {
      const Bytes begin =
          source.read(0, std::min<std::uint64_t>(package_header_bytes, source.size()), buffer);
      const Package package = package_of(begin);
      if (package == Package::gzip)
        return read_packed({.name = name, .content = source, .packing = Packing::gzip}, name);
      if (package != Package::none)
        read_package(source, package, name);
      else if (is_fatbin(begin))
        read_fatbin(source, name, false);
      else if (is_archive(begin))
        read_archive(source, name);
      else if (is_elf(begin))
        read_elf(source, name);
      else
        return false;
    } catch (const Damaged& damage) {
      warn(name, damage.what());
    }
    return true;
  }

  void read_package(const ByteSource& source, Package kind, const std::string& name) {
    const std::string rest = for_each_packed(source, kind, [&](const PackedMember& member) {
      const std::string whole = name + "(" + member.name + ")";
      try {
        if (!member.refusal.empty()) throw Damaged(member.refusal);
        read_packed(member, whole);
      } catch (const Damaged& damage) {
        warn(whole, damage.what());
      }
    });
    if (!rest.empty()) warn(name, rest);
  }

  /// Returns false if this kind of file has no kernels, without unpacking it.
  bool read_packed(const PackedMember& member, const std::string& name) {
    constexpr int max_levels = 4;
    Buffer buffer;
    const Bytes begin = begin_of(member, buffer);
    if (package_of(begin) == Package::none && !is_fatbin(begin) && !is_archive(begin) && !is_elf(begin))
      return false;
    if (levels_ == max_levels) throw Damaged("is nested too deep: 4 levels of zip, tar and gzip are read");
    std::optional<UnpackedMember> unpacked;
    if (member.packing == Packing::none)
      unpacking_.take(member.content.size());  // zip members may overlap
    else
      unpacked = unpack(member, unpacking_);
    ++levels_;
    const bool is_read = read(unpacked ? unpacked->source() : member.content, name);
    --levels_;
    return is_read;
  }

  void read_elf(const ByteSource& source, const std::string& name) {
    const ElfFile elf(source);
    if (is_cubin(elf))
      read_cubin(source, name);
    else
      read_host(elf, source, name);
  }

  void read_cubin(const ByteSource& source, const std::string& name) {
    if (source.size() > max_cubin_bytes) throw Damaged("is a cubin of more than 512 MiB");
    Buffer buffer;
    add_cubin(ElfFile(source.read(0, source.size(), buffer)), name, false);
  }

  void read_host(const ElfFile& host, const ByteSource& source, const std::string& name) {
    const auto is_linked_code = [](const Section& section) { return section.name == ".nv_fatbin"; };
    // In a linked file __nv_relfatbin is only the device linker's input.
    const bool is_linked = host.type() != ET_REL && std::ranges::any_of(host.sections(), is_linked_code);
    std::vector<const Section*> with_code;
    for (const Section& section : host.sections()) {
      if (!is_linked_code(section) && (is_linked || section.name != "__nv_relfatbin")) continue;
      if (section.is_cut) throw Damaged("is cut off");
      if (section.type != SHT_NOBITS) with_code.push_back(&section);
    }
    std::ranges::stable_sort(with_code, {}, &Section::offset);
    std::uint64_t end = 0;
    for (const Section* section : with_code) {
      if (section->offset < end) throw Damaged("has sections of GPU code that overlap");
      end = section->offset + section->size;
      read_fatbin(source.part(section->offset, section->size), name, host.type() != ET_REL);
    }
  }

  void read_archive(const ByteSource& source, const std::string& name) {
    Buffer buffer;
    const auto visit = [&](std::string_view member, const ByteSource& content) {
      const std::string whole = name + "(" + std::string(member) + ")";
      constexpr std::uint64_t header_bytes = 8;
      if (is_archive(content.read(0, std::min(header_bytes, content.size()), buffer)))
        return warn(whole, "is an archive inside an archive");
      read(content, whole);
    };
    const std::string rest = for_each_member(source, visit);
    if (!rest.empty()) warn(name, rest);
  }

  /// `is_final`: for a program or library, where relocatable code is loaded without linking.
  void read_fatbin(const ByteSource& source, const std::string& name, bool is_final) {
    const std::string rest = for_each_part(source, unpacking_, [&](const FatbinPart& part) {
      if (part.kind == FatbinPart::Kind::ptx) contents_.ptx.insert(part.architecture);
      if (part.kind == FatbinPart::Kind::other) contents_.has_link_time_code = true;
      if (part.kind != FatbinPart::Kind::cubin) return;
      if (!part.damage.empty()) return warn(name, "its part for " + part.architecture + " " + part.damage);
      try {
        add_cubin(ElfFile(part.content), name, is_final);
      } catch (const Damaged& damage) {
        warn(name, "its part for " + part.architecture + " " + damage.what());
      }
    });
    if (!rest.empty()) warn(name, rest);
  }

  void add_cubin(const ElfFile& cubin, const std::string& name, bool is_final) {
    contents_.has_machine_code = true;
    std::vector<CompiledKernel> kernels = kernels_of(cubin);
    if (kernels.size() > kernels_left_) throw Damaged("has more kernels than its file has room for");
    kernels_left_ -= kernels.size();
    for (CompiledKernel& kernel : kernels) {
      kernel.file = name;
      kernel.is_linked = kernel.is_linked || is_final;
      launch_.add_to(kernel);
      contents_.kernels.push_back(std::move(kernel));
    }
  }

  void warn(const std::string& name, const std::string& what) {
    contents_.warnings.push_back("'" + name + "': " + what);
  }

  Contents& contents_;
  const fs::path& path_;
  OpenFile file_;
  Unpacking unpacking_;
  /// Even compressed, a kernel takes more than 16 bytes.
  std::uint64_t kernels_left_ = 1000 + file_.size / 16;
  TritonLaunch launch_;
  int levels_ = 0;  ///< nesting of packages
};

/// Why a file without kernels is rejected, by its extension.
const char* refusal_of(const fs::path& path) {
  if (path.extension() == ".ptx")
    return "is PTX, which has no registers yet; `ptxas -arch=sm_90` makes a cubin of it";
  if (path.extension() == ".cu") return "is a source file; `nvcc -cubin -arch=sm_90` makes a cubin of it";
  return "is not a cubin, fatbin, object, archive, library or program, nor a wheel, zip or tar file of them; "
         "logs and profiles are for `occbench calc FILE`";
}

}  // namespace

Descriptor open_binary(const fs::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail(path, std::strerror(errno));
  return file;
}

bool is_binary(Bytes begin) { return is_fatbin(begin) || is_archive(begin) || is_elf(begin); }

bool add_binary(Contents& contents, Descriptor file, const fs::path& path, const TritonLaunch& launch) {
  const std::size_t before = contents.kernels_and_ptx();
  const bool is_read = Reader(contents, path, OpenFile(std::move(file), path), launch).read();
  if (contents.kernels_and_ptx() > before) ++contents.files;
  return is_read;
}

Contents read_binary(Descriptor file, const fs::path& path, const TritonLaunch& launch) {
  Contents contents;
  if (!add_binary(contents, std::move(file), path, launch)) fail(path, refusal_of(path));
  contents.files = 1;
  if (contents.kernels_and_ptx() == 0 && !contents.has_link_time_code && contents.warnings.empty())
    fail(path, contents.has_machine_code ? "holds GPU code, and no kernel in it"
                                         : "holds no GPU code; it is for the CPU alone");
  return contents;
}

std::vector<std::string> ptx_of(const std::filesystem::path& path) try {
  std::vector<std::string> texts;
  const OpenFile file(open_binary(path), path);
  const ByteSource source = file.source();
  const ElfFile elf(source);
  Unpacking unpacking(file.size);
  for (const Section& section : elf.sections()) {
    if (section.name != ".nv_fatbin" || section.is_cut || section.type == SHT_NOBITS) continue;
    static_cast<void>(for_each_part(
        source.part(section.offset, section.size), unpacking,
        [&](const FatbinPart& part) {
          if (part.kind != FatbinPart::Kind::ptx || !part.damage.empty()) return;
          const auto* const text = reinterpret_cast<const char*>(part.content.data());
          texts.emplace_back(text, strnlen(text, part.content.size()));
        },
        true));
  }
  return texts;
} catch (const std::exception&) {
  return {};
}

}  // namespace occbench::binary
