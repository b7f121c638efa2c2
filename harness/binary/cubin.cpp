// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
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
  cta_per_cluster = 0x3d,
  num_barriers = 0x4c,
};
constexpr unsigned char accelerator_target = 0x09;  // EICOMPAT_ATTR_..., in .nv.compat: the "a" of sm_90a

std::uint32_t word(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  if (at + sizeof value > bytes.size()) throw Damaged("has an attribute that is cut off");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Calls visit(attribute, its value) for each: a byte of format, one of attribute, and a value of two bytes,
/// or in the last format of as many as the two say.
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

/// Of a section that is needed.
Bytes whole(const Section& section) {
  if (section.is_cut) throw Damaged("is cut off");
  return section.bytes;
}

/// What .nv.info says of all functions, by symbol.
struct FunctionNotes {
  std::unordered_map<std::uint32_t, std::uint32_t> registers, stack;
};

FunctionNotes notes_of(Bytes info) {
  FunctionNotes notes;
  for_each_attribute(info, [&](unsigned char attribute, Bytes value) {
    if (value.size() < 8) return;
    if (attribute == static_cast<unsigned char>(Attribute::regcount))
      notes.registers[word(value, 0)] = word(value, 4);
    if (attribute == static_cast<unsigned char>(Attribute::min_stack_size))
      notes.stack[word(value, 0)] = word(value, 4);
  });
  return notes;
}

/// The product of three numbers, as blocks and clusters are written; what is out of range is damage.
int volume(Bytes value) {
  std::uint64_t product = 1;
  for (std::size_t at = 0; at < 12 && at + 4 <= value.size(); at += 4) {
    product *= std::max(word(value, at), 1U);
    if (product > std::numeric_limits<int>::max()) throw Damaged("has a block of impossible size");
  }
  return static_cast<int>(product);
}

void read_own_notes(Bytes info, CompiledKernel& kernel) {
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
      default:
        break;
    }
  });
}

/// The number of ".nv.constant3" or ".nv.constant0.kernel"; nullopt of other sections.
std::optional<int> constant_bank(std::string_view name, bool of_kernel) {
  constexpr std::string_view prefix = ".nv.constant";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || digits > 2 || (digits < name.size()) != of_kernel) return std::nullopt;
  return std::stoi(std::string(name.substr(0, digits)));
}

}  // namespace

bool is_cubin(const ElfFile& file) { return file.machine() == cuda_machine; }

std::string architecture_of(const ElfFile& cubin) {
  const std::uint32_t flags = cubin.flags();
  if (cubin.abi_version() < new_abi) {
    constexpr std::uint32_t accelerated = 0x800;
    return "sm_" + std::to_string(flags & 0xff) + ((flags & accelerated) != 0 ? "a" : "");
  }
  bool is_accelerated = false;
  for (const Section& section : cubin.sections())
    if (section.name == ".nv.compat")
      for_each_attribute(whole(section), [&](unsigned char attribute, Bytes value) {
        if (attribute == accelerator_target && value[0] == std::byte{1}) is_accelerated = true;
      });
  return "sm_" + std::to_string((flags >> 8) & 0xffff) + (is_accelerated ? "a" : "");
}

std::vector<CompiledKernel> kernels_of(const ElfFile& cubin) {
  const std::vector<Section>& sections = cubin.sections();
  const std::string architecture = architecture_of(cubin);
  const std::string cc = cc_of(architecture);
  const bool has_wide_instructions = cc.size() > 3 || cc >= "7.0";  // of 16 bytes; "10.0" is longer
  const bool reserves_shared = cc.size() > 3 || cc >= "9.0";

  // Where many sections are the same bytes, and many names, a small file is much work. Those of sm_100 and
  // later share some (cuRAND's, cuDNN's).
  constexpr std::uint64_t most_shared = 4;
  std::uint64_t section_bytes = 0, name_bytes = 0;
  for (const Section& section : sections) section_bytes += section.bytes.size();
  if (section_bytes > most_shared * cubin.size()) throw Damaged("has sections that overlap");
  FunctionNotes notes;
  std::map<int, std::uint64_t> module_constants;
  // A section about a function names the function's own section; those of each, by that.
  std::unordered_map<std::uint32_t, std::vector<const Section*>> about;
  for (const Section& section : sections) {
    if (section.name == ".nv.info") notes = notes_of(whole(section));
    if (const auto bank = constant_bank(section.name, false)) module_constants[*bank] += section.size;
    if (section.name.starts_with(".nv.")) about[section.info].push_back(&section);
  }

  std::vector<CompiledKernel> kernels;
  std::vector<bool> is_taken(sections.size());
  const std::vector<Symbol> symbols = cubin.symbols();
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (symbol.type != STT_FUNC || (symbol.other & is_entry) == 0 || symbol.section == 0) continue;
    if (symbol.section >= sections.size()) throw Damaged("has a kernel in no section");
    if (is_taken[symbol.section]) throw Damaged("has two kernels in one section");
    is_taken[symbol.section] = true;
    if ((name_bytes += symbol.name.size()) > cubin.size()) throw Damaged("has names that overlap");
    const Section& code = sections[symbol.section];
    const auto index = static_cast<std::uint32_t>(i);

    CompiledKernel kernel;
    kernel.architecture = architecture;
    kernel.use.name = symbol.name;
    kernel.use.cc = cc;
    kernel.is_linked = cubin.type() != ET_REL;
    kernel.code_bytes = code.size;
    kernel.constant_bytes = module_constants;
    // Before CUDA 13, and in code that was assembled by hand since, the section of the code has them instead.
    const auto registers = notes.registers.find(index);
    const bool has_note = registers != notes.registers.end();
    kernel.use.registers_per_thread =
        static_cast<int>(has_note ? registers->second & 0xffff : code.info >> 24);
    const bool is_old = cubin.abi_version() < new_abi;
    kernel.use.barriers = is_old || !has_note ? static_cast<int>((code.flags >> 20) & 0x7f) : 0;
    if (const auto stack = notes.stack.find(index); stack != notes.stack.end())
      kernel.use.stack_bytes = stack->second;

    for (const Section* section : about[static_cast<std::uint32_t>(symbol.section)]) {
      if (section->name.starts_with(".nv.info.")) read_own_notes(whole(*section), kernel);
      if (section->name.starts_with(".nv.shared.")) kernel.use.static_smem_bytes += section->size;
      if (const auto bank = constant_bank(section->name, true)) kernel.constant_bytes[*bank] = section->size;
    }
    // The driver's own 1,024 B come first there; cudaFuncAttributes leaves them out.
    constexpr std::size_t reserved = 1024;
    if (reserves_shared && kernel.use.static_smem_bytes >= reserved) kernel.use.static_smem_bytes -= reserved;

    if (has_wide_instructions) {
      const LocalMemory local = read_local_memory(whole(code));
      kernel.barrier_id_at_run_time = local.barrier_id_at_run_time;
      const bool has_stack = kernel.use.stack_bytes.value_or(1) > 0;
      if (!has_stack || local.spill_bytes) kernel.use.spill_bytes = has_stack ? *local.spill_bytes : 0;
      kernel.has_local_array = has_stack && !local.spill_bytes;
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace occbench::binary
