// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/machine_code.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "harness/attach/preload/ptx.hpp"

namespace occbench::attach {

namespace {

using Bytes = std::span<const unsigned char>;

template <class T>
T at(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Formats written by nvcc and ptxas; see harness/binary/fatbin.cpp.
struct Wrapper {
  std::uint32_t magic, version;
  const unsigned char* data;
};
struct Container {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};
struct Part {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t packed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, unused, unpacked_bytes;
};
static_assert(sizeof(Container) == 16 && sizeof(Part) == 64);
constexpr std::uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;
constexpr std::uint16_t ptx_kind = 1, cubin_kind = 2;
constexpr std::uint64_t lz4_packed = 0x2000, zstd_packed = 0x8000, max_unpacked = std::uint64_t{512} << 20;

/// A function of a library that is loaded for it and hidden from the program, or null.
template <class Function>
Function unpacker(const char* library, const char* name) {
  void* const opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  return reinterpret_cast<Function>(opened == nullptr ? nullptr : dlsym(opened, name));
}

bool unpack(const Part& part, Bytes packed, std::vector<unsigned char>& to) {
  using Lz4 = int (*)(const char*, char*, int, int);
  using Zstd = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
  static const auto lz4 = unpacker<Lz4>("liblz4.so.1", "LZ4_decompress_safe");
  static const auto zstd = unpacker<Zstd>("libzstd.so.1", "ZSTD_decompress");
  if (part.packed_bytes > packed.size() || part.unpacked_bytes > max_unpacked) return false;
  to.resize(part.unpacked_bytes);
  if ((part.flags & lz4_packed) != 0)
    return lz4 != nullptr && part.packed_bytes < std::numeric_limits<int>::max() &&
           lz4(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(to.data()),
               static_cast<int>(part.packed_bytes),
               static_cast<int>(to.size())) == static_cast<int>(to.size());
  return zstd != nullptr && zstd(to.data(), to.size(), packed.data(), part.packed_bytes) == to.size();
}

class Search {
 public:
  explicit Search(const std::vector<int>& capabilities) : capabilities_(capabilities) {}

  void image(const unsigned char* bytes) {
    if (at<std::uint32_t>(bytes) == wrapper_magic) return image(at<Wrapper>(bytes).data);
    if (at<std::uint32_t>(bytes) == container_magic) return containers(bytes);
    if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) return cubin(bytes, nullptr);
    constexpr std::size_t look = 4096, most = std::size_t{64} << 20;
    const auto* const text = reinterpret_cast<const char*>(bytes);
    if (!is_ptx({text, strnlen(text, look)})) return is_not_whole();
    ptx({text, strnlen(text, most)});
  }

  SearchedCode take() {
    found_.smem_readers.assign(readers_.begin(), readers_.end());
    found_.perhaps_dependent.assign(dependent_.begin(), dependent_.end());
    std::ranges::set_difference(independent_, dependent_, std::back_inserter(found_.independent));
    return std::move(found_);
  }

 private:
  void is_not_whole() { found_.is_whole = false; }

  void ptx(std::string_view text) {
    for (std::string& kernel : kernels_that_ask_for_smem(text)) readers_.insert(std::move(kernel));
    for (std::string& kernel : kernels_of(text)) dependent_.insert(std::move(kernel));
  }

  void containers(const unsigned char* bytes) {
    const auto container = at<Container>(bytes);
    const Bytes all(bytes + container.header_bytes, container.bytes);
    std::vector<int> served;
    each_part(all, [&](const Part& part, Bytes) {
      if (part.kind == cubin_kind) served.push_back(static_cast<int>(part.architecture));
    });
    const bool needs_text =
        capabilities_.empty() || std::getenv("CUDA_FORCE_PTX_JIT") != nullptr ||
        !std::ranges::all_of(capabilities_, [&](int capability) {
          return std::ranges::any_of(served, [&](int code) { return runs_on(code, capability); });
        });
    each_part(all, [&](const Part& part, Bytes content) {
      if (part.kind == ptx_kind ? needs_text : part.kind == cubin_kind && is_of_these(part))
        one(part, content);
    });
  }

  template <class Take>
  void each_part(Bytes parts, const Take& take) {
    while (parts.size() >= sizeof(Part)) {
      const auto part = at<Part>(parts.data());
      if (part.header_bytes < sizeof part || part.header_bytes > parts.size() ||
          part.bytes > parts.size() - part.header_bytes)
        return is_not_whole();
      take(part, parts.subspan(part.header_bytes, part.bytes));
      parts = parts.subspan(part.header_bytes + part.bytes);
    }
  }

  /// Whether the driver certainly runs this code on such a device: it then compiles no PTX of the same
  /// container, which libraries have in hundreds of megabytes. From 10.0 on, some code is for one minor only.
  static bool runs_on(int code, int capability) {
    constexpr int with_variants_first = 100;
    return code == capability || (capability < with_variants_first &&
                                  code / of_major == capability / of_major && code < capability);
  }

  bool is_of_these(const Part& part) const {
    return capabilities_.empty() || std::ranges::any_of(capabilities_, [&](int capability) {
             return capability / of_major == static_cast<int>(part.architecture) / of_major;
           });
  }

  void one(const Part& part, Bytes content) {
    if ((part.flags & (lz4_packed | zstd_packed)) != 0) {
      if (!unpack(part, content, unpacked_)) return is_not_whole();
      content = unpacked_;
    }
    if (part.kind == ptx_kind)
      ptx({reinterpret_cast<const char*>(content.data()), content.size()});
    else if (content.size() > sizeof(Elf64_Ehdr) && std::memcmp(content.data(), ELFMAG, SELFMAG) == 0)
      cubin(content.data(), content.data() + content.size());
    else
      is_not_whole();
  }

  /// `end`: end of the readable bytes; null if the driver has read them all.
  void cubin(const unsigned char* bytes, const unsigned char* end) {
    const auto header = at<Elf64_Ehdr>(bytes);
    const auto is_inside = [&](std::uint64_t offset, std::uint64_t size) {
      if (end == nullptr) return true;
      const auto whole = static_cast<std::uint64_t>(end - bytes);
      return offset <= whole && size <= whole - offset;
    };
    const std::size_t count = header.e_shnum;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= count || !is_inside(header.e_shoff, count * sizeof(Elf64_Shdr)))
      return is_not_whole();
    std::vector<Elf64_Shdr> sections(count);
    std::memcpy(sections.data(), bytes + header.e_shoff, count * sizeof(Elf64_Shdr));
    const Elf64_Shdr& names = sections[header.e_shstrndx];
    if (!is_inside(names.sh_offset, names.sh_size)) return is_not_whole();
    const auto name_of = [&](const Elf64_Shdr& s) {
      if (s.sh_name >= names.sh_size) return std::string_view();
      const auto* const name = reinterpret_cast<const char*>(bytes) + names.sh_offset + s.sh_name;
      return std::string_view(name, strnlen(name, names.sh_size - s.sh_name));
    };
    constexpr std::string_view text = ".text.", arguments = ".nv.constant0.";
    std::set<std::string_view> kernels;
    for (const Elf64_Shdr& s : sections)
      if (name_of(s).starts_with(arguments)) kernels.insert(name_of(s).substr(arguments.size()));
    for (const Elf64_Shdr& s : sections) {
      const std::string_view name = name_of(s);
      if (!name.starts_with(text) || s.sh_type == SHT_NOBITS) continue;
      if (!is_inside(s.sh_offset, s.sh_size)) return is_not_whole();
      const std::string_view own = name.substr(text.size());
      const bool is_function = !kernels.contains(own);  // may be called by any kernel
      const auto insert = [&](std::set<std::string>& to) {
        if (is_function)
          to.insert(kernels.begin(), kernels.end());
        else
          to.emplace(own);
      };
      const Bytes code(bytes + s.sh_offset, s.sh_size);
      if (reads(code, capability_of(header))) insert(readers_);
      if (block_waits(code, capability_of(header), is_function) == BlockWaits::perhaps)
        insert(dependent_);
      else if (!is_function)
        insert(independent_);
    }
  }

  static int capability_of(const Elf64_Ehdr& header) {
    constexpr unsigned newer_abi = 8, byte = 0xff;
    const unsigned shift = header.e_ident[EI_ABIVERSION] >= newer_abi ? 8 : 0;
    return static_cast<int>((header.e_flags >> shift) & byte);
  }

  static bool reads(Bytes code, int capability) {
    constexpr std::size_t instruction = 16;
    for (std::size_t i = 0; i + instruction <= code.size(); i += instruction)
      if (reads_smem_size(at<std::uint64_t>(code.data() + i), at<std::uint64_t>(code.data() + i + 8),
                          capability))
        return true;
    return false;
  }

  static constexpr int of_major = 10;

  const std::vector<int>& capabilities_;
  SearchedCode found_;
  std::set<std::string> readers_, independent_, dependent_;
  std::vector<unsigned char> unpacked_;
};

}  // namespace

// Encoding of ptxas 13.0: up to sm_90 the size is at c[0x0][0x2c]; from sm_100 on at c[0x0][R + 0x2ac], with
// R from SR_CgaSize; the total is SR_SMEMSZ.
bool reads_smem_size(std::uint64_t low, std::uint64_t high, int capability) {
  const auto bits = [&](unsigned from, unsigned count) { return (low >> from) & ((1u << count) - 1); };
  const std::uint64_t opcode = bits(0, 12);
  constexpr std::uint64_t s2r = 0x919, s2ur = 0x9c3, cs2r = 0x805, smem_size = 0x32;
  if (opcode == s2r || opcode == s2ur || opcode == cs2r) return ((high >> 8) & 0xff) == smem_size;
  constexpr int with_clusters_first = 100;
  if (capability < with_clusters_first) {
    constexpr std::uint64_t constant_second = 5, constant_third = 3, place = 0x2c / 4;
    const std::uint64_t form = bits(9, 3);
    return (form == constant_second || form == constant_third) && bits(40, 14) == place && bits(54, 5) == 0;
  }
  constexpr std::uint64_t ldc = 0xb82, ldcu = 0x7ac, no_register = 0xff, place = 0x2ac;
  return (opcode == ldc && bits(24, 8) != no_register && bits(38, 16) == place && bits(54, 5) == 0) ||
         (opcode == ldcu && bits(24, 8) != no_register && bits(37, 17) == place && bits(54, 5) == 0);
}

SearchedCode search_code(const void* image, const std::vector<int>& capabilities) {
  Search search(capabilities);
  search.image(static_cast<const unsigned char*>(image));
  return search.take();
}

}  // namespace occbench::attach
