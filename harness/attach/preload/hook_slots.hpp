// SPDX-License-Identifier: Apache-2.0
// Slots of the hooked functions. A name may have several originals (versions, default streams): each gets a
// slot and a replacement that calls only this original.
#pragma once

#include <atomic>
#include <span>

namespace occbench::attach {

enum Name : int {
  launch_kernel,
  launch_ex,
  launch_cooperative,
  graph_launch,
  graph_instantiate,
  graph_instantiate_with,
  graph_exec_destroy,
  graph_destroy,
  graph_set_kernel,
  graph_set_node,
  graph_enable,
  graph_update,
  module_load,
  module_file,
  library_load,
  library_file,
  get_proc_address,
  get_proc_address_v2,
  context_destroy,
  green_context_destroy,
  device_reset,
  device_release,
  module_unload,
  profiler_start,
  profiler_stop,
  names
};
constexpr int slots = 4;

struct Slot {
  std::atomic<void*> original{nullptr};
  bool is_per_thread = false;
};
extern Slot slot_table[names][slots];

template <class Function>
Function original_of(Name name, int slot) {
  return reinterpret_cast<Function>(slot_table[name][slot].original.load(std::memory_order_acquire));
}

/// A symbol of the driver and its replacements by slot.
struct Hook {
  const char* symbol;
  Name name;
  bool is_per_thread;
  void* ours[slots];
};

/// Initialises Hook::ours from a function template over the slot.
#define OCCBENCH_SLOTS(function)                                                     \
  {                                                                                  \
    reinterpret_cast<void*>(&function<0>), reinterpret_cast<void*>(&function<1>),    \
        reinterpret_cast<void*>(&function<2>), reinterpret_cast<void*>(&function<3>) \
  }

// Tables of hooks, constant-initialised.
[[nodiscard]] std::span<const Hook> launch_hooks() noexcept;
[[nodiscard]] std::span<const Hook> object_hooks() noexcept;

/// Called in the child of a fork, where the other threads are gone.
void forget_slot_lock() noexcept;

}  // namespace occbench::attach
