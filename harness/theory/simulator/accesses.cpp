// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/accesses.hpp"

#include <algorithm>
#include <utility>

namespace occbench::theory {

Accesses::Accesses(const Program& program, const Traffic& traffic) : program_(program), t_(traffic) {
  deal_dram();
  place_same();
  find_runs();
}

std::size_t Accesses::lines_of(const Instruction& load) const {
  constexpr auto line_bytes = static_cast<std::size_t>(fact("line_bytes"));
  return (static_cast<std::size_t>(load.bytes * t_.layout.lanes) + line_bytes - 1) / line_bytes;
}

/// Which of the loop's loads bring new data is the same in every trip: as many of them as DRAM's share says,
/// dealt evenly over those that are not of the same addresses every time, and what is left of one by chance.
void Accesses::deal_dram() {
  dram_share_.resize(program_.loop.size());
  const auto may = [&](const Instruction& i) {
    return (i.pipe == Pipe::global_load || i.pipe == Pipe::async_load) && !again(i);
  };
  const auto loads = static_cast<int>(std::ranges::count_if(program_.loop, may));
  const double due = t_.load_dram * (program_.count(Pipe::global_load) + program_.count(Pipe::async_load));
  const int whole = std::min(static_cast<int>(due + 1e-9), loads);
  double left = std::max(0.0, due - whole);
  for (std::size_t i = 0, load = 0; i < program_.loop.size(); ++i) {
    if (!may(program_.loop[i])) continue;
    const auto before = static_cast<int>(load) * whole / loads;
    ++load;
    const bool all = static_cast<int>(load) * whole / loads > before;
    dram_share_[i] = all ? 1 : std::exchange(left, 0);
  }
}

/// Where the loads that every trip makes of the same addresses lie: one after the other.
void Accesses::place_same() {
  same_line_.resize(program_.loop.size());
  std::size_t line = 0;
  for (std::size_t i = 0; i < program_.loop.size(); ++i) {
    if (!again(program_.loop[i])) continue;
    same_line_[i] = line;
    line += lines_of(program_.loop[i]) * static_cast<std::size_t>(t_.same_parts);
  }
}

/// Which of the loop's loads follow each other through memory.
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
    if (!load.next) {
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
