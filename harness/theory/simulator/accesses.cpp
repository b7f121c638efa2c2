// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/accesses.hpp"

#include <algorithm>
#include <utility>

namespace occbench::theory {

Accesses::Accesses(const Program& program, const Traffic& traffic) : program_(program), t_(traffic) {
  distribute_dram();
  place_reused_lines();
  find_runs();
}

std::size_t Accesses::lines_of(const Instruction& load) const {
  constexpr auto line_bytes = static_cast<std::size_t>(fact("line_bytes"));
  return (static_cast<std::size_t>(load.bytes * t_.layout.lanes) + line_bytes - 1) / line_bytes;
}

/// The same loads read DRAM in every trip. Whole loads are spread evenly over those that do not reuse lines;
/// the fractional rest is random.
void Accesses::distribute_dram() {
  dram_share_.resize(program_.loop.size());
  const auto may_read_dram = [&](const Instruction& i) {
    return (i.pipe == Pipe::global_load || i.pipe == Pipe::async_load) && !reuses_lines(i);
  };
  const auto loads = static_cast<int>(std::ranges::count_if(program_.loop, may_read_dram));
  const double dram_loads =
      t_.load_dram * (program_.count(Pipe::global_load) + program_.count(Pipe::async_load));
  const int whole = std::min(static_cast<int>(dram_loads + 1e-9), loads);
  double rest = std::max(0.0, dram_loads - whole);
  for (std::size_t i = 0, load = 0; i < program_.loop.size(); ++i) {
    if (!may_read_dram(program_.loop[i])) continue;
    const auto before = static_cast<int>(load) * whole / loads;
    ++load;
    const bool reads_dram = static_cast<int>(load) * whole / loads > before;
    dram_share_[i] = reads_dram ? 1 : std::exchange(rest, 0);
  }
}

/// Loads that reuse lines have consecutive lines.
void Accesses::place_reused_lines() {
  reused_line_.resize(program_.loop.size());
  std::size_t line = 0;
  for (std::size_t i = 0; i < program_.loop.size(); ++i) {
    if (!reuses_lines(program_.loop[i])) continue;
    reused_line_[i] = line;
    line += lines_of(program_.loop[i]) * static_cast<std::size_t>(t_.reuse_parts);
  }
}

void Accesses::find_runs() {
  runs_.resize(program_.loop.size());
  Run run;
  std::vector<std::size_t> members;
  const auto close = [&] {
    for (const std::size_t i : members) runs_[i].lines = run.line;
    members.clear();
  };
  for (std::size_t i = 0; i < program_.loop.size(); ++i) {
    const Instruction& load = program_.loop[i];
    if (load.bytes == 0 || load.pipe == Pipe::global_store) continue;
    if (!load.contiguous) {
      close();
      run = {.first = i};
    }
    runs_[i] = run;
    members.push_back(i);
    run.line += std::max(1, load.bytes / 4);
  }
  close();
}

}  // namespace occbench::theory
