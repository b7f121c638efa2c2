// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/versions.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/ptx.hpp"
#include "harness/attach/preload/signature.hpp"
#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

Versions::Versions(const Options& options, const Driver& driver) : driver_(driver), caps_(options.registers) {
  for (int n = 0; !caps_.empty(); ++n) {
    std::ifstream file(options.folder + '/' + std::to_string(n) + ptx_ending, std::ios::binary);
    if (!file) return;
    add(std::string(std::istreambuf_iterator<char>(file), {}));
  }
}

void Versions::add(std::string ptx) {
  constexpr std::size_t most_texts = 4096;
  if (texts_.size() == most_texts || std::ranges::any_of(texts_, [&](const Text& t) { return t.ptx == ptx; }))
    return;
  const std::vector<std::string> kernels = kernels_without_variables(ptx);
  if (kernels.empty()) return;
  const int target = target_of(ptx);
  const Text& text = texts_.emplace_back(Text{.ptx = std::move(ptx), .target = target});
  for (const std::string& kernel : kernels) by_kernel_[kernel].push_back(&text);
}

const Versions::Text* Versions::text_of(const std::string& kernel, int compute_capability) const {
  const auto found = by_kernel_.find(kernel);
  if (found == by_kernel_.end()) return nullptr;
  const Text* best = nullptr;
  bool is_alone = true;
  for (const Text* text : found->second) {
    if (text->target > compute_capability || (best != nullptr && text->target < best->target)) continue;
    is_alone = best == nullptr || text->target > best->target;
    best = text;
  }
  return is_alone ? best : nullptr;
}

std::vector<Version> Versions::of(const Signature& s, const Handle& h, const Context& context) {
  std::vector<Version> all;
  const Text* const text = text_of(h.name, context.compute_capability);
  if (text == nullptr || driver_.module_load_data == nullptr || driver_.module_get_function == nullptr)
    return all;
  const auto get = [&](CUfunction f, CUfunction_attribute attribute) {
    int value = -1;
    return driver_.func_get_attribute(&value, attribute, f) == CUDA_SUCCESS ? value : -1;
  };
  for (const int cap : caps_) {
    const auto [place, is_new] = modules_.try_emplace({context.handle, text, cap}, nullptr);
    CUmodule& module = place->second;
    if (is_new &&
        driver_.module_load_data(&module, with_register_cap(text->ptx, cap).c_str()) != CUDA_SUCCESS)
      module = nullptr;
    Version v{.cap = cap};
    if (module == nullptr || driver_.module_get_function(&v.function, module, h.name.c_str()) != CUDA_SUCCESS)
      continue;
    for (const CUfunction_attribute same : {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT})
      if (const int value = get(h.function, same); value >= 0)
        driver_.func_set_attribute(v.function, same, value);
    v.registers = get(v.function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    v.local_bytes = std::max(0, get(v.function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    const bool is_known =
        std::ranges::any_of(all, [&](const Version& o) { return o.registers == v.registers; });
    if (is_known || v.registers < 1 || v.registers == h.registers ||
        get(v.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) < s.block_size ||
        driver_.occupancy(&v.blocks_per_sm, v.function, s.block_size, s.dynamic_smem) != CUDA_SUCCESS ||
        v.blocks_per_sm < s.blocks_per_sm)
      continue;
    all.push_back(v);
  }
  return all;
}

CUfunction Versions::function_of(const Signature& s, Handle& h, const Context& context, std::size_t number) {
  const auto [place, is_new] = h.versions.try_emplace(s.hash);
  if (is_new) place->second = of(s, h, context);
  if (number >= place->second.size() || place->second.size() != s.versions.size()) return nullptr;
  const Version& v = place->second[number];
  return v.registers == s.versions[number].registers ? v.function : nullptr;
}

void Versions::forget_context(CUcontext context) {
  std::erase_if(modules_, [&](const auto& one) { return std::get<0>(one.first) == context; });
}

}  // namespace occbench::attach
