// SPDX-License-Identifier: Apache-2.0
// What a loop does that its machine code does not show: its family declares it, and the model reads it.
#pragma once

#include <cstddef>
#include <functional>

namespace occbench::theory {

/// Who reads a working set again and again.
enum class Sharer {
  device,  ///< all blocks read the same one
  block,   ///< each block has one of its own
  warp,    ///< each warp has
};

/// How a warp's accesses lie.
struct Layout {
  int lanes = 32;      ///< of a warp that access memory
  double lines = 1;    ///< of the L1 that a global load touches, over the least that so many bytes lie in
  bool apart = false;  ///< the warps of a block load rows far apart, not what lies side by side
  double bank_conflict =
      1;  ///< cycles of shared memory per cycle that as many bytes need, of loads from it ...
  double store_conflict = 1;  ///< ... and of stores to it
};

/// Bytes are per thread and iteration of the loop.
struct Flow {
  std::function<int(int warps)> working_warps = {};  ///< of a block of so many, that run the loop; empty: all
  double working_share = 1;  ///< of those, that do the work of an iteration; the others go past it
  int barrier_groups = 1;    ///< parts of a block whose warps meet only each other

  // Of the bytes that are loaded, those that need not come from DRAM
  double l2_bytes = 0;      ///< that the L2 has ...
  double shared_bytes = 0;  ///< ... that other blocks ask for at the same time: one has to wait for DRAM ...
  double reused_bytes = 0;  ///< ... and of a working set, which the L1 has if it is large enough
  double neighbour_bytes = 0;  ///< of the reused ones, what other warps of the block reuse as well
  Sharer set_of = Sharer::device;
  std::size_t set_bytes = 0;  ///< of the working set; 0: as the dial `working_set_bytes` says

  Layout layout = {};
};

}  // namespace occbench::theory
