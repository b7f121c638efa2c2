// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "harness/binary/local_memory.hpp"

namespace occbench::binary {
namespace {

constexpr int cuda_machine = 190;         // EM_CUDA
constexpr int new_abi = 8;                // since CUDA 13
constexpr unsigned char is_entry = 0x10;  // STO_CUDA_ENTRY: a kernel, not a function that kernels call

/// Attributes in .nv.info, by cuobjdump's names for them (EIATTR_...).
enum class Attribute : unsigned char {
  max_threads = 0x05,
  reqntid = 0x10,
  min_stack_size = 0x12,
  regcount = 0x2f,
  cuda_api_version = 0x37,
  cta_per_cluster = 0x3d,
  vrc_cta_init_count = 0x4a,
  num_barriers = 0x4c,
  annotations = 0x55,
};
constexpr unsigned char accelerator_target = 0x09;  // EICOMPAT_ATTR_..., in .nv.compat: the "a" of sm_90a

std::uint32_t word(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at + sizeof value > bytes.size()) throw Damaged("has an attribute that is cut off");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Calls visit(attribute, value) for each. An entry is a format byte, an attribute byte, and a 2-byte value
/// or, in the `sized` format, a 2-byte size and the value.
void for_each_attribute(Bytes bytes, const auto& visit) {
  constexpr unsigned sized = 4;  // EIFMT_SVAL
  for (std::size_t at = 0; at + 4 <= bytes.size();) {
    const auto format = std::to_integer<unsigned>(bytes[at]);
    const auto attribute = std::to_integer<unsigned char>(bytes[at + 1]);
    const auto value = static_cast<std::uint16_t>(word(bytes, at) >> 16);
    const std::size_t size = format == sized ? value : 0;
    if (size > bytes.size() - at - 4) throw Damaged("has an attribute that is cut off");
    if (format != sized || size > 0)
      visit(attribute, format == sized ? bytes.subspan(at + 4, size) : bytes.subspan(at + 2, 2));
    at += 4 + (size + 3) / 4 * 4;
  }
}

/// The contents of a section. Throws Damaged if it is cut off.
Bytes whole(const Section& section) {
  if (section.is_cut) throw Damaged("is cut off");
  return section.bytes;
}

/// Attributes of functions in .nv.info, by symbol.
struct FunctionAttributes {
  std::unordered_map<std::uint32_t, std::uint32_t> registers, stack;
};

FunctionAttributes read_attributes(Bytes info) {
  FunctionAttributes attributes;
  for_each_attribute(info, [&](unsigned char attribute, Bytes value) {
    if (value.size() < 8) return;
    if (attribute == static_cast<unsigned char>(Attribute::regcount))
      attributes.registers[word(value, 0)] = word(value, 4);
    if (attribute == static_cast<unsigned char>(Attribute::min_stack_size))
      attributes.stack[word(value, 0)] = word(value, 4);
  });
  return attributes;
}

/// The product of a block's or cluster's three dimensions. Throws Damaged if it is out of range.
int volume(Bytes value) {
  std::uint64_t product = 1;
  for (std::size_t at = 0; at < 12 && at + 4 <= value.size(); at += 4) {
    product *= std::max(word(value, at), 1U);
    if (product > std::numeric_limits<int>::max()) throw Damaged("has a block of impossible size");
  }
  return static_cast<int>(product);
}

/// ptxas's notes on the loads and stores of spilled registers.
struct SpillNotes {
  unsigned ptxas_version = 0;  ///< 126: 12.6; 0: unknown
  std::vector<std::uint32_t> offsets;
  bool has_others = false;  ///< notes of unknown kind
  /// The first ptxas version that writes each note; from then on, no notes means no spills.
  [[nodiscard]] bool are_complete() const { return ptxas_version >= 126 && !has_others; }
};

void read_annotations(Bytes value, SpillNotes& notes) {
  constexpr std::uint32_t spill_refill = 1;
  for (std::size_t at = 0; at < value.size() && !notes.has_others; at += 8) {
    notes.has_others = word(value, at) != spill_refill;
    notes.offsets.push_back(word(value, at + 4));
  }
}

void read_kernel_attributes(Bytes info, CompiledKernel& kernel, SpillNotes& notes) {
  for_each_attribute(info, [&](unsigned char attribute, Bytes value) {
    switch (static_cast<Attribute>(attribute)) {
      case Attribute::max_threads:
        kernel.launch_bound = volume(value);
        break;
      case Attribute::reqntid:
        kernel.use.block_size = kernel.launch_bound = volume(value);
        break;
      case Attribute::cta_per_cluster:
        kernel.use.cluster_size = volume(value);
        break;
      case Attribute::num_barriers:
        kernel.use.barriers = std::to_integer<int>(value[0]);
        break;
      case Attribute::vrc_cta_init_count:
        kernel.virtual_resources = std::to_integer<int>(value[0]);
        break;
      case Attribute::cuda_api_version:
        notes.ptxas_version = word(value, 0);
        break;
      case Attribute::annotations:
        read_annotations(value, notes);
        break;
      default:
        break;
    }
  });
}

/// The bank of ".nv.constant3" or, if `is_of_kernel`, of ".nv.constant0.KERNEL"; nullopt for other sections.
std::optional<int> constant_bank(std::string_view name, bool is_of_kernel) {
  constexpr std::string_view prefix = ".nv.constant";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || digits > 2 || (digits < name.size()) != is_of_kernel) return std::nullopt;
  return std::stoi(std::string(name.substr(0, digits)));
}

}  // namespace

bool is_cubin(const ElfFile& file) { return file.machine() == cuda_machine; }

namespace {

/// The code of sm_100f differs from that of sm_100 only in the tool's arguments: "-arch sm_100f -m 64".
bool is_for_family(const ElfFile& cubin, const std::string& architecture) {
  const std::string argument = "-arch " + architecture + "f";
  const auto has_argument = [&](const Section& section) {
    if (section.name != ".note.nv.tkinfo") return false;
    const Bytes bytes = whole(section);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(argument) !=
           std::string_view::npos;
  };
  return std::ranges::any_of(cubin.sections(), has_argument);
}

}  // namespace

std::string architecture_of(const ElfFile& cubin) {
  const std::uint32_t flags = cubin.flags();
  if (cubin.abi_version() < new_abi) {
    constexpr std::uint32_t accelerated = 0x800;
    return "sm_" + std::to_string(flags & 0xff) + ((flags & accelerated) != 0 ? "a" : "");
  }
  constexpr std::uint32_t exact_target = 0x8;  // nvlink 12.9 sets this bit and writes no .nv.compat
  bool is_accelerated = (flags & exact_target) != 0;
  for (const Section& section : cubin.sections())
    if (section.name == ".nv.compat")
      for_each_attribute(whole(section), [&](unsigned char attribute, Bytes value) {
        if (attribute == accelerator_target && value[0] == std::byte{1}) is_accelerated = true;
      });
  const std::string architecture = "sm_" + std::to_string((flags >> 8) & 0xffff);
  return architecture + (is_accelerated ? "a" : is_for_family(cubin, architecture) ? "f" : "");
}

namespace {

/// Reads the kernels of a cubin.
class CubinReader {
 public:
  explicit CubinReader(const ElfFile& cubin)
      : cubin_(cubin),
        sections_(cubin.sections()),
        architecture_(architecture_of(cubin)),
        cc_(cc_of(architecture_)),
        has_kernel_(sections_.size()),
        lines_(cubin) {
    check_overlap();
    ptx_requests_ = ptx_requests(cubin);
    read_sections();
  }

  std::vector<CompiledKernel> kernels() {
    std::vector<CompiledKernel> kernels;
    const std::vector<Symbol> symbols = cubin_.symbols();
    for (const Symbol& symbol : symbols)
      if (symbol.type == STT_FUNC && (symbol.other & is_entry) == 0 && symbol.offset > 0) {
        std::uint64_t& begin = functions_begin_.try_emplace(symbol.section, symbol.offset).first->second;
        begin = std::min(begin, symbol.offset);
      }
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const Symbol& symbol = symbols[i];
      if (symbol.type != STT_FUNC || (symbol.other & is_entry) == 0 || symbol.section == 0) continue;
      claim_section(symbol);
      const Section& code = sections_[symbol.section];
      CompiledKernel kernel;
      kernel.use.name = symbol.name;
      kernel.use.cc = cc_;
      kernel.architecture = architecture_;
      kernel.constant_bytes = module_constants_;
      kernel.code_bytes = code.size;
      kernel.is_linked = cubin_.type() != ET_REL;
      read_function_attributes(static_cast<std::uint32_t>(i), code, kernel);
      SpillNotes notes = read_kernel_sections(static_cast<std::uint32_t>(symbol.section), kernel);
      const auto functions = functions_begin_.find(symbol.section);
      const std::uint64_t own_bytes = functions == functions_begin_.end() ? code.size : functions->second;
      std::erase_if(notes.offsets, [&](std::uint32_t at) { return at >= own_bytes; });
      read_code(code, own_bytes, notes, kernel);
      read_lines(static_cast<std::uint32_t>(i), code, notes, kernel);
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

 private:
  [[nodiscard]] bool is_cc_or_later(std::string_view cc) const {
    return cc_.size() > 3 || cc_ >= cc;  // "10.0" and later are longer
  }

  /// Limits overlapping sections, which make a small file a lot of work. Those of sm_100 and later overlap in
  /// part (cuRAND, cuDNN).
  void check_overlap() const {
    constexpr std::uint64_t max_overlap = 4;
    std::uint64_t section_bytes = 0;
    for (const Section& section : sections_) section_bytes += section.bytes.size();
    if (section_bytes > max_overlap * cubin_.size()) throw Damaged("has sections that overlap");
  }

  void read_sections() {
    for (const Section& section : sections_) {
      if (section.name == ".nv.info") attributes_ = read_attributes(whole(section));
      if (const auto bank = constant_bank(section.name, false)) module_constants_[*bank] += section.size;
      if (section.name.starts_with(".nv.")) sections_of_[section.info].push_back(&section);
    }
  }

  /// A section holds the code of one kernel.
  void claim_section(const Symbol& symbol) {
    if (symbol.section >= sections_.size()) throw Damaged("has a kernel in no section");
    if (has_kernel_[symbol.section]) throw Damaged("has two kernels in one section");
    has_kernel_[symbol.section] = true;
    if ((name_bytes_ += symbol.name.size()) > cubin_.size()) throw Damaged("has names that overlap");
  }

  /// Before CUDA 13, and with other assemblers, the code section has registers and barriers instead.
  void read_function_attributes(std::uint32_t symbol, const Section& code, CompiledKernel& kernel) const {
    const auto registers = attributes_.registers.find(symbol);
    const bool has_attribute = registers != attributes_.registers.end();
    kernel.use.registers_per_thread =
        static_cast<int>(has_attribute ? registers->second & 0xffff : code.info >> 24);
    const bool is_old = cubin_.abi_version() < new_abi;
    kernel.use.barriers = is_old || !has_attribute ? static_cast<int>((code.flags >> 20) & 0x7f) : 0;
    constexpr std::uint32_t of_recursion = 0xffffffff;
    const auto stack = attributes_.stack.find(symbol);
    if (stack != attributes_.stack.end() && stack->second != of_recursion)
      kernel.use.stack_bytes = stack->second;
  }

  SpillNotes read_kernel_sections(std::uint32_t code_section, CompiledKernel& kernel) {
    SpillNotes notes;
    for (const Section* section : sections_of_[code_section]) {
      if (section->name.starts_with(".nv.info.")) read_kernel_attributes(whole(*section), kernel, notes);
      if (section->name.starts_with(".nv.shared.")) kernel.use.static_smem_bytes += section->size;
      if (const auto bank = constant_bank(section->name, true)) kernel.constant_bytes[*bank] = section->size;
    }
    // Includes the driver's 1,024 B, which cudaFuncAttributes leaves out.
    constexpr std::size_t reserved = 1024;
    if (is_cc_or_later("9.0") && kernel.use.static_smem_bytes >= reserved)
      kernel.use.static_smem_bytes -= reserved;
    return notes;
  }

  void read_code(const Section& section, std::uint64_t own_bytes, const SpillNotes& notes,
                 CompiledKernel& kernel) const {
    const Bytes code = whole(section);
    const bool has_stack = kernel.use.stack_bytes.value_or(1) > 0, is_long = is_cc_or_later("7.0");
    auto& spill_bytes = kernel.use.spill_bytes;
    if (is_long) {
      const LocalMemory local = read_local_memory(code, own_bytes);
      kernel.barrier_id_at_run_time = local.barrier_id_at_run_time;
      kernel.least_requested_registers = local.least_requested_registers;
      kernel.most_requested_registers = local.most_requested_registers;
      kernel.takes_registers = local.takes_registers;
      kernel.tensor_columns = local.tensor_columns;
      kernel.has_local_array = has_stack && local.has_array;
      spill_bytes = local.spill_bytes;
    }
    if (!has_stack)
      spill_bytes = 0;  // no stack to spill to
    else if (notes.are_complete())
      if (const auto noted = noted_spill_bytes(code, notes.offsets, !is_long)) spill_bytes = noted;
  }

  void read_lines(std::uint32_t symbol, const Section& code, const SpillNotes& notes,
                  CompiledKernel& kernel) const {
    if (const auto found = ptx_requests_.find(kernel.use.name); found != ptx_requests_.end())
      kernel.ptx_requests = found->second;
    kernel.first_line = lines_.line_at(symbol, 0);
    std::map<std::pair<std::string, int>, std::uint64_t> spilled;
    for (const std::uint32_t& offset : notes.offsets)
      if (const auto at = lines_.line_at(symbol, offset))
        spilled[{at->file, at->line}] +=
            noted_spill_bytes(code.bytes, {&offset, 1}, !is_cc_or_later("7.0")).value_or(0);
    if (spilled.empty()) return;
    const auto& [line, bytes] =
        *std::ranges::max_element(spilled, {}, [](const auto& s) { return s.second; });
    kernel.spill_line = SourceLine{line.first, line.second};
  }

  const ElfFile& cubin_;
  const std::vector<Section>& sections_;
  std::string architecture_, cc_;
  FunctionAttributes attributes_;
  std::map<int, std::uint64_t> module_constants_;
  /// Sections about a kernel, by the index of its code section.
  std::unordered_map<std::uint32_t, std::vector<const Section*>> sections_of_;
  std::vector<bool> has_kernel_;
  /// Where called functions begin in a kernel's section: their spills are not the kernel's own.
  std::unordered_map<std::size_t, std::uint64_t> functions_begin_;
  LineTable lines_;
  std::unordered_map<std::string_view, PtxRequests> ptx_requests_;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace

std::vector<CompiledKernel> kernels_of(const ElfFile& cubin) { return CubinReader(cubin).kernels(); }

}  // namespace occbench::binary
