// SPDX-License-Identifier: Apache-2.0
// A libcupti.so.13 over the fake driver: one subscriber at a time, callbacks of launches, records of kernels
// with the times of its laws, buffers of the client's. FAKE_CUPTI=taken: another tool has it. late: records
// come only by a forced flush. keeps: it holds on to a buffer over a forced flush. beside: each tenth kernel
// began before the one ahead of it ended.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "harness/attach/preload/cupti.hpp"
#include "tests/fake_driver/fake_sampling.hpp"

#define FAKE(name, parameters) extern "C" __attribute__((visibility("default"))) int name parameters

using namespace occbench::attach::cupti;

namespace {

constexpr std::size_t record_bytes = 224;  // as long as newer ones are
constexpr int invalid = 1;

std::mutex mutex;
int subscribers = 0;
ApiCallback called = nullptr;
std::set<std::uint32_t> enabled_calls;
BufferRequestedCallback requested = nullptr;
BufferCompletedCallback completed = nullptr;
bool is_recording = false;
std::uint8_t* buffer = nullptr;
std::size_t room = 0, used = 0;
std::uint32_t correlations = 0, kernels_seen = 0;
thread_local std::uint32_t correlation = 0;

bool is(const char* behaviour) {
  const char* const value = std::getenv("FAKE_CUPTI");
  return value != nullptr && std::strcmp(value, behaviour) == 0;
}

void hand_over() {
  if (buffer == nullptr) return;
  std::uint8_t* const full = buffer;
  buffer = nullptr;
  completed(nullptr, 0, full, room, used);
}

/// The driver launches: before (end_us < 0), and with the times of its kernel.
void trace(std::uint32_t call, double start_us, double end_us) {
  const std::lock_guard lock(mutex);
  if (end_us < 0) {
    correlation = ++correlations;
    CallbackData data{};
    data.site = on_enter;
    data.correlation = correlation;
    if (called != nullptr && enabled_calls.contains(call)) called(nullptr, driver_domain, call, &data);
    return;
  }
  if (!is_recording) return;
  if (buffer == nullptr) {
    std::size_t records = 0;
    requested(&buffer, &room, &records);
    used = 0;
    if (buffer == nullptr) return;
  }
  const double early_us = is("beside") && ++kernels_seen % 10 == 0 ? 5 : 0;
  KernelRecord r{};
  r.kind = kernels;
  r.start = static_cast<std::uint64_t>(1e3 * (start_us - early_us));
  r.end = static_cast<std::uint64_t>(1e3 * end_us);
  r.correlation = correlation;
  fake_sample(r.start, r.end);
  std::memset(buffer + used, 0, record_bytes);
  std::memcpy(buffer + used, &r, sizeof r);
  used += record_bytes;
  if (used + record_bytes > room) hand_over();
}

}  // namespace

FAKE(cuptiGetVersion, (std::uint32_t * version)) {
  *version = 130'001;
  return success;
}
FAKE(cuptiSubscribe, (void** subscriber, ApiCallback by, void*)) {
  const std::lock_guard lock(mutex);
  if (subscribers > 0 || is("taken")) return multiple_subscribers;
  ++subscribers;
  called = by;
  *subscriber = &subscribers;
  return success;
}
FAKE(cuptiUnsubscribe, (void*)) {
  const std::lock_guard lock(mutex);
  if (subscribers == 0) return invalid;
  --subscribers;
  called = nullptr;
  enabled_calls.clear();
  return success;
}
FAKE(cuptiEnableCallback, (std::uint32_t on, void*, int domain, std::uint32_t call)) {
  const std::lock_guard lock(mutex);
  if (domain != driver_domain) return invalid;
  if (on != 0) enabled_calls.insert(call);
  if (on == 0) enabled_calls.erase(call);
  return success;
}
FAKE(cuptiActivityRegisterCallbacks, (BufferRequestedCallback by, BufferCompletedCallback with)) {
  const std::lock_guard lock(mutex);
  if (by == nullptr || with == nullptr) return invalid;
  requested = by;
  completed = with;
  return success;
}
FAKE(cuptiActivityEnable, (int kind)) {
  using Trace = void (*)(void (*)(std::uint32_t, double, double));
  if (kind != kernels) return invalid;
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, "fakeTrace");
  if (found == nullptr) return not_initialized;
  reinterpret_cast<Trace>(found)(trace);
  const std::lock_guard lock(mutex);
  is_recording = true;
  return success;
}
FAKE(cuptiActivityDisable, (int)) {
  const std::lock_guard lock(mutex);
  is_recording = false;
  return success;
}
FAKE(cuptiActivityFlushAll, (std::uint32_t flag)) {
  const std::lock_guard lock(mutex);
  if (completed == nullptr) return invalid;
  if (is("late") && flag != forced) return success;
  if (buffer != nullptr && used > 0) hand_over();
  if (!is("keeps")) return success;
  std::size_t records = 0;
  if (buffer == nullptr) requested(&buffer, &room, &records);
  used = 0;
  return success;
}
FAKE(cuptiActivityGetNextRecord, (std::uint8_t * at, std::size_t valid, void** record)) {
  const std::size_t next =
      *record == nullptr ? 0
                         : static_cast<std::size_t>(static_cast<std::uint8_t*>(*record) - at) + record_bytes;
  if (next + record_bytes > valid) return invalid;
  *record = at + next;
  return success;
}
