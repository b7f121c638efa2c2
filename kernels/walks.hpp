// SPDX-License-Identifier: Apache-2.0
// Verifies pointer chases: reads the walks back and repeats them on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/device/kernel.hpp"

namespace occbench {

constexpr std::size_t walks_per_page = 256;

/// Walks read back at a time. A Walk has `start` and `end`, elements of the chain, and `steps`.
template <class Walk>
using WalkPage = std::array<Walk, walks_per_page>;

/// Nullopt, or one line on the first wrong walk of these blocks. `end_of(walk)` returns the correct end;
/// `place` names an element in messages; `steps`, if given, is the required number of steps.
template <class Walk, class EndOf>
std::optional<std::string> walk_mismatch(Arena& arena, std::size_t first_page, int blocks,
                                         const std::string& place, std::uint64_t places, EndOf end_of,
                                         std::optional<std::uint64_t> steps) {
  WalkPage<Walk> page;
  for (std::size_t b = 0; b < static_cast<std::size_t>(blocks); ++b) {
    if (b % walks_per_page == 0) page = arena.output_value<WalkPage<Walk>>(first_page + b / walks_per_page);
    const Walk& walk = page[b % walks_per_page];
    const std::uint64_t end = end_of(walk);
    if (walk.start >= places || walk.end != end || walk.steps != steps.value_or(walk.steps))
      return "wrong result: block " + std::to_string(b) + " of " + std::to_string(blocks) + " says that " +
             std::to_string(walk.steps) + " steps lead from " + place + " " + std::to_string(walk.start) +
             " to " + std::to_string(walk.end) + ", the CPU reference says to " + std::to_string(end) +
             (steps ? " and that there are " + std::to_string(*steps) : "");
  }
  return std::nullopt;
}

}  // namespace occbench
