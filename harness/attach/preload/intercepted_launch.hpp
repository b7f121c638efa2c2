// SPDX-License-Identifier: Apache-2.0
// One launch of the program, from its call to its time.
#pragma once

#include <cstdint>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/graphs.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature.hpp"
#include "harness/attach/preload/sm_shares.hpp"

namespace occbench::attach {

struct InterceptedLaunch {
  Signature* signature = nullptr;
  Context* context = nullptr;
  Schedule::Draw draw;
  CUfunction function = nullptr;  ///< for the changed launch
  unsigned dynamic_smem_bytes = 0;
  bool is_pinned = true;      ///< the changed launch's carve-out
  bool is_in_order = false;   ///< changed launch: waits for the previous one to end
  CUstream stream = nullptr;  ///< the program's
  ShareStream share;          ///< if set, the launch runs and is timed in its stream
  CUevent start = nullptr, stop = nullptr;
  bool is_graph = false;               ///< a CUDA graph, which events time as a whole
  Signature* counted_graph = nullptr;  ///< its kernels' records are for counters
  bool is_only_counted = false;        ///< its record is for counters, not for a time
  std::uint8_t flags = 0;
  std::uint64_t sequence = 0;
  GraphChange change;  ///< until the launch

  /// Whether the launch differs from the program's request.
  [[nodiscard]] bool is_changed() const { return draw.arm != untouched || is_in_order; }
  [[nodiscard]] CUstream launch_stream() const { return share.stream != nullptr ? share.stream : stream; }
};

/// A launch whose time is not known yet.
struct Pending {
  InterceptedLaunch intercepted;
  std::uint16_t thread = 0;
};

constexpr std::size_t max_pending = 4096;

[[nodiscard]] double now_s();
/// Of the calling thread, from 0.
[[nodiscard]] std::uint16_t thread_number();

}  // namespace occbench::attach
