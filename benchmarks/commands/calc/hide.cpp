// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/theory/hardware.hpp"

namespace occbench::commands {
namespace {

/// A scheduler issues one instruction a cycle. Each warp issues some; its next one comes a latency after the
/// last of them, as chains measure latency (docs/data/facts.csv).
struct Hiding {
  theory::DeviceSpec device;
  std::int64_t latency_cycles, instructions;

  std::int64_t period_cycles() const { return instructions - 1 + latency_cycles; }
  /// Plain division, as PMPP 4.6 has it: it forgets the warp that waits, and the other schedulers.
  std::int64_t textbook() const { return (latency_cycles + instructions - 1) / instructions; }
  std::int64_t per_scheduler() const { return (period_cycles() + instructions - 1) / instructions; }
  std::int64_t per_sm() const {
    return per_scheduler() * static_cast<std::int64_t>(theory::fact("schedulers"));
  }
  /// The share of issue slots in use with all warp slots of the SM taken.
  double issue_share() const {
    const double warps = device.sm.max_warps_per_sm() / theory::fact("schedulers");
    return std::min(1.0, warps * static_cast<double>(instructions) / static_cast<double>(period_cycles()));
  }
};

constexpr Column<Hiding> hiding_columns[] = {
    {"device", [](const Hiding& h) { return Value(h.device.name); }},
    {"latency_cycles", [](const Hiding& h) { return Value(h.latency_cycles); }},
    {"instructions", [](const Hiding& h) { return Value(h.instructions); }},
    {"warps_textbook", [](const Hiding& h) { return Value(h.textbook()); }},
    {"warps_per_scheduler", [](const Hiding& h) { return Value(h.per_scheduler()); }},
    {"warps_per_sm", [](const Hiding& h) { return Value(h.per_sm()); }},
    {"warp_slots", [](const Hiding& h) { return Value(std::int64_t{h.device.sm.max_warps_per_sm()}); }},
    {"issue_share", [](const Hiding& h) { return Value(h.issue_share()); }},
};

void print_table(std::ostream& out, const Hiding& h) {
  const int slots = h.device.sm.max_warps_per_sm();
  print_wrapped(out, h.device.name + ": each warp issues " + with_thousands(h.instructions) +
                         (h.instructions == 1 ? " instruction" : " instructions") + ", then waits " +
                         with_thousands(h.latency_cycles) + (h.latency_cycles == 1 ? " cycle" : " cycles") +
                         " for the last");
  print_wrapped(out,
                with_thousands(h.per_scheduler()) + " warps per scheduler keep it busy, so " +
                    with_thousands(h.per_sm()) + " per SM: it has " +
                    std::to_string(static_cast<int>(theory::fact("schedulers"))) + " schedulers",
                "  ");
  print_wrapped(out,
                (h.per_sm() <= slots ? "They fit its " + std::to_string(slots) + " warp slots"
                                     : "Its " + std::to_string(slots) + " warp slots use at most " +
                                           percent(h.issue_share()) +
                                           " of the issue slots: more instructions per wait (ILP) help, "
                                           "more occupancy cannot"),
                "  ");
  out << "  textbook (latency / instructions): " << with_thousands(h.textbook()) << " warps\n";
}

}  // namespace

void print_hiding(std::ostream& out, const CalcOptions& options, const DeviceResolver& resolve) {
  constexpr std::int64_t most = 1'000'000'000;
  const std::string& instructions = options.hide_instructions;
  const Hiding h{
      .device = resolve(options.device).facts,
      .latency_cycles = parse_size(options.hide, "--hide", 1, most),
      .instructions = instructions.empty() ? 1 : parse_size(instructions, "--instructions", 1, most)};
  if (options.format == "table") return print_table(out, h);
  if (options.format == "csv") return print_csv(out, hiding_columns, std::span(&h, 1));
  out << json_of(hiding_columns, h).dump(2) << '\n';
}

}  // namespace occbench::commands
