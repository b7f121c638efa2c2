// SPDX-License-Identifier: Apache-2.0
// What one chaser of a chain reports, read back and followed again on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/device/kernel.hpp"

namespace occbench {

constexpr std::size_t walks_per_page = 256;

/// Walks are read back so many at a time. A Walk has `start` and `end`, places of the chain, and `steps`.
template <class Walk>
using WalkPage = std::array<Walk, walks_per_page>;

/// Null, or one line on the first of these blocks' walks that goes wrong. `end_of(walk)` is where its steps
/// lead to from its start, `place` what a place of the chain is called; `steps`, if given, is how many there
/// must have been.
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
