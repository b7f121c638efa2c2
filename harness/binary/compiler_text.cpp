// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/compiler_text.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <map>

namespace occbench::binary {
namespace {

constexpr std::size_t reserved_bytes = 1024;
constexpr RE2::CannedOptions any_bytes = RE2::Latin1;  // names need not be UTF-8

}  // namespace

void PtxasText::read(const std::string& line) {
  static const RE2 entry(R"(Compiling entry function '(.*)' for '(sm_\w+)')", any_bytes);
  static const RE2 cut_entry(R"(Compiling entry function '?([^']*))", any_bytes);
  static const RE2 properties(R"(Function properties for '?(.*?)'?\s*$)", any_bytes);
  static const RE2 spills(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const RE2 used(R"(Used (\d+) registers)");
  static const RE2 barriers(R"(used (\d+) barriers)");
  static const RE2 smem(R"((\d+)(?:\+\d+)? bytes smem)");
  static const RE2 whole_unit(
      R"((registers|barriers|stack size|[gls]mem|cmem\[\d+\]|textures|samplers|surfaces)\s*$)");
  std::string name;
  std::string architecture;
  std::size_t stack = 0;
  std::size_t stores = 0;
  std::size_t loads = 0;
  int count = 0;
  is_unit_cut_ = false;
  if (RE2::PartialMatch(line, entry, &name, &architecture)) {
    kernels_.push_back({.name = name, .cc = cc_of(architecture)});
    are_kernel_properties_ = true;
  } else if (RE2::PartialMatch(line, cut_entry, &name)) {
    kernels_.push_back({.name = name, .cc = ""});
  } else if (kernels_.empty()) {
    return;
  } else if (RE2::PartialMatch(line, properties, &name)) {
    are_kernel_properties_ = name == kernels_.back().name;
  } else if (RE2::PartialMatch(line, spills, &stack, &stores, &loads)) {
    if (!are_kernel_properties_ || kernels_.back().stack_bytes) return;
    kernels_.back().stack_bytes = stack;
    kernels_.back().spill_bytes = stores + loads;
  } else if (RE2::PartialMatch(line, used, &count)) {
    KernelUse& kernel = kernels_.back();
    if (kernel.registers_per_thread) return;
    kernel.registers_per_thread = count;
    is_unit_cut_ = !RE2::PartialMatch(line, whole_unit);
    if (RE2::PartialMatch(line, barriers, &count)) kernel.barriers = count;
    std::size_t bytes = 0;
    if (RE2::PartialMatch(line, smem, &bytes)) kernel.static_smem_bytes = bytes;
  }
}

std::vector<KernelUse> PtxasText::kernels() const {
  std::vector<KernelUse> known = kernels_;
  std::erase_if(known, [](const KernelUse& k) { return !k.registers_per_thread; });
  return known;
}

std::optional<std::string> PtxasText::incomplete_kernel(bool is_terminated) const {
  const auto found =
      std::ranges::find_if(kernels_, [](const KernelUse& k) { return !k.registers_per_thread; });
  if (found != kernels_.end()) return found->name;
  if (is_unit_cut_ && !is_terminated) return kernels_.back().name;
  return std::nullopt;
}

void ResourceUsage::read(const std::string& line) {
  static const RE2 architecture(R"(^arch = (sm_\w+))");
  static const RE2 function(R"(^ ?Function (.+):\s*$)", any_bytes);
  static const RE2 cut_function(R"(^ Function (\S+)$)", any_bytes);
  static const RE2 usage(R"(^\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) )");  // LOCAL follows
  std::string text;
  int registers = 0;
  std::size_t stack = 0;
  std::size_t smem = 0;
  cut_name_.reset();
  if (RE2::PartialMatch(line, architecture, &text)) {
    cc_ = cc_of(text);
  } else if (RE2::PartialMatch(line, function, &text)) {
    if (!name_.empty() && !incomplete_) incomplete_ = name_;
    name_ = text;
  } else if (RE2::PartialMatch(line, cut_function, &text)) {
    cut_name_ = text;
  } else if (RE2::PartialMatch(line, usage, &registers, &stack, &smem) && !name_.empty()) {
    kernels_.push_back({.name = name_,
                        .cc = cc_,
                        .registers_per_thread = registers,
                        .static_smem_bytes = smem,
                        .stack_bytes = stack});
    name_.clear();
  }
}

std::optional<std::string> ResourceUsage::incomplete_kernel(bool is_terminated) const {
  if (incomplete_) return incomplete_;
  if (!name_.empty()) return name_;
  return is_terminated ? std::nullopt : cut_name_;
}

std::vector<KernelUse> ResourceUsage::kernels() const {
  std::map<std::string, std::size_t> smallest;  // by cc
  for (const KernelUse& k : kernels_) {
    const auto [entry, is_new] = smallest.try_emplace(k.cc, k.static_smem_bytes);
    entry->second = std::min(entry->second, k.static_smem_bytes);
  }
  std::vector<KernelUse> own = kernels_;
  for (KernelUse& k : own) {
    const bool reserves = k.cc.size() > 3 || k.cc.starts_with('9');
    if (reserves && smallest[k.cc] >= reserved_bytes) k.static_smem_bytes -= reserved_bytes;
  }
  return own;
}

}  // namespace occbench::binary
