// SPDX-License-Identifier: Apache-2.0
// The CUDA contexts that launches come from, and the SMs of their streams.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/record_writer.hpp"

namespace occbench::attach {

/// The previous launch on a stream: its signature and function.
struct PreviousLaunch {
  std::uint64_t hash = 0;  ///< 0: none
  int function = -1;
};

struct Context {
  CUcontext handle = nullptr;  ///< null: it has ended
  int device = 0;
  int compute_capability = 0;  ///< 90 for 9.0
  int device_sms = 0;
  int own_sms = 0;  ///< fewer than device_sms in a green context
  int sms = 0;      ///< for the current launch, whose stream may belong to a green context
  int smem_per_sm = 0, smem_reserved = 0, smem_optin = 0;
  std::vector<CUevent> free_events;
  std::unordered_map<CUstream, PreviousLaunch> previous;
  bool has_early_starts = false;                 ///< some launches may start before the previous one ends
  std::unordered_map<CUstream, bool> was_timed;  ///< whether the stream's previous launch was timed
};

/// Not thread-safe.
class Contexts {
 public:
  Contexts(const Driver& driver, RecordWriter& writer) : driver_(driver), writer_(writer) {}

  /// The context with this handle, which must be current. Writes a device record if the device is new.
  Context& of(CUcontext handle);
  /// SMs that a kernel launched into this stream may run on.
  [[nodiscard]] int sms_of(const Context& context, CUstream stream);
  /// The context is being destroyed, with its events.
  void forget(Context& context);
  /// A green context is being destroyed; its handle may be reused.
  void forget_green() { green_sms_.clear(); }
  /// Includes destroyed contexts.
  [[nodiscard]] std::deque<Context>& all() { return contexts_; }

 private:
  void write_device(CUdevice device);

  const Driver& driver_;
  RecordWriter& writer_;
  std::deque<Context> contexts_;
  std::unordered_map<CUcontext, Context*> by_handle_;
  std::unordered_map<CUgreenCtx, int> green_sms_;
  Context* last_ = nullptr;
};

}  // namespace occbench::attach
