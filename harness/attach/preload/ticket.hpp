// SPDX-License-Identifier: Apache-2.0
// One launch of the program, from its beginning to its time.
#pragma once

#include <cstdint>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/graphs.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature.hpp"

namespace occbench::attach {

struct Ticket {
  Signature* signature = nullptr;
  Context* context = nullptr;
  Schedule::Draw draw;
  CUfunction function = nullptr;  ///< for the changed launch
  unsigned dynamic_smem_bytes = 0;
  bool is_pinned = true;  ///< the changed launch's carve-out
  CUstream stream = nullptr;
  CUevent start = nullptr, stop = nullptr;
  bool is_graph = false;  ///< of a CUDA graph, which events time as a whole
  std::uint8_t flags = 0;
  std::uint64_t sequence = 0;
  GraphChange change;  ///< until it is launched
};

/// A launch whose time is awaited.
struct Pending {
  Ticket ticket;
  std::uint16_t thread = 0;
};

constexpr std::size_t most_pending = 4096;

[[nodiscard]] double now_s();
/// Of the calling thread, from 0.
[[nodiscard]] std::uint16_t thread_number();

}  // namespace occbench::attach
