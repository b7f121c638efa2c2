// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/contexts.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace occbench::attach {

namespace {

/// 0 if the driver does not answer.
int attribute_of(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  driver.device_get_attribute(&value, attribute, device);
  return value;
}

/// "GPU-" and the bytes in hex, as in nvidia-smi.
std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

}  // namespace

Context& Contexts::of(CUcontext handle) {
  if (last_ != nullptr && last_->handle == handle) return *last_;
  const auto [place, is_new] = by_handle_.try_emplace(handle, nullptr);
  if (!is_new) return *(last_ = place->second);
  Context& c = contexts_.emplace_back();
  last_ = place->second = &c;
  c.handle = handle;
  CUdevice device = 0;
  driver_.ctx_get_device(&device);
  c.device = device;
  const auto get = [&](CUdevice_attribute attribute) { return attribute_of(driver_, device, attribute); };
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
  write_device(device);
  return c;
}

void Contexts::write_device(CUdevice device) {
  const auto get = [&](CUdevice_attribute attribute) { return attribute_of(driver_, device, attribute); };
  const auto bytes = [&](CUdevice_attribute attribute) { return static_cast<unsigned>(get(attribute)); };
  char name[128] = "";
  driver_.device_get_name(name, sizeof name - 1, device);
  CUuuid uuid{};
  if (driver_.device_get_uuid != nullptr) driver_.device_get_uuid(&uuid, device);
  writer_.write(DeviceRecord{
      .number = device,
      .name = name,
      .uuid = uuid_text(uuid),
      .cc_major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
      .cc_minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
      .sm_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
      .warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
      .max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
      .max_threads_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
      .max_blocks_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
      .registers_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
      .registers_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
      .smem_per_block_bytes = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
      .smem_per_block_optin_bytes = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
      .smem_per_sm_bytes = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
      .smem_reserved_per_block_bytes = bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)});
}

int Contexts::sms_of(const Context& context, CUstream stream) {
  CUgreenCtx green = nullptr;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
      driver_.stream_green == nullptr || driver_.green_resource == nullptr ||
      driver_.stream_green(stream, &green) != CUDA_SUCCESS)
    return context.own_sms;
  if (green == nullptr) return context.device_sms;  // whatever context is current
  const auto [place, is_new] = green_sms_.try_emplace(green, context.own_sms);
  CUdevResource part{};
  if (is_new && driver_.green_resource(green, &part, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      part.sm.smCount > 0)
    place->second = static_cast<int>(part.sm.smCount);
  return place->second;
}

void Contexts::forget(Context& context) {
  by_handle_.erase(context.handle);
  last_ = nullptr;
  context.handle = nullptr;
  context.free_events.clear();
}

}  // namespace occbench::attach
