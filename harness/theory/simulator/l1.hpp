// SPDX-License-Identifier: Apache-2.0
// Which lines an SM's L1 holds, line by line, where more of them are swept than it has room for. As an H200
// answered when single lines were timed (chains, streams, sets that gave way to others):
// - Slices of sets of tags. Parities of the bits of a line's number say which.
// - Beside the tags a pool of data, divided among the slices: the carve-out's share less what is reserved.
//   When it is used up, the slice's sets give a line each, in turn.
// - Both put out lines that were not hit since they came before those that were, the oldest first; a full set
//   spares the line that was used last.
// - A line has its tag from when it comes. On its way there it takes room of the pool, as far as a few lines
//   do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "harness/theory/hardware.hpp"

namespace occbench::theory {

class L1 {
 public:
  /// Room for so many lines; `hands`: by chance, the sets that are the first to give one.
  L1(std::size_t lines, std::uint64_t hands);

  /// Whether a load of this line hits.
  bool hits(std::size_t line);
  /// A line that missed is asked for.
  void ask(std::size_t line);
  /// It comes.
  void fill(std::size_t line);

 private:
  static constexpr auto slices = static_cast<std::size_t>(fact("l1_slices"));
  static constexpr auto sets = static_cast<std::size_t>(fact("l1_sets"));
  static constexpr auto ways = static_cast<std::size_t>(fact("l1_ways"));
  static constexpr std::size_t none = ~std::size_t{0};
  struct Tag {
    std::size_t line = none;
    bool hit = false;        ///< since it came
    std::uint64_t used = 0;  ///< when it was last; later is more
  };
  using Set = std::array<Tag, ways>;

  struct Slice {
    std::array<Set, sets> tags{};
    std::size_t lines = 0, held = 0, asked = 0;
    std::size_t hand = 0;
  };

  static std::size_t place_of(std::size_t line);
  static Tag* victim(Set& set, std::uint64_t spared);
  static void evict(Slice& slice, Tag& tag);
  static void make_room(Slice& slice);
  Set& set_of(std::size_t line);

  std::array<Slice, slices> slices_{};
  std::uint64_t uses_ = 0;
};

/// The lines for which there is room where a lone chain through more, in random order and lap after lap, has
/// this share of hits; a fraction of a line for what lies between.
double chain_room(std::size_t chain_lines, double hits);

}  // namespace occbench::theory
