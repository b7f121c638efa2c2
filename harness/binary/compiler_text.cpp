// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/compiler_text.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

namespace occbench::binary {
namespace {

constexpr RE2::CannedOptions any_bytes = RE2::Latin1;  // names need not be UTF-8

/// Whether a tool that counts the driver's shared memory did so. Without an architecture, the parameter bank
/// tells: parameters begin at byte 528 or later since cc 9.0, and at 352 or earlier before.
bool may_count_reserved(const KernelUse& kernel, std::size_t parameter_bank_bytes) {
  constexpr std::size_t first_parameter = 528;
  return kernel.cc.empty() ? parameter_bank_bytes >= first_parameter : has_reserved_smem(kernel.cc);
}

/// From `SHARED` and `bytes smem`.
void set_smem(KernelUse& kernel, std::size_t bytes, std::size_t parameter_bank_bytes) {
  kernel.static_smem_bytes = bytes;
  kernel.may_hold_reserved_smem =
      bytes >= reserved_smem_bytes && may_count_reserved(kernel, parameter_bank_bytes);
}

/// For a linked kernel of known architecture: subtracts the reserved bytes.
void subtract_reserved(KernelUse& kernel) {
  if (!kernel.may_hold_reserved_smem || kernel.cc.empty()) return;
  kernel.static_smem_bytes -= reserved_smem_bytes;
  kernel.may_hold_reserved_smem = false;
}

/// Whether a register line ends inside "27648 bytes smem", as when a terminal wraps it.
bool is_unit_cut(const std::string& line) {
  const std::string_view last = std::string_view(line).substr(line.find_last_of(' ') + 1);
  if (last.ends_with(',') || last.find_first_not_of("0123456789") == last.npos) return true;
  static const RE2 other_text(R"(, \d+[^\d +][^,]*$)");  // another tool's line after a number
  if (RE2::PartialMatch(line, other_text)) return true;
  constexpr std::string_view words[] = {"used",     "registers", "barriers", "bytes",   "cumulative",
                                        "stack",    "size",      "smem",     "gmem",    "lmem",
                                        "cmem[00]", "textures",  "samplers", "surfaces"};
  constexpr std::string_view ends[] = {"registers", "barriers", "size",     "smem",    "gmem",
                                       "lmem",      "textures", "samplers", "surfaces"};
  return std::ranges::find(ends, last) == std::end(ends) &&
         std::ranges::any_of(words, [&](std::string_view word) { return word.starts_with(last); });
}

/// "0x16000" or "90112"; 0 if it is too large.
std::size_t number_of(const std::string& text) {
  const bool is_hex = text.starts_with("0x");
  std::size_t number = 0;
  std::from_chars(text.data() + (is_hex ? 2 : 0), text.data() + text.size(), number, is_hex ? 16 : 10);
  return number;
}

}  // namespace

std::optional<KernelUse> OpenReports::end() {
  if (open_.empty()) {
    ++lines_of_no_kernel_;
    return std::nullopt;
  }
  if (open_.size() == 1) {
    KernelUse kernel = std::move(open_.front());
    drop();
    return kernel;
  }
  if (++ended_ < open_.size()) return std::nullopt;
  for (const KernelUse& kernel : open_) interleaved_kernels_.push_back(kernel.name);
  drop();
  return std::nullopt;
}

std::optional<std::string> OpenReports::first() const {
  return open_.empty() ? std::nullopt : std::optional(open_.front().name);
}

void PtxasText::read_unit(const std::string& line) {
  static const RE2 relocatable(
      R"(\b(?:nvcc|ptxas|cicc)\b.* (?:-rdc[= ]true|--relocatable-device-code[= ]true|-dc|--device-c|)"
      R"(--compile-only)\b)",
      any_bytes);
  // ptxas ends each kernel with this line, and with -rdc=true each function too.
  static const RE2 compile_time(R"(ptxas info\s*: Compile time = )");
  if (RE2::PartialMatch(line, compile_time)) {
    is_relocatable_ = is_relocatable_ || (has_function_ && !has_entry_);
    has_entry_ = has_function_ = false;
  } else if (RE2::PartialMatch(line, relocatable)) {
    is_relocatable_ = true;
  }
}

void PtxasText::read(const std::string& line) {
  static const RE2 entry(R"(Compiling entry function '(.*)' for '(sm_\w+)')", any_bytes);
  static const RE2 cut_entry(R"(Compiling entry function '?([^']*))", any_bytes);
  static const RE2 properties(R"(Function properties for '?(.*?)'?\s*$)", any_bytes);
  static const RE2 spills(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const RE2 used(R"(Used (\d+) registers)");
  static const RE2 barriers(R"(used (\d+) barriers)");
  static const RE2 smem(R"((\d+)(?:\+\d+)? bytes smem)");
  static const RE2 remark(R"(ptxas \w+\s*: (.*setmaxnreg.*))", any_bytes);
  std::string name;
  std::string architecture;
  std::size_t stack = 0;
  std::size_t stores = 0;
  std::size_t loads = 0;
  int count = 0;
  if (line.find("nvlink info") != std::string::npos) return;
  read_unit(line);
  if (RE2::PartialMatch(line, entry, &name, &architecture) || RE2::PartialMatch(line, cut_entry, &name)) {
    reports_.begin({.name = name, .cc = architecture.empty() ? "" : cc_of(architecture)});
    are_kernel_properties_ = has_entry_ = true;
  } else if (RE2::PartialMatch(line, properties, &name)) {
    const KernelUse* const open = reports_.only();
    are_kernel_properties_ = open != nullptr && name == open->name;
    has_function_ = true;
  } else if (RE2::PartialMatch(line, spills, &stack, &stores, &loads)) {
    KernelUse* const open = reports_.only();
    if (open == nullptr || !are_kernel_properties_ || open->stack_bytes) return;
    open->stack_bytes = stack;
    open->spill_bytes = stores + loads;
  } else if (RE2::PartialMatch(line, used, &count)) {
    std::optional<KernelUse> kernel = reports_.end();
    const bool is_unnamed = !reports_.has_begun();
    if (is_unnamed) kernel = KernelUse{.name = "unnamed kernel"};
    if (!kernel) return;
    kernel->registers_per_thread = count;
    if (is_unit_cut(line) && !cut_name_) cut_name_ = kernel->name;
    if (RE2::PartialMatch(line, barriers, &count)) kernel->barriers = count;
    std::size_t bytes = 0;
    if (RE2::PartialMatch(line, smem, &bytes)) kernel->static_smem_bytes = bytes;
    (is_unnamed ? unnamed_ : kernels_).push_back(*std::move(kernel));
  } else if (RE2::PartialMatch(line, remark, &name)) {
    remarks_.push_back(name);
  }
}

std::int64_t PtxasText::lines_of_no_kernel() const {
  return reports_.has_begun() ? reports_.lines_of_no_kernel() : 0;
}

std::vector<KernelUse> PtxasText::kernels() const {
  std::vector<KernelUse> known = reports_.has_begun() ? kernels_ : unnamed_;
  if (is_relocatable_)
    for (KernelUse& kernel : known) kernel.is_linked = false;
  return known;
}

std::optional<std::string> PtxasText::incomplete_kernel() const {
  const auto open = reports_.first();
  return open ? open : cut_name_;
}

void NvlinkText::read(const std::string& line) {
  static const RE2 properties(
      R"(nvlink info\s*: Function properties for '?(.*?)'?:?(?: \(target: (sm_\w+)\))?\s*$)", any_bytes);
  static const RE2 used(R"(nvlink info\s*: used (\d+) registers, .*?(\d+) stack, (\d+) bytes smem(.*))");
  static const RE2 barriers(R"(used (\d+) barriers)");
  static const RE2 bank(R"((\d+) bytes cmem\[0\])");
  std::string name;
  std::string architecture;
  int count = 0;
  std::size_t stack = 0;
  std::size_t smem = 0;
  std::size_t bank_bytes = 0;
  if (RE2::PartialMatch(line, properties, &name, &architecture)) {
    reports_.begin({.name = name, .cc = architecture.empty() ? "" : cc_of(architecture)});
  } else if (RE2::PartialMatch(line, used, &count, &stack, &smem, &name)) {
    std::optional<KernelUse> kernel = reports_.end();
    if (!kernel) return;
    kernel->is_linked = true;
    kernel->registers_per_thread = count;
    kernel->stack_bytes = stack;
    if (RE2::PartialMatch(line, barriers, &count)) kernel->barriers = count;
    RE2::PartialMatch(line, bank, &bank_bytes);
    set_smem(*kernel, smem, bank_bytes);
    subtract_reserved(*kernel);
    kernels_.push_back(*std::move(kernel));
  }
}

/// A second code of the same kind and architecture belongs to another fatbin of an archive or program.
void ResourceUsage::begin_code(const std::string& architecture) {
  cc_ = cc_of(architecture);
  has_function_registers_ = false;
  if (code_kind_.empty() || codes_.insert(code_kind_ + ' ' + architecture).second) return;
  codes_ = {code_kind_ + ' ' + architecture};
  first_ = kernels_.size();
  is_relocatable_ = false;
}

/// nvlink adds the reserved bytes; these kernels do not include them.
void ResourceUsage::set_relocatable() {
  is_relocatable_ = true;
  for (std::size_t i = first_; i < kernels_.size(); ++i) {
    kernels_[i].is_linked = false;
    kernels_[i].may_hold_reserved_smem = false;
  }
}

void ResourceUsage::read_usage(const std::string& line) {
  static const RE2 usage(R"(^\s*REG:(\d+) STACK:(\w+) SHARED:(\d+) )");  // LOCAL follows
  static const RE2 whole_usage(R"( SAMPLER:\d+\s*$)");
  static const RE2 bank(R"( CONSTANT\[0\]:(\d+))");
  std::string stack;  // "UNKNOWN" for a recursion
  int registers = 0;
  std::size_t smem = 0;
  std::size_t bank_bytes = 0;
  if (name_.empty() || !RE2::PartialMatch(line, usage, &registers, &stack, &smem)) return;
  KernelUse kernel{.name = name_, .cc = cc_, .registers_per_thread = registers};
  if (stack.find_first_not_of("0123456789") == std::string::npos) kernel.stack_bytes = number_of(stack);
  if (RE2::PartialMatch(line, bank, &bank_bytes) || line.find(" TEXTURE:") == std::string::npos) {
    set_smem(kernel, smem, bank_bytes);
    parameter_bank_bytes_ = bank_bytes;
    kernels_.push_back(kernel);
  } else {
    has_function_registers_ = has_function_registers_ || registers > 0;
  }
  // Before cc 9.0 a function's registers are listed next to its linked kernels', later not at all.
  if (is_relocatable_ || (has_function_registers_ && may_count_reserved(kernel, parameter_bank_bytes_)))
    set_relocatable();
  if (!RE2::PartialMatch(line, whole_usage)) cut_name_ = name_;
  name_.clear();
}

void ResourceUsage::read(const std::string& line) {
  static const RE2 code(R"(^\s*Fatbin (\w+) code:)");
  static const RE2 architecture(R"(^\s*arch = (sm_\w+))");
  static const RE2 options(R"(^\s*ptxasOptions = .*--compile-only)");
  static const RE2 function(R"(^\s*Function (.+):\s*$)", any_bytes);
  static const RE2 cut_function(R"(^\s*Function (\S+)$)", any_bytes);
  std::string text;
  cut_name_.reset();
  if (RE2::PartialMatch(line, code, &text)) {
    code_kind_ = text;
  } else if (RE2::PartialMatch(line, architecture, &text)) {
    begin_code(text);
  } else if (RE2::PartialMatch(line, options)) {
    set_relocatable();
  } else if (RE2::PartialMatch(line, function, &text)) {
    if (!name_.empty() && !incomplete_) incomplete_ = name_;
    name_ = text;
  } else if (RE2::PartialMatch(line, cut_function, &text)) {
    cut_name_ = text;
  } else {
    read_usage(line);
  }
}

std::optional<std::string> ResourceUsage::incomplete_kernel(bool is_terminated) const {
  if (incomplete_) return incomplete_;
  if (!name_.empty()) return name_;
  return is_terminated ? std::nullopt : cut_name_;
}

std::vector<KernelUse> ResourceUsage::kernels() const {
  std::vector<KernelUse> known = kernels_;
  std::ranges::for_each(known, subtract_reserved);
  return known;
}

void RefusalText::read(const std::string& line) {
  static const RE2 too_much(R"((?:ptxas|nvlink)(?: .*[;:])? error\s*: (?:Entry function '(.*)'|File) uses )"
                            R"(too much ([a-z ]+) \((0x[0-9a-f]+|\d+) bytes.*?, (0x[0-9a-f]+|\d+) max\))",
                            any_bytes);
  static const RE2 parameters(
      R"(Formal parameter space overflowed \((\d+) bytes required, max (\d+) bytes allowed\) )"
      R"(in function (\S+))",
      any_bytes);
  static const RE2 cap(
      R"(entry function '(.*)' with max regcount of (\d+) calls function '(.*)' with regcount of (\d+))",
      any_bytes);
  static const RE2 undefined(R"(nvlink error\s*: Undefined reference to '(.*)' in)", any_bytes);
  static const RE2 unresolved(R"(ptxas fatal\s*: Unresolved extern function '(.*)')", any_bytes);
  static const RE2 launch(
      "too many resources requested for launch|LAUNCH_OUT_OF_RESOURCES|cudaErrorLaunchOutOfResources");
  static const RE2 triton(R"(out of resource: ([a-z ]+), Required: (\d+), Hardware limit: (\d+))");
  static const RE2 xla(R"(Shared memory size limit exceeded: requested (\d+), available:? (\d+))");
  static const RE2 other(R"(((?:ptxas|nvlink)[^:;]*[:;]? ?\b(?:error|fatal)\s*: .*))", any_bytes);
  std::string name, callee, text, bytes, most;
  if (RE2::PartialMatch(line, too_much, &name, &text, &bytes, &most)) {
    all_.push_back({.kernel = name, .resource = text, .needed = number_of(bytes), .most = number_of(most)});
  } else if (RE2::PartialMatch(line, parameters, &bytes, &most, &name)) {
    all_.push_back(
        {.kernel = name, .resource = "parameters", .needed = number_of(bytes), .most = number_of(most)});
  } else if (RE2::PartialMatch(line, cap, &name, &most, &callee, &bytes)) {
    all_.push_back({.kernel = name,
                    .resource = "registers",
                    .needed = number_of(bytes),
                    .most = number_of(most),
                    .callee = callee});
  } else if (RE2::PartialMatch(line, undefined, &callee)) {
    all_.push_back({.resource = "definition", .callee = callee});
  } else if (RE2::PartialMatch(line, unresolved, &callee)) {
    all_.push_back({.resource = "separable compilation", .callee = callee});
  } else if (RE2::PartialMatch(line, triton, &text, &bytes, &most)) {
    all_.push_back({.resource = text, .needed = number_of(bytes), .most = number_of(most)});
  } else if (RE2::PartialMatch(line, xla, &bytes, &most)) {
    all_.push_back({.resource = "shared memory", .needed = number_of(bytes), .most = number_of(most)});
  } else if (RE2::PartialMatch(line, launch)) {
    all_.push_back({.resource = "launch"});
  } else if (RE2::PartialMatch(line, other, &text)) {
    all_.push_back({.text = text});
  }
}

}  // namespace occbench::binary
