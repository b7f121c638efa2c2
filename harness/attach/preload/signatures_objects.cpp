// SPDX-License-Identifier: Apache-2.0
// What the driver says of the contexts and functions that launches name.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "harness/attach/preload/signatures.hpp"

namespace occbench::attach {

namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of 64 bits
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Context& Signatures::context_of(CUcontext handle) {
  if (last_context_ != nullptr && last_context_->handle == handle) return *last_context_;
  const auto [place, is_new] = by_context_.try_emplace(handle, nullptr);
  if (!is_new) return *(last_context_ = place->second);
  Context& c = contexts_.emplace_back();
  last_context_ = place->second = &c;
  c.handle = handle;
  CUdevice device = 0;
  driver_.ctx_get_device(&device);
  c.device = device;
  const auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    driver_.device_get_attribute(&value, attribute, device);
    return value;
  };
  c.compute_capability = 10 * get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                         get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  c.own_sms = c.device_sms = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  CUdevResource part{};
  if (driver_.ctx_resource != nullptr &&
      driver_.ctx_resource(handle, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS && part.sm.smCount > 0)
    c.own_sms = std::min(c.own_sms, static_cast<int>(part.sm.smCount));
  c.smem_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  c.smem_reserved = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  c.smem_optin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  char name[128] = "";
  driver_.device_get_name(name, sizeof name - 1, device);
  CUuuid uuid{};
  if (driver_.device_get_uuid != nullptr) driver_.device_get_uuid(&uuid, device);
  std::string id = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += digits;
  }
  std::vector<std::string> fields = {"device", std::to_string(device), name, id};
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK})
    fields.push_back(std::to_string(get(attribute)));
  journal_.line(fields);
  return c;
}

int Signatures::sms_of(const Context& context, CUstream stream) {
  CUgreenCtx green = nullptr;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
      driver_.stream_green == nullptr || driver_.green_resource == nullptr ||
      driver_.stream_green(stream, &green) != CUDA_SUCCESS)
    return context.own_sms;
  if (green == nullptr) return context.device_sms;  // whichever context is current
  const auto [place, is_new] = green_sms_.try_emplace(green, context.own_sms);
  CUdevResource part{};
  if (is_new && driver_.green_resource(green, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      part.sm.smCount > 0)
    place->second = static_cast<int>(part.sm.smCount);
  return place->second;
}

void Signatures::look_at(Handle& h, CUfunction named, const Context& context) {
  h.function = named;
  const auto get = [&](CUfunction_attribute attribute, int& value) {
    return driver_.func_get_attribute(&value, attribute, h.function) == CUDA_SUCCESS;
  };
  // The runtime says CUkernel where a CUfunction is said, and those have no attributes or names as such.
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
    constexpr std::size_t most_parameters = 4096;
    for (Parameter p;
         h.parameters.size() < most_parameters &&
         driver_.func_get_param_info(h.function, h.parameters.size(), &p.offset, &p.size) == CUDA_SUCCESS;)
      h.parameters.push_back(p);
  }
  number(h, context, local, binary);
}

/// Equal functions of several modules have one number.
void Signatures::number(Handle& h, const Context& context, int local, int binary) {
  const std::string content = h.name + '|' + std::to_string(h.registers) + '|' +
                              std::to_string(h.static_smem) + '|' + std::to_string(h.largest_block) + '|' +
                              std::to_string(binary) + '|' + std::to_string(context.device);
  h.content = hash_of(content);
  const auto [known, is_first] =
      function_numbers_.try_emplace(content, static_cast<int>(function_numbers_.size()));
  h.number = known->second;
  if (is_first)
    journal_.line({"function", std::to_string(h.number), std::to_string(context.device),
                   std::to_string(h.registers), std::to_string(h.static_smem), std::to_string(local),
                   std::to_string(h.largest_block), std::to_string(binary), h.name});
}

Handle& Signatures::handle_of(const Request& request, Context& context) {
  const std::uint64_t key = mix(reinterpret_cast<std::uintptr_t>(request.function),
                                reinterpret_cast<std::uintptr_t>(context.handle));
  if (Handle* const known = by_handle_.find(key)) return *known;
  Handle& handle = handles_.emplace_back();
  by_handle_.add(key, &handle);
  look_at(handle, request.function, context);
  return handle;
}

Handle& Signatures::graph_handle(std::uint64_t kernels, std::uint64_t hash, SkipReason reason,
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

void Signatures::forget_handles() {
  by_handle_.clear();
  handles_.clear();
}

void Signatures::forget_context(Context& context) {
  by_context_.erase(context.handle);
  last_context_ = nullptr;
  versions_.forget_context(context.handle);
  context.handle = nullptr;
  context.free_events.clear();  // they end with it
  forget_handles();
}

}  // namespace occbench::attach
