// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/reading.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "harness/binary/compiler_text.hpp"
#include "harness/binary/ncu_csv.hpp"
#include "harness/binary/ncu_text.hpp"
#include "harness/binary/nsys_csv.hpp"
#include "harness/binary/pasted_text.hpp"
#include "harness/binary/plain_text.hpp"
#include "harness/binary/profiler_trace.hpp"
#include "harness/binary/sqlite_file.hpp"
#include "harness/io/check.hpp"
#include "harness/io/printable.hpp"
#include "harness/io/unpacked.hpp"

namespace occbench::binary {
namespace {

constexpr std::size_t longest_text = std::size_t{256}
                                     << 20;  // for build logs and tables; traces are unlimited

/// A file or pipe, decompressed, in UTF-8 and without a byte-order mark.
class Content {
 public:
  Content(const Descriptor& file, const std::string& source) : file_(file, source) {
    begin_.resize(4096);
    std::size_t size = 0;
    while (size < begin_.size()) {
      const std::size_t got = file_.read(begin_.data() + size, begin_.size() - size);
      if (got == 0) break;
      size += got;
    }
    begin_.resize(size);
    constexpr std::string_view utf8 = "\xEF\xBB\xBF", little_endian = "\xFF\xFE", big_endian = "\xFE\xFF";
    if (begin_.starts_with(utf8)) begin_.erase(0, utf8.size());
    if (begin_.starts_with(little_endian)) utf16_.emplace(Utf16::Order::little_endian);
    if (begin_.starts_with(big_endian)) utf16_.emplace(Utf16::Order::big_endian);
    if (utf16_) begin_ = utf16_->decode(std::string_view(begin_).substr(little_endian.size()));
  }

  /// The first bytes, which read() returns again.
  [[nodiscard]] std::string_view begin() const { return begin_; }

  std::size_t read(char* buffer, std::size_t size) {
    if (at_ == begin_.size()) return utf16_ ? read_converted(buffer, size) : file_.read(buffer, size);
    const std::size_t part = std::min(size, begin_.size() - at_);
    std::memcpy(buffer, begin_.data() + at_, part);
    at_ += part;
    return part;
  }

 private:
  /// A two-byte unit needs at most three bytes in UTF-8, a pair of units four.
  std::size_t read_converted(char* buffer, std::size_t size) {
    std::string units(size / 2, '\0'), text;
    while (text.empty()) {
      const std::size_t got = file_.read(units.data(), units.size());
      if (got == 0) return 0;
      text = utf16_->decode(std::string_view(units).substr(0, got));
    }
    std::memcpy(buffer, text.data(), text.size());
    return text.size();
  }

  UnpackedFile file_;
  std::optional<Utf16> utf16_;
  std::string begin_;
  std::size_t at_ = 0;
};

void each_line(const std::string& text, const auto& read) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    constexpr std::size_t shortest = 4;  // shorter lines carry no information, and a file may have millions
    if (end - at >= shortest || end == text.size()) {  // the last line may begin a row
      std::string line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.pop_back();
      read(line);
    }
    at = end + 1;
  }
}

std::string whole(Content& file, const std::string& source) {
  std::string text;
  std::string buffer(1 << 16, '\0');
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) {
    text.append(buffer, 0, got);
    if (text.size() > longest_text) throw UserError(Exit::file, source + ": is longer than 256 MiB of text");
  }
  return text;
}

/// Whether it begins with an object or an array of objects; ninja logs begin with "[1/20]".
bool is_json(std::string_view text) {
  const auto skip_blanks = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  };
  skip_blanks();
  if (!text.starts_with('[')) return text.starts_with('{');
  text.remove_prefix(1);
  skip_blanks();
  return text.starts_with('{') || text.starts_with(']');
}

KernelUses of_launches(const NcuLaunches& launches, const char* form, const std::string& source) {
  KernelUses found{.source = form, .has_run = true, .kernels = launches.kernels()};
  if (found.kernels.empty())
    throw UserError(Exit::file, source + ": is " + form +
                                    " and holds no launch__registers_per_thread; profile with "
                                    "`ncu --section LaunchStats`, --set basic or --set full");
  if (const std::size_t unknown = launches.without_registers(); unknown > 0)
    found.left_out.push_back(std::to_string(unknown) + " of " + std::to_string(launches.count()) +
                             " launches, which have no launch__registers_per_thread");
  const auto is_unknown = [](const KernelUse& kernel) { return !kernel.dynamic_smem_bytes; };
  if (const auto unknown = std::ranges::count_if(found.kernels, is_unknown); unknown > 0)
    found.left_out.push_back("dynamic shared memory of " + std::to_string(unknown) + " of " +
                             std::to_string(found.kernels.size()) +
                             " kernels, which the report does not have: 0 B, or --dynamic-smem");
  return found;
}

KernelUses of_ncu(const NcuCsv& ncu, const char* form, const std::string& source) {
  if (ncu.is_cut()) throw UserError(Exit::file, source + ": is cut off: a row of its table has no end");
  return of_launches(ncu.launches(), form, source);
}

KernelUses of_report(const std::string& text, const std::string& source) {
  NcuCsv ncu;
  each_line(text, [&](const std::string& line) { ncu.read(line); });
  return of_ncu(ncu, "ncu report", source);
}

/// `is_terminated`: the text ends with a line feed.
KernelUses of_nsys(NsysCsv& nsys, const std::string& source, bool is_terminated) {
  if (nsys.is_cut()) throw UserError(Exit::file, source + ": is cut off: a row of its table has no end");
  KernelUses found{.source = nsys.is_nvprof() ? "nvprof --print-gpu-trace" : "nsys cuda_gpu_trace",
                   .has_run = true,
                   .kernels = nsys.kernels()};
  if (found.kernels.empty())
    throw UserError(Exit::file, source + ": is " + found.source + " without a kernel");
  if (nsys.unknown_launches() > 0)
    found.left_out.push_back(std::to_string(nsys.unknown_launches()) +
                             " launches without registers or shape");
  if (!is_terminated)
    found.left_out.emplace_back("perhaps the end of the last kernel's name: the text ends within a line");
  return found;
}

/// Rejects, by name, forms without registers or without NVIDIA GPUs.
void refuse_known(const std::string& text, const std::string& source) {
  struct Form {
    std::string_view columns[2];
    const char* what;
  };
  static constexpr Form forms[] = {
      {{"KernelName", "vgpr"}, "is rocprof's table of an AMD GPU; calc knows NVIDIA's alone"},
      {{"Kernel_Name", "VGPR_Count"}, "is rocprofv3's table of an AMD GPU; calc knows NVIDIA's alone"},
      {{"Total Time (ns)", "Instances"},
       "is a summary of nsys, which holds no registers; use `nsys stats --report cuda_gpu_trace --format "
       "csv`"},
      {{"Time(%)", "Calls"},
       "is a summary of nvprof, which holds no registers; use --print-gpu-trace --csv"}};
  constexpr std::size_t head = 4096;
  const std::string_view begin = std::string_view(text).substr(0, head);
  for (const Form& form : forms)
    if (begin.find(form.columns[0]) != begin.npos && begin.find(form.columns[1]) != begin.npos)
      throw UserError(Exit::file, source + ": " + form.what);
}

/// An incomplete log would omit that kernel.
void refuse_incomplete(const std::optional<std::string>& kernel, const std::string& source) {
  constexpr std::size_t longest_name = 100;
  if (kernel)
    throw UserError(Exit::file, source + ": is cut off or incomplete: it does not say what kernel '" +
                                    printable(short_name(*kernel, longest_name)) + "' uses");
}

/// Whether the last line has no line feed and ends before the name of the kernel it begins.
bool ends_before_name(std::string_view text) {
  std::string line;
  for (const char c : text.substr(text.find_last_of("\r\n") + 1)) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space || (!line.empty() && !line.ends_with(' '))) line += is_space ? ' ' : c;
  }
  constexpr std::string_view openings[] = {"ptxas info : Compiling entry function '",
                                           "nvlink info : Function properties for '", "Function "};
  return std::ranges::any_of(openings, [&](std::string_view opening) {
    const std::size_t begin =
        line.find(opening.substr(0, opening.find(" info")));  // after the build tool's own words
    const std::string_view rest = std::string_view(line).substr(begin == line.npos ? 0 : begin);
    return !rest.empty() && opening.starts_with(rest);
  });
}

/// The linked kernels plus the unlinked versions of all others; only ptxas knows spills.
std::vector<KernelUse> linked_first(std::vector<KernelUse> compiled, const std::vector<KernelUse>& linked) {
  using ByArchitecture = std::map<std::string, std::vector<std::size_t>>;
  std::unordered_map<std::string, ByArchitecture> left;  // kernels not linked so far, by name
  for (std::size_t i = 0; i < compiled.size(); ++i) left[compiled[i].name][compiled[i].cc].push_back(i);
  std::vector<bool> is_linked(compiled.size());
  std::vector<KernelUse> all = linked;
  for (KernelUse& kernel : all) {
    ByArchitecture& same = left[kernel.name];
    std::vector<std::size_t> own;
    if (kernel.cc.empty()) {
      for (const auto& [cc, indices] : same) own.insert(own.end(), indices.begin(), indices.end());
      same.clear();
    } else if (auto node = same.extract(kernel.cc)) {
      own = std::move(node.mapped());
    }
    if (own.empty()) continue;
    const KernelUse& first = compiled[std::ranges::min(own)];
    kernel.spill_bytes = first.spill_bytes;
    if (kernel.may_hold_reserved_smem && has_reserved_smem(first.cc))
      kernel.static_smem_bytes -= reserved_smem_bytes;
    kernel.may_hold_reserved_smem = false;
    kernel.cc = first.cc;
    for (const std::size_t i : own) is_linked[i] = true;
  }
  for (std::size_t i = 0; i < compiled.size(); ++i)
    if (!is_linked[i]) all.push_back(std::move(compiled[i]));
  return all;
}

/// Reports in a log that cannot be assigned to a kernel.
void add_left_out(const OpenReports& reports, std::int64_t lines_of_no_kernel, KernelUses& found) {
  constexpr std::size_t longest_name = 60;
  if (const auto& names = reports.interleaved_kernels(); !names.empty())
    found.left_out.push_back(std::to_string(names.size()) + " kernels, '" +
                             printable(short_name(names.front(), longest_name)) +
                             "' the first: lines of two compilers are mixed, so whose registers are whose is "
                             "unknown (make -j: add --output-sync)");
  if (lines_of_no_kernel > 0)
    found.left_out.push_back(std::to_string(lines_of_no_kernel) +
                             " lines of registers that belong to no kernel");
}

KernelUses of_text(const std::string& text, const std::string& source) {
  PtxasText ptxas;
  NvlinkText nvlink;
  ResourceUsage usage;
  RefusalText refusals;
  NcuCsv ncu;
  NcuText ncu_text;
  NsysCsv nsys;
  each_pasted_line(text, [&](const std::string& line) {
    ptxas.read(line), nvlink.read(line), usage.read(line), refusals.read(line);
    ncu.read(line), ncu_text.read(line), nsys.read(line);
  });
  const bool is_terminated = text.ends_with('\n') || text.ends_with('\r');
  if (ncu.is_ncu()) return of_ncu(ncu, "ncu --csv", source);
  if (nsys.is_nsys()) return of_nsys(nsys, source, is_terminated);
  if (ncu_text.is_ncu() && !is_terminated && ncu_text.ends_in_short_row())
    throw UserError(Exit::file, source + ": is cut off within its last row");
  if (ncu_text.is_ncu()) return of_launches(ncu_text.launches(), "ncu's text", source);
  refuse_incomplete(ptxas.incomplete_kernel(), source);
  refuse_incomplete(nvlink.reports().first(), source);
  KernelUses found{.source = nvlink.kernels().empty() ? "ptxas -v" : "nvlink -v",
                   .kernels = linked_first(ptxas.kernels(), nvlink.kernels()),
                   .refused = refusals.all()};
  add_left_out(ptxas.reports(), ptxas.lines_of_no_kernel(), found);
  add_left_out(nvlink.reports(), nvlink.reports().lines_of_no_kernel(), found);
  std::ranges::copy(ptxas.remarks(), std::back_inserter(found.left_out));
  if (found.kernels.empty()) {
    refuse_incomplete(usage.incomplete_kernel(is_terminated), source);
    found.source = "cuobjdump -res-usage";
    found.kernels = usage.kernels();
  }
  if (!found.kernels.empty() && ends_before_name(text))
    throw UserError(Exit::file, source + ": is cut off within its last line");
  if (!found.kernels.empty() || !found.refused.empty()) return found;
  if (!found.left_out.empty()) throw UserError(Exit::file, source + ": " + found.left_out.front());
  if (text.find("registers_per_thread") < text.find('\n'))
    throw UserError(Exit::file, source + ": is a table of footprints, which --batch reads");
  refuse_known(text, source);
  throw UserError(Exit::file,
                  source +
                      ": holds no kernel: calc reads what `nvcc -Xptxas -v`, `nvlink -v`, "
                      "`cuobjdump -res-usage`, ncu and `nsys stats --report cuda_gpu_trace` print, "
                      ".ncu-rep, SQLite of nsys, and traces of PyTorch and JAX");
}

KernelUses of_trace(Content& content, const std::string& source) {
  try {
    return read_trace([&](char* buffer, std::size_t size) { return content.read(buffer, size); });
  } catch (const std::invalid_argument& error) {
    throw UserError(Exit::file, source + ": " + error.what());
  }
}

/// Reads a database page by page; from a pipe or packed file, it must fit into memory.
KernelUses of_sqlite(const Descriptor& file, Content& content, const std::string& source) {
  std::array<char, SqliteFile::magic.size()> first{};
  const bool is_seekable = pread(file.get(), first.data(), first.size(), 0) == ssize_t{first.size()} &&
                           std::string_view(first.data(), first.size()) == SqliteFile::magic;
  struct stat status = {};
  try {
    if (is_seekable && fstat(file.get(), &status) == 0)
      return read_nsys_sqlite(ByteSource(file.get(), static_cast<std::uint64_t>(status.st_size)));
    const std::string bytes = whole(content, source);
    return read_nsys_sqlite(ByteSource(std::as_bytes(std::span(bytes))));
  } catch (const Damaged& error) {
    throw UserError(Exit::file, source + ": " + error.what());
  }
}

/// Whether it begins like an ELF file, a fatbin or an archive.
bool is_binary(std::string_view text) {
  return text.starts_with(
             "\x7f"
             "ELF") ||
         text.starts_with("\x50\xed\x55\xba") || text.starts_with("!<arch>\n");
}

}  // namespace

std::string ncu_text(Descriptor file, const std::string& path, const std::string& source) {
  Content content(file, source);
  if (content.begin().empty()) throw UserError(Exit::file, source + ": is empty");
  if (!content.begin().starts_with("NVR") && !path.ends_with(".ncu-rep")) return whole(content, source);
  if (path == "-") throw UserError(Exit::file, source + ": is an .ncu-rep; name the file, which ncu reads");
  return ncu_import(path, true);
}

KernelUses read_kernels(Descriptor file, const std::string& path, const std::string& source) {
  Content content(file, source);
  const std::string_view begin = content.begin();
  if (begin.empty()) throw UserError(Exit::file, source + ": is empty");
  if (begin.starts_with("NVR") || path.ends_with(".ncu-rep")) {
    if (path == "-") throw UserError(Exit::file, source + ": is an .ncu-rep; name the file, which ncu reads");
    return of_report(ncu_import(path), source);
  }
  if (is_binary(begin))
    throw UserError(Exit::file, source + ": is a binary, which `occbench inspect FILE` reads");
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep"))
    throw UserError(Exit::file, source + ": is a report of nsys; `nsys export --type sqlite` converts it");
  KernelUses found = begin.starts_with(SqliteFile::magic) ? of_sqlite(file, content, source)
                     : is_json(begin)                     ? of_trace(content, source)
                                                          : of_text(whole(content, source), source);
  if (found.kernels.empty() && found.refused.empty())
    throw UserError(Exit::file, source + ": is " + found.source + " and holds no kernel");
  return found;
}

}  // namespace occbench::binary
