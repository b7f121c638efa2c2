// SPDX-License-Identifier: Apache-2.0
// Which lines a loop's loads touch, and which of them bring new data: said once for all of its trips.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/theory/simulator/machine.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench::theory {

class Accesses {
 public:
  /// Holds both by reference.
  Accesses(const Program& program, const Traffic& traffic);

  /// Whether an instruction loads lines that are followed from trip to trip.
  [[nodiscard]] bool again(const Instruction& i) const { return t_.same_parts > 0 && i.same; }
  /// Lines that a load touches.
  [[nodiscard]] std::size_t lines_of(const Instruction& load) const;

  /// Share of the bytes that DRAM delivers, of the instruction at this place.
  [[nodiscard]] double dram_share(std::size_t at) const { return dram_share_[at]; }
  /// The first line of one that is loaded again.
  [[nodiscard]] std::size_t same_line(std::size_t at) const { return same_line_[at]; }

  /// Loads of the loop that a warp makes of memory without a gap.
  struct Run {
    std::size_t first = 0;  ///< instruction
    int line = 0;           ///< at which this load begins
    int lines = 1;          ///< of all of them
  };
  [[nodiscard]] const Run& run(std::size_t at) const { return runs_[at]; }

 private:
  void deal_dram();
  void place_same();
  void find_runs();

  const Program& program_;
  const Traffic& t_;
  std::vector<double> dram_share_;      ///< of each global load of the loop
  std::vector<std::size_t> same_line_;  ///< of each load that every trip makes of the same addresses
  std::vector<Run> runs_;
};

}  // namespace occbench::theory
