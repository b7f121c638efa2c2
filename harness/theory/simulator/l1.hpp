// SPDX-License-Identifier: Apache-2.0
// The L1 of an SM, line by line, for sweeps that exceed its capacity. Measured on an H200 by timing single
// lines:
// - Tags form slices of sets. Parities of the line number select slice and set.
// - Data is a pool per slice, sized by the carve-out less the reserved bytes. When the pool is full, the
//   slice evicts one line per set, round robin.
// - Lines that were never hit are evicted first, the oldest of them first. A full set spares its most
//   recently used line.
// - A line gets its tag when it arrives. Before that, up to a few lines in flight take space of the pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "harness/theory/hardware.hpp"

namespace occbench::theory {

class L1 {
 public:
  /// `lines`: capacity; `seed`: selects the sets that evict first.
  L1(std::size_t lines, std::uint64_t seed);

  /// Looks a line up and updates its replacement state; returns whether it hit.
  bool look_up(std::size_t line);
  /// Requests a line that missed.
  void request(std::size_t line);
  /// Inserts a requested line on arrival.
  void fill(std::size_t line);

 private:
  static constexpr auto slices = static_cast<std::size_t>(fact("l1_slices"));
  static constexpr auto sets = static_cast<std::size_t>(fact("l1_sets"));
  static constexpr auto ways = static_cast<std::size_t>(fact("l1_ways"));
  static constexpr std::size_t none = ~std::size_t{0};
  struct Tag {
    std::size_t line = none;
    bool hit = false;        ///< since it arrived
    std::uint64_t used = 0;  ///< sequence number of the last use
  };
  using Set = std::array<Tag, ways>;

  struct Slice {
    std::array<Set, sets> tags{};
    std::size_t capacity = 0, resident = 0, in_flight = 0;  ///< lines
    std::size_t next_set = 0;                               ///< that evicts when the pool is full
  };

  static std::size_t tag_index(std::size_t line);
  static Tag* victim(Set& set, std::uint64_t spared);
  static void evict(Slice& slice, Tag& tag);
  static void evict_excess(Slice& slice);
  Set& set_of(std::size_t line);

  std::array<Slice, slices> slices_{};
  std::uint64_t uses_ = 0;
};

/// The L1 capacity, in lines, at which a pointer chase that cycles through `chain_lines` lines in random
/// order has this hit rate, interpolated between whole lines.
double capacity_from_hit_rate(std::size_t chain_lines, double hit_rate);

}  // namespace occbench::theory
