// SPDX-License-Identifier: Apache-2.0
// Contexts of the fake driver, green contexts, their streams, and events.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>

#include "tests/fake_driver/fake_device.hpp"

using namespace fake;

namespace {

/// What a driver may not forgive.
[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Event {
  double time_us = -1;
  int context = 0, life = 0;
  CUstream stream = nullptr;  ///< that it was recorded in
};

constexpr int contexts = 4;
int context_storage[contexts];
int lives[contexts];  ///< so many of each have ended
CUdevice device_of[contexts];
thread_local int current = 0;

CUcontext handle_of(int context) { return reinterpret_cast<CUcontext>(&context_storage[context]); }

void end_context(int context) {
  const std::lock_guard lock(mutex);
  ++lives[context];
}

Event& alive(CUevent event) {
  Event& e = *reinterpret_cast<Event*>(event);
  if (e.life == lives[e.context]) return e;
  fail("an event is used that ended with its context");
}

/// Green contexts of a part of the SMs, which the library makes, and their streams.
struct Share {
  int sms = 0;
  bool is_alive = true;
};
struct ShareStream {
  Share* share = nullptr;
  CUstream program = nullptr;  ///< whose event it waits for
  bool waits = false;          ///< for an event that no launch followed yet
  bool is_awaited = true;      ///< by the program's stream
};
std::deque<Share> shares;
std::map<CUstream, ShareStream> share_streams;

}  // namespace

int fake::sms_of_launch(CUstream stream) {
  for (const auto& [own, state] : share_streams)
    if (state.program == stream && !state.is_awaited) fail("a launch overtakes one in a green context");
  const auto found = share_streams.find(stream);
  if (found == share_streams.end()) return sms;
  if (!found->second.share->is_alive) fail("a launch into a green context that has ended");
  if (!std::exchange(found->second.waits, false)) fail("a launch in a green context overtakes the program");
  found->second.is_awaited = false;
  return found->second.share->sms;
}

FAKE(CUresult, cuCtxGetCurrent, (CUcontext * context)) {
  *context = handle_of(current);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxGetDevice, (CUdevice * device)) {
  *device = device_of[current];
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxSetCurrent, (CUcontext context)) {
  current = static_cast<int>(reinterpret_cast<int*>(context) - context_storage);
  return CUDA_SUCCESS;
}
/// A green context is another handle of a context, with a part of the SMs.
char green_storage[contexts];
char green_streams[contexts];
int green_sms[contexts];
int made_contexts = 0;
/// All stand from the first on; the first is the primary one.
FAKE(CUresult, cuCtxCreate_v2, (CUcontext * context, unsigned, CUdevice device)) {
  if (made_contexts == contexts - 1) return CUDA_ERROR_OUT_OF_MEMORY;
  device_of[++made_contexts] = device;
  *context = handle_of(made_contexts);
  return fake_cuCtxSetCurrent(*context);
}
FAKE(CUresult, cuCtxDestroy_v2, (CUcontext context)) {
  end_context(static_cast<int>(reinterpret_cast<int*>(context) - context_storage));
  return CUDA_SUCCESS;
}
/// The SMs of a description are its address.
FAKE(CUresult, cuDeviceGetDevResource, (CUdevice, CUdevResource* all, CUdevResourceType)) {
  all->sm.smCount = sms;
  return std::getenv("FAKE_NO_GREEN") ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
FAKE(CUresult, cuDevSmResourceSplitByCount,
     (CUdevResource * part, unsigned* groups, const CUdevResource* all, CUdevResource*, unsigned,
      unsigned least)) {
  part->sm.smCount = std::max(8U, (least + 7) / 8 * 8);
  *groups = part->sm.smCount <= all->sm.smCount ? 1 : 0;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDevResourceGenerateDesc, (CUdevResourceDesc * made, CUdevResource* part, unsigned)) {
  *made = reinterpret_cast<CUdevResourceDesc>(std::uintptr_t{part->sm.smCount});
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice)) {
  *context = handle_of(0);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned)) {
  const std::lock_guard lock(mutex);
  const CUstream recorded = alive(event).stream;
  if (const auto own = share_streams.find(stream); own != share_streams.end()) {
    own->second.program = recorded;
    own->second.waits = true;
  }
  if (const auto other = share_streams.find(recorded); other != share_streams.end())
    other->second.is_awaited = true;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuStreamSynchronize, (CUstream)) { return CUDA_SUCCESS; }
FAKE(CUresult, cuStreamDestroy_v2, (CUstream stream)) {
  const std::lock_guard lock(mutex);
  share_streams.erase(stream);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGreenCtxCreate,
     (CUgreenCtx * green, CUdevResourceDesc description, CUdevice device, unsigned)) {
  if (description != nullptr) {
    const std::lock_guard lock(mutex);
    const auto count = static_cast<int>(reinterpret_cast<std::uintptr_t>(description));
    *green = reinterpret_cast<CUgreenCtx>(&shares.emplace_back(Share{.sms = count}));
    return CUDA_SUCCESS;
  }
  const int before = current;
  CUcontext context = nullptr;
  const CUresult result = fake_cuCtxCreate_v2(&context, 0, device);
  if (result == CUDA_SUCCESS) *green = reinterpret_cast<CUgreenCtx>(&green_storage[current]);
  static int greens = 0;
  green_sms[current] = 16 * ++greens;
  current = before;
  return result;
}
FAKE(CUresult, cuCtxFromGreenCtx, (CUcontext * context, CUgreenCtx green)) {
  *context = handle_of(static_cast<int>(reinterpret_cast<char*>(green) - green_storage));
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxGetDevResource, (CUcontext context, CUdevResource* part, CUdevResourceType)) {
  const int own = green_sms[reinterpret_cast<int*>(context) - context_storage];
  part->sm.smCount = static_cast<unsigned>(own > 0 ? own : sms);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGreenCtxGetDevResource, (CUgreenCtx green, CUdevResource* part, CUdevResourceType)) {
  part->sm.smCount = static_cast<unsigned>(green_sms[reinterpret_cast<char*>(green) - green_storage]);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGreenCtxStreamCreate, (CUstream * stream, CUgreenCtx green, unsigned, int)) {
  for (Share& share : shares)
    if (reinterpret_cast<CUgreenCtx>(&share) == green) {
      const std::lock_guard lock(mutex);
      *stream = reinterpret_cast<CUstream>(new char);
      share_streams[*stream] = {.share = &share};
      return CUDA_SUCCESS;
    }
  *stream = reinterpret_cast<CUstream>(&green_streams[reinterpret_cast<char*>(green) - green_storage]);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuStreamGetGreenCtx, (CUstream stream, CUgreenCtx* green)) {
  char* const at = reinterpret_cast<char*>(stream);
  const bool is_of_one = at >= green_streams && at < green_streams + contexts;
  *green = is_of_one ? reinterpret_cast<CUgreenCtx>(&green_storage[at - green_streams]) : nullptr;
  return CUDA_SUCCESS;
}
/// The last one's handle is the next one's.
FAKE(CUresult, cuGreenCtxDestroy, (CUgreenCtx green)) {
  for (Share& share : shares)
    if (reinterpret_cast<CUgreenCtx>(&share) == green) {
      share.is_alive = false;
      return CUDA_SUCCESS;
    }
  const auto number = static_cast<int>(reinterpret_cast<char*>(green) - green_storage);
  end_context(number);
  if (number == made_contexts) --made_contexts;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDevicePrimaryCtxReset_v2, (CUdevice)) {
  end_context(0);
  return CUDA_SUCCESS;
}
/// Somebody else owns it as well.
FAKE(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice)) { return CUDA_SUCCESS; }
FAKE(CUresult, cuDevicePrimaryCtxGetState, (CUdevice, unsigned* flags, int* is_active)) {
  *flags = 0;
  *is_active = 1;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventCreate, (CUevent * event, unsigned)) {
  *event = reinterpret_cast<CUevent>(new Event{.context = current, .life = lives[current]});
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventDestroy_v2, (CUevent event)) {
  delete reinterpret_cast<Event*>(event);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventRecord, (CUevent event, CUstream stream)) {
  const std::lock_guard lock(mutex);
  alive(event).stream = stream;
  if (alive(event).context != current) return CUDA_ERROR_INVALID_CONTEXT;
  alive(event).time_us = is_stuck ? -1 : clock_us;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventElapsedTime_v2, (float* milliseconds, CUevent start, CUevent stop)) {
  const std::lock_guard lock(mutex);
  if (alive(stop).time_us < 0) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(1e-3 * (alive(stop).time_us - alive(start).time_us));
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventQuery, (CUevent event)) {
  const std::lock_guard lock(mutex);
  return alive(event).time_us < 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
