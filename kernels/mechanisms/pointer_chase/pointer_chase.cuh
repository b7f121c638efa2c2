// SPDX-License-Identifier: Apache-2.0
// Family `pointer_chase`: the chain that its variants follow, and their output.
#pragma once

#include <algorithm>

#include "kernels/chain.cuh"
#include "kernels/family.cuh"
#include "kernels/walks.hpp"

namespace occbench::pointer_chase {

/// One pointer per 128-byte line, so that no step hits the line of the last one.
struct alignas(128) Line {
  const Line* next;
  unsigned char rest[120];
};

/// The walk of one block.
struct Walk {
  std::uint64_t start;   ///< line
  std::uint64_t end;     ///< line
  std::uint64_t steps;   ///< dependent loads
  std::uint64_t cycles;  ///< by clock64; see the body for what it covers
};

/// The first cache level of a load: L1 for ld.global (.ca), L2 for ld.global.cg.
enum class Cache { l1, l2 };

/// `at` = *`at`, in place, without a register move before the next load.
template <Cache cache>
__device__ __forceinline__ void follow(const Line*& at) {
  if constexpr (cache == Cache::l1)
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
  else
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
}

/// Each launch starts elsewhere, so that it does not hit lines that the last one left in the L2.
__device__ __forceinline__ std::uint64_t somewhere(std::uint64_t lines) {
  return mix(static_cast<std::uint32_t>(device::global_timer_ns()) + mix(blockIdx.x)) & (lines - 1);
}

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mibibyte = std::size_t{1} << 20;
constexpr std::size_t dram_bytes = 1024 * mibibyte;

static __global__ void link(Line* chain, std::uint64_t lines) {
  for (std::uint64_t x = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; x < lines;
       x += std::uint64_t{gridDim.x} * blockDim.x)
    chain[x].next = chain + (scattered<std::uint64_t>()(x) & (lines - 1));
}

inline void link(Line* chain, std::uint64_t lines, cudaStream_t stream) {
  const std::uint64_t blocks = std::min<std::uint64_t>((lines + 255) / 256, 4096);
  link<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(chain, lines);
  check(cudaGetLastError(), "linking a chain");
}

inline const Line* chain_of(Arena& arena, std::size_t bytes) {
  return arena.table<Line>("pointer_chase-" + std::to_string(bytes), bytes / sizeof(Line),
                           [](Line* chain, std::size_t lines, cudaStream_t s) { link(chain, lines, s); });
}

using Page = WalkPage<Walk>;

inline std::optional<std::string> mismatch_of(Arena& arena, std::size_t first_page, int blocks,
                                              std::uint64_t lines, std::optional<std::uint64_t> steps) {
  const auto end_of = [=](const Walk& walk) {
    return scattered<std::uint64_t>().advance(walk.start, walk.steps) & (lines - 1);
  };
  return walk_mismatch<Walk>(arena, first_page, blocks, "line", lines, end_of, steps);
}

/// Cycles per load, the mean over the blocks' walks (at most a page of them).
inline double cycles_per_load(Arena& arena, std::size_t first_page, int blocks, int loads_per_latency) {
  const auto page = arena.output_value<Page>(first_page);
  const std::size_t count = std::min(static_cast<std::size_t>(blocks), walks_per_page);
  double sum = 0;
  for (std::size_t b = 0; b < count; ++b)
    sum += static_cast<double>(page[b].cycles) * loads_per_latency / static_cast<double>(page[b].steps);
  return sum / static_cast<double>(count);
}

}  // namespace occbench::pointer_chase
