// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/functions.hpp"

#include <string_view>

namespace occbench::attach {

namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of 64 bits
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

void Functions::read(Handle& h, CUfunction named, const Context& context) {
  h.function = named;
  const auto get = [&](CUfunction_attribute attribute, int& value) {
    return driver_.func_get_attribute(&value, attribute, h.function) == CUDA_SUCCESS;
  };
  // The runtime passes a CUkernel as a CUfunction; a CUkernel has no attributes or name itself.
  const char* name = nullptr;
  const bool has_name =
      driver_.func_get_name != nullptr && driver_.func_get_name(&name, named) == CUDA_SUCCESS;
  int registers = 0;
  if (!(has_name || (driver_.func_get_name == nullptr && get(CU_FUNC_ATTRIBUTE_NUM_REGS, registers)))) {
    CUfunction function = nullptr;
    if (driver_.kernel_get_function == nullptr ||
        driver_.kernel_get_function(&function, reinterpret_cast<CUkernel>(named)) != CUDA_SUCCESS)
      return;
    h.function = function;
    if (driver_.func_get_name != nullptr && driver_.func_get_name(&name, function) != CUDA_SUCCESS)
      name = nullptr;
  }
  h.name = name == nullptr ? "(no name)" : name;
  int cluster = 0, must_be_set = 0, binary = 0, local = 0;
  h.is_known = get(CU_FUNC_ATTRIBUTE_NUM_REGS, h.registers) &&
               get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, h.static_smem) &&
               get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, h.largest_block) &&
               get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, h.max_dynamic_smem);
  static_cast<void>(get(CU_FUNC_ATTRIBUTE_BINARY_VERSION, binary));
  static_cast<void>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, local));
  h.is_cluster = (get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, cluster) && cluster > 0) ||
                 (get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, must_be_set) && must_be_set != 0);
  if (driver_.func_get_param_info != nullptr) {
    constexpr std::size_t max_parameters = 4096;
    for (Parameter p;
         h.parameters.size() < max_parameters &&
         driver_.func_get_param_info(h.function, h.parameters.size(), &p.offset, &p.size) == CUDA_SUCCESS;)
      h.parameters.push_back(p);
  }
  number(h, context, local, binary);
}

/// Equal functions in several modules share a number.
void Functions::number(Handle& h, const Context& context, int local_bytes, int binary_version) {
  const std::string content = h.name + '|' + std::to_string(h.registers) + '|' +
                              std::to_string(h.static_smem) + '|' + std::to_string(h.largest_block) + '|' +
                              std::to_string(binary_version) + '|' + std::to_string(context.device);
  h.content = hash_of(content);
  const auto [known, is_first] = numbers_.try_emplace(content, static_cast<int>(numbers_.size()));
  h.number = known->second;
  if (is_first)
    writer_.write(FunctionRecord{.number = h.number,
                                 .device = context.device,
                                 .registers = h.registers,
                                 .static_smem_bytes = h.static_smem,
                                 .local_bytes = local_bytes,
                                 .max_block_size = h.largest_block,
                                 .binary_version = binary_version,
                                 .name = h.name});
}

Handle& Functions::of(CUfunction function, const Context& context) {
  const std::uint64_t key =
      mix(reinterpret_cast<std::uintptr_t>(function), reinterpret_cast<std::uintptr_t>(context.handle));
  if (Handle* const known = by_handle_.find(key)) return *known;
  Handle& handle = handles_.emplace_back();
  by_handle_.add(key, &handle);
  read(handle, function, context);
  return handle;
}

Handle& Functions::of_graph(std::uint64_t kernels, std::uint64_t hash, SkipReason reason,
                            const Context& context) {
  Handle& graph = graphs_[{hash, context.device}];
  if (graph.number < 0) {
    graph.graph_kernels = kernels;
    graph.graph_hash = hash;
    graph.graph_skip_reason = reason;
    graph.name = kernels == 0 ? "(CUDA graph)" : "(CUDA graph of " + std::to_string(kernels) + " kernels)";
    number(graph, context, 0, 0);
    graph.content = mix(graph.content, hash);
  }
  return graph;
}

void Functions::forget() {
  by_handle_.clear();
  handles_.clear();
}

}  // namespace occbench::attach
