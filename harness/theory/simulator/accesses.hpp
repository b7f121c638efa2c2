// SPDX-License-Identifier: Apache-2.0
// Which lines the loads of a loop touch and which of them read DRAM, computed once for all trips.
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

  /// Whether an instruction loads the same lines in every trip; these are simulated line by line.
  [[nodiscard]] bool reuses_lines(const Instruction& i) const { return t_.reuse_parts > 0 && i.same_address; }
  /// Number of lines that a load touches.
  [[nodiscard]] std::size_t lines_of(const Instruction& load) const;

  /// Share of the bytes of instruction `pc` that DRAM serves.
  [[nodiscard]] double dram_share(std::size_t pc) const { return dram_share_[pc]; }
  /// First line of a load for which reuses_lines() holds.
  [[nodiscard]] std::size_t reused_line(std::size_t pc) const { return reused_line_[pc]; }

  /// Loads of the loop from contiguous memory.
  struct Run {
    std::size_t first = 0;  ///< its first instruction
    int line = 0;           ///< of the run, where this load begins
    int lines = 1;          ///< of the run
  };
  [[nodiscard]] const Run& run(std::size_t pc) const { return runs_[pc]; }

 private:
  void distribute_dram();
  void place_reused_lines();
  void find_runs();

  const Program& program_;
  const Traffic& t_;
  std::vector<double> dram_share_;
  std::vector<std::size_t> reused_line_;
  std::vector<Run> runs_;
};

}  // namespace occbench::theory
