// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/binaries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/binary/archive.hpp"
#include "harness/binary/cubin.hpp"
#include "harness/binary/fatbin.hpp"
#include "harness/binary/triton.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::binary {
namespace {

namespace fs = std::filesystem;

/// A file's bytes, read as they are wanted and given back to the system with `done`.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) fail(path, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail(path, "is no regular file");
    if (status.st_size == 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data_ == MAP_FAILED) fail(path, std::string("cannot be mapped: ") + std::strerror(errno));
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) munmap(data_, size_);
  }

  [[nodiscard]] Bytes bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  /// What was read so far need not stay in memory.
  void done() const {
    if (size_ > 0) madvise(data_, size_, MADV_DONTNEED);
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Reads files into one Contents.
class Reader {
 public:
  explicit Reader(Contents& contents) : contents_(contents) {}

  /// False where it is of no kind that has kernels. Throws UserError where it cannot be read.
  bool read_file(const fs::path& path) {
    const MappedFile file(path);
    file_ = &file;
    const bool is_known = read(file.bytes(), path.string());
    file_ = nullptr;
    return is_known;
  }

 private:
  bool read(Bytes bytes, const std::string& name) {
    if (is_fatbin(bytes)) return read_fatbin(bytes, name, false), true;
    if (is_archive(bytes)) return read_archive(bytes, name), true;
    if (!is_elf(bytes)) return false;
    try {
      const ElfFile elf(bytes);
      if (is_cubin(elf)) {
        add_cubin(elf, name, false);
      } else {
        read_host(elf, name);
      }
    } catch (const Damaged& damage) {
      complain(name, damage.what());
    }
    return true;
  }

  void read_host(const ElfFile& host, const std::string& name) {
    const auto is_linked_code = [](const Section& section) { return section.name == ".nv_fatbin"; };
    // Of a program or library __nv_relfatbin is what the device linker made .nv_fatbin of.
    const bool is_linked = host.type() != ET_REL && std::ranges::any_of(host.sections(), is_linked_code);
    for (const Section& section : host.sections()) {
      if (!is_linked_code(section) && (is_linked || section.name != "__nv_relfatbin")) continue;
      if (section.is_cut) throw Damaged("is cut off");
      read_fatbin(section.bytes, name, host.type() != ET_REL);
    }
  }

  void read_archive(Bytes bytes, const std::string& name) {
    const std::string rest = for_each_member(bytes, [&](std::string_view member, Bytes content) {
      const std::string whole = name + "(" + std::string(member) + ")";
      if (is_archive(content)) return complain(whole, "is an archive inside an archive");
      read(content, whole);
    });
    if (!rest.empty()) complain(name, rest);
  }

  /// `is_final`: of a program or library, where code that a linker could take is loaded as it is.
  void read_fatbin(Bytes bytes, const std::string& name, bool is_final) {
    std::size_t since = 0;
    const std::string rest = for_each_part(bytes, [&](const FatbinPart& part) {
      if (part.kind == FatbinPart::Kind::ptx) contents_.ptx.insert(part.architecture);
      if (part.kind == FatbinPart::Kind::other) contents_.has_link_time_code = true;
      if (part.kind != FatbinPart::Kind::cubin) return;
      if (!part.damage.empty())
        return complain(name, "its part for " + part.architecture + " " + part.damage);
      try {
        add_cubin(ElfFile(part.content), name, is_final);
      } catch (const Damaged& damage) {
        complain(name, "its part for " + part.architecture + " " + damage.what());
      }
      constexpr std::size_t often = std::size_t{32} << 20;
      if ((since += part.content.size()) > often) file_->done(), since = 0;
    });
    if (!rest.empty()) complain(name, rest);
  }

  void add_cubin(const ElfFile& cubin, const std::string& name, bool is_final) {
    contents_.has_machine_code = true;
    const TritonLaunch launch = triton_launch(name);
    for (CompiledKernel& kernel : kernels_of(cubin)) {
      kernel.file = name;
      kernel.is_linked = kernel.is_linked || is_final;
      launch.add_to(kernel);
      contents_.kernels.push_back(std::move(kernel));
    }
  }

  void complain(const std::string& name, const std::string& what) {
    contents_.complaints.push_back("'" + name + "': " + what);
  }

  Contents& contents_;
  const MappedFile* file_ = nullptr;
};

/// Regular files below a folder, in order of their names; links to folders are not followed.
std::vector<fs::path> files_below(const fs::path& folder, Contents& contents) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code of_file;
    if (at->is_regular_file(of_file)) files.push_back(at->path());
  }
  if (error) contents.complaints.push_back("'" + folder.string() + "': " + error.message());
  std::ranges::sort(files);
  return files;
}

/// Of a file of another kind, by its name.
const char* what_it_is(const fs::path& path) {
  if (path.extension() == ".ptx")
    return "is PTX, which has no registers yet; `ptxas -arch=sm_90` makes a cubin of it";
  if (path.extension() == ".cu") return "is a source file; `nvcc -cubin -arch=sm_90` makes a cubin of it";
  return "is no cubin, fatbin, object, archive, library or program";
}

std::size_t found(const Contents& contents) { return contents.kernels.size() + contents.ptx.size(); }

}  // namespace

Contents read_binaries(const fs::path& path) {
  Contents contents;
  Reader reader(contents);
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const fs::path& file : files_below(path, contents)) {
      const std::size_t before = found(contents);
      try {
        reader.read_file(file);
      } catch (const UserError& refused) {
        contents.complaints.emplace_back(refused.what());
      }
      if (found(contents) > before) ++contents.files;
    }
    if (found(contents) == 0 && contents.complaints.empty()) fail(path, "holds no file with GPU code");
    return contents;
  }
  if (!reader.read_file(path)) fail(path, what_it_is(path));
  contents.files = 1;
  if (found(contents) == 0 && !contents.has_link_time_code && contents.complaints.empty())
    fail(path, contents.has_machine_code ? "holds GPU code, and no kernel in it"
                                         : "holds no GPU code; it is for the CPU alone");
  return contents;
}

std::vector<std::string> ptx_of(const std::filesystem::path& path) try {
  std::vector<std::string> texts;
  const MappedFile file(path);
  if (!is_elf(file.bytes())) return texts;
  const ElfFile elf(file.bytes());
  for (const Section& section : elf.sections()) {
    if (section.name != ".nv_fatbin" || section.is_cut) continue;
    static_cast<void>(for_each_part(
        section.bytes,
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
