// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/sm_shares.hpp"

#include <algorithm>

namespace occbench::attach {

namespace {

constexpr std::size_t max_streams = 64;  // streams of the program, per share
constexpr int max_remade = 4;            // limits the cost for programs that reset their device often

/// The granularity at which the driver splits SMs (cuDevSmResourceSplitByCount).
struct Granularity {
  int least, step;
};
Granularity granularity_of(int compute_capability) {
  if (compute_capability >= 90) return {8, 8};
  return compute_capability >= 80 ? Granularity{4, 2} : Granularity{2, 2};
}

std::uint64_t blocks_of(const CUlaunchConfig& c) {
  return std::uint64_t{c.gridDimX} * c.gridDimY * c.gridDimZ;
}

}  // namespace

/// A CUfunction of the primary context can be launched only into that context's green contexts.
bool SmShares::is_primary(const Context& context) const {
  unsigned flags = 0;
  int is_active = 0;
  CUcontext primary = nullptr;
  if (driver_.primary_state(context.device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0 ||
      driver_.primary_retain(&primary, context.device) != CUDA_SUCCESS)
    return false;
  driver_.primary_release(context.device);
  return primary == context.handle;
}

void SmShares::refuse(const std::string& why) {
  why_not_ = why;
  writer_.note("no launch was confined to fewer SMs: " + why);
}

CUresult SmShares::make_share(Device& made, const Context& context, int sms) {
  CUdevResource all{}, part{}, rest{};
  unsigned groups = 1;
  CUdevResourceDesc description = nullptr;
  Share share;
  CUresult result = driver_.device_resource(context.device, &all, CU_DEV_RESOURCE_TYPE_SM);
  if (result == CUDA_SUCCESS)
    result = driver_.split_sms(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms));
  if (result == CUDA_SUCCESS && groups == 0) result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  if (result == CUDA_SUCCESS) result = driver_.describe_resource(&description, &part, 1);
  if (result == CUDA_SUCCESS)
    result = driver_.green_create(&share.green, description, context.device, CU_GREEN_CTX_DEFAULT_STREAM);
  if (result != CUDA_SUCCESS) return result;
  share.sms = static_cast<int>(part.sm.smCount);
  made.shares.push_back(share);
  return result;
}

void SmShares::make(Device& made, const Context& context) {
  const auto [least, step] = granularity_of(context.compute_capability);
  int before = context.device_sms;
  for (const double share : options_.sms) {
    const int asked =
        std::max(least, static_cast<int>(share * context.device_sms + 1e-9) / step * step);  // rounded down
    if (asked >= before) continue;
    before = asked;
    if (const CUresult result = make_share(made, context, asked); result != CUDA_SUCCESS)
      return refuse("the driver refused a green context (error " + std::to_string(result) + ")");
  }
  if (made.shares.empty()) refuse("the device has too few SMs");
}

SmShares::Device* SmShares::device_of(const Context& context) {
  const auto found = devices_.find(context.device);
  if (found != devices_.end()) return found->second.primary == context.handle ? &found->second : nullptr;
  if (!why_not_.empty()) return nullptr;
  if (!driver_.has_green_contexts()) {
    refuse("green contexts need a driver of CUDA 12.4 or later");
    return nullptr;
  }
  if (!is_primary(context)) return nullptr;
  if (remade_++ >= max_remade) {
    refuse("the program resets or releases its device repeatedly");
    return nullptr;
  }
  Device& made = devices_[context.device];
  made.primary = context.handle;
  make(made, context);
  return &made;
}

int SmShares::clusters_of(const Request& request, const Handle& handle, CUstream stream) const {
  int clusters = 0;
  CUlaunchConfig config = request.config;
  config.hStream = stream;
  const bool is_known = driver_.max_clusters != nullptr &&
                        driver_.max_clusters(&clusters, handle.function, &config) == CUDA_SUCCESS;
  return is_known ? clusters : 0;
}

/// Blocks of a fully resident grid may wait for each other: all must be resident on the share too. A grid
/// larger than the device has no such blocks. A grid in between would only show its waves.
bool SmShares::has_room(const Request& request, const Signature& s, const Handle& handle,
                        const Context& context, Share& share) {
  const std::uint64_t blocks = blocks_of(request.config);
  std::uint64_t share_capacity =
      static_cast<std::uint64_t>(s.blocks_per_sm) * static_cast<unsigned>(share.sms);
  std::uint64_t full_capacity =
      static_cast<std::uint64_t>(s.blocks_per_sm) * static_cast<unsigned>(context.sms);
  if (const unsigned size = cluster_size(request.config); size > 1 || handle.is_cluster) {
    if (size < 2) return false;                            // compile-time cluster size: unknown
    const CUstream stream = stream_of(share, nullptr, 0);  // for the query
    const int all = clusters_of(request, handle, request.config.hStream);
    const int fewer = stream == nullptr ? 0 : clusters_of(request, handle, stream);
    if (fewer < 1) return false;
    share_capacity = std::uint64_t{size} * static_cast<unsigned>(fewer);
    full_capacity = std::uint64_t{size} * static_cast<unsigned>(all);
  }
  return blocks <= share_capacity || blocks > full_capacity || options_.all;
}

std::vector<int> SmShares::plan(const Request& request, Signature& s, const Handle& handle,
                                Context& context) {
  std::vector<int> counts;
  if (context.sms < context.device_sms) return counts;  // already in a green context
  Device* const device = device_of(context);
  if (device == nullptr) return counts;
  for (Share& share : device->shares)
    if (has_room(request, s, handle, context, share)) counts.push_back(share.sms);
  return counts;
}

SmShares::Share* SmShares::share_of(const Context& context, int sms) {
  Device* const device = device_of(context);
  if (device == nullptr) return nullptr;
  const auto found = std::ranges::find(device->shares, sms, &Share::sms);
  return found == device->shares.end() ? nullptr : &*found;
}

CUstream SmShares::stream_of(Share& share, CUstream program_stream, unsigned thread) {
  const std::pair key(program_stream, program_stream == CU_STREAM_PER_THREAD ? 1 + thread : 0);
  if (const auto known = share.streams.find(key); known != share.streams.end()) return known->second;
  CUstream made = nullptr;
  if (share.streams.size() >= max_streams ||
      driver_.green_stream(&made, share.green, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS)
    return nullptr;
  return share.streams[key] = made;
}

CUevent SmShares::event_of(Device& device) const {
  CUevent event = nullptr;
  if (!device.free_events.empty()) {
    event = device.free_events.back();
    device.free_events.pop_back();
  } else if (driver_.event_create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

std::optional<ShareStream> SmShares::enter(const Context& context, int sms, CUstream program_stream,
                                           unsigned thread) {
  Share* const share = share_of(context, sms);
  if (share == nullptr) return std::nullopt;
  Device& device = devices_.at(context.device);
  ShareStream to{.stream = stream_of(*share, program_stream, thread),
                 .entry = event_of(device),
                 .exit = event_of(device)};
  if (to.stream != nullptr && to.entry != nullptr && to.exit != nullptr &&
      driver_.event_record(to.entry, program_stream) == CUDA_SUCCESS &&
      driver_.stream_wait(to.stream, to.entry, 0) == CUDA_SUCCESS)
    return to;
  release(context, to);
  return std::nullopt;
}

void SmShares::leave(const ShareStream& share, CUstream program_stream) const {
  if (driver_.event_record(share.exit, share.stream) == CUDA_SUCCESS &&
      driver_.stream_wait(program_stream, share.exit, 0) == CUDA_SUCCESS)
    return;
  driver_.stream_synchronize(share.stream);  // keeps the order without events
}

void SmShares::release(const Context& context, const ShareStream& share) {
  const auto found = devices_.find(context.device);
  if (found == devices_.end()) return;
  for (CUevent event : {share.entry, share.exit})
    if (event != nullptr) found->second.free_events.push_back(event);
}

void SmShares::forget_context(CUcontext primary) {
  for (const auto& [device, made] : devices_)
    if (made.primary == primary) return forget(device);
}

void SmShares::forget(CUdevice which) {
  const auto found = devices_.find(which);
  if (found == devices_.end()) return;
  Device& device = found->second;
  for (const Share& share : device.shares) {
    for (const auto& [key, stream] : share.streams) {
      driver_.stream_synchronize(stream);
      driver_.stream_destroy(stream);
    }
    driver_.green_destroy(share.green);
  }
  for (CUevent event : device.free_events) driver_.event_destroy(event);
  devices_.erase(found);
}

}  // namespace occbench::attach
