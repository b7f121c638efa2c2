// SPDX-License-Identifier: Apache-2.0
// The table of hooked driver functions, and the program's lookups of them.
#include "harness/attach/preload/hooks.hpp"

#include <pthread.h>

#include <cstring>

#include "harness/attach/preload/attached.hpp"
#include "harness/attach/preload/hook_slots.hpp"

namespace occbench::attach {

Slot slot_table[names][slots];

namespace {

pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

template <int slot>
CUresult on_get_proc_address(const char* name, void** found, int version, cuuint64_t flags) {
  const CUresult result = original_of<GetProcAddress>(get_proc_address, slot)(name, found, version, flags);
  if (result == CUDA_SUCCESS && name != nullptr && found != nullptr && *found != nullptr)
    *found = replacement_for(name, *found, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  return result;
}

template <int slot>
CUresult on_get_proc_address_v2(const char* name, void** found, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status) {
  const CUresult result =
      original_of<GetProcAddressV2>(get_proc_address_v2, slot)(name, found, version, flags, status);
  if (result == CUDA_SUCCESS && name != nullptr && found != nullptr && *found != nullptr) {
    // Callers of version 12 or newer get the newer function under this name.
    constexpr int has_five_arguments = 12'000;
    if (std::strcmp(name, "cuGetProcAddress") == 0 && version >= has_five_arguments)
      name = "cuGetProcAddress_v2";
    *found = replacement_for(name, *found, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  }
  return result;
}

const Hook lookup_hooks[] = {
    {"cuGetProcAddress", get_proc_address, false, OCCBENCH_SLOTS(on_get_proc_address)},
    {"cuGetProcAddress_v2", get_proc_address_v2, false, OCCBENCH_SLOTS(on_get_proc_address_v2)},
    {"cuGetProcAddress_v2_ptsz", get_proc_address_v2, false, OCCBENCH_SLOTS(on_get_proc_address_v2)},
};

const Hook* find(const char* symbol) {
  if (symbol[0] != 'c' || symbol[1] != 'u') return nullptr;
  for (const std::span<const Hook> hooks :
       {launch_hooks(), object_hooks(), std::span<const Hook>(lookup_hooks)})
    for (const Hook& h : hooks)
      if (std::strcmp(h.symbol, symbol) == 0) return &h;
  return nullptr;
}

}  // namespace

void forget_slot_lock() noexcept { pthread_mutex_init(&taking, nullptr); }

bool is_hooked(const char* name) noexcept { return find(name) != nullptr; }

void* replacement_for(const char* name, void* original, bool is_per_thread) noexcept {
  const Hook* const h = find(name);
  if (h == nullptr) return original;
  for (void* const ours : h->ours)
    if (ours == original) return original;
  pthread_mutex_lock(&taking);
  void* result = original;
  for (int slot = 0; slot < slots; ++slot) {
    Slot& s = slot_table[h->name][slot];
    if (s.original.load() == nullptr) {
      s.is_per_thread = is_per_thread || h->is_per_thread;
      s.original.store(original, std::memory_order_release);
    }
    if (s.original.load() == original) {
      result = h->ours[slot];
      break;
    }
  }
  pthread_mutex_unlock(&taking);
  static_cast<void>(get_launches());  // a process that asks for these uses the driver
  return result;
}

}  // namespace occbench::attach
