// SPDX-License-Identifier: Apache-2.0
// Properties of a loop that its machine code does not show: a family declares them, the model reads them.
#pragma once

#include <cstddef>
#include <functional>

namespace occbench::theory {

/// Who shares a working set that is read repeatedly.
enum class Sharer {
  device,  ///< all blocks read the same set
  block,   ///< one set per block
  warp,    ///< one set per warp
};

/// Memory layout of a warp's accesses.
struct Layout {
  int lanes = 32;             ///< of a warp that access memory
  double lines = 1;           ///< L1 lines that a global load touches, over the minimum for its bytes
  bool apart = false;         ///< the warps of a block load distant rows instead of adjacent data
  double bank_conflict = 1;   ///< shared-memory cycles per load, over the minimum for its bytes
  double store_conflict = 1;  ///< the same per store
};

/// Bytes are per thread and loop iteration.
struct Flow {
  std::function<int(int warps)> working_warps = {};  ///< that run the loop, of a block of `warps`; empty: all
  double working_share = 1;  ///< of the working warps that do an iteration's work; the others skip it
  int barrier_groups = 1;    ///< parts of a block that synchronize separately

  // Loaded bytes that DRAM does not have to serve
  double l2_bytes = 0;         ///< L2 hits
  double shared_bytes = 0;     ///< loaded by other blocks at the same time: one request waits for DRAM
  double reused_bytes = 0;     ///< of a working set, L1 hits if it fits
  double neighbour_bytes = 0;  ///< part of reused_bytes that other warps of the block load as well
  Sharer set_of = Sharer::device;
  std::size_t set_bytes = 0;  ///< size of the working set; 0: the dial `working_set_bytes`

  Layout layout = {};
};

}  // namespace occbench::theory
