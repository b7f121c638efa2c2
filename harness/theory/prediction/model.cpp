// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/theory/prediction/demand.hpp"
#include "harness/theory/prediction/needs.hpp"
#include "harness/theory/prediction/steady.hpp"
#include "harness/theory/simulator/simulate.hpp"

namespace occbench::theory {

namespace {

constexpr double schedulers = fact("schedulers");
// A simulation's length at first, in instructions: what is longer goes on at the pace that has become steady.
constexpr double short_run = 96000;
// Where queues of the memory system decide, chance needs longer to even out.
constexpr double memory_run = 100000;
// And trips, for one trip's chance is one draw for a whole block; but no more than so many instructions'
// worth.
constexpr double memory_trips = 16;
constexpr double memory_trips_run = 400000;
// Of launches of more blocks than twice this many times those that are resident, so many are simulated at
// first.
constexpr int first_rounds = 8;
// What has not become steady is simulated for longer, up to about so many instructions.
constexpr double longest_run = 4e6;
// Where blocks' own sets overflow the L1, which of them it serves is decided in the course of the launch, and
// differently on each SM. So many instructions of it are simulated, on several SMs: the slowest is the
// launch's end. They differ by chance and in their distance from the L2.
constexpr double sweep_run = 0.6e6;

double pipe_share(const Usage& u) {
  return std::max({u.fma, u.alu, u.fp64, u.special, u.tensor}) / (schedulers * u.cycles);
}
double port_share(const Usage& u) { return std::max(u.banks[0], u.banks[1]) / (schedulers * u.cycles); }

/// How busy the busiest resource was, of what it can do for this kernel.
double busiest(const Usage& u) {
  const double beyond = std::max({u.port, u.l2, u.l2_write, u.dram, u.barrier, u.l1 + u.shared}) / u.cycles;
  return std::max({u.issued / (schedulers * u.cycles), pipe_share(u), port_share(u), beyond});
}

/// The unit that was used most, if that is enough to bound it, much as occbench_tools/counters.py names it by
/// hardware counters: DRAM of its peak, all others of what was measured. `dram_share`: of DRAM's peak, what
/// it can do for this kernel.
std::optional<Bound> most_used(const Usage& u, double dram_share) {
  const double pipe = pipe_share(u), issue = u.issued / (schedulers * u.cycles), ports = port_share(u);
  Bound bound = Bound::latency;
  double most = least_use_of_bound;
  const auto take = [&](Bound unit, double share) {
    if (share > most) bound = unit, most = share;
  };
  take(Bound::pipe, pipe);
  take(Bound::dram, dram_share * u.dram / u.cycles);
  take(Bound::l2, std::max({u.port, u.l2, u.l2_write}) / u.cycles);
  take(u.shared > u.l1 ? Bound::shared_memory : Bound::l1, (u.l1 + u.shared) / u.cycles);
  if (ports > std::max(pipe, issue) + 0.1) take(Bound::register_port, ports);
  take(Bound::issue, issue - 0.03);  // an instruction a cycle fills the pipe, too, and that says more
  return bound == Bound::latency ? std::nullopt : std::optional(bound);
}

}  // namespace

std::string_view to_string(Bound bound) {
  constexpr std::string_view names[] = {"latency",       "issue", "pipe", "register port", "L1",
                                        "shared memory", "L2",    "DRAM", "tail",          "launch"};
  return names[static_cast<std::size_t>(bound)];
}

Prediction predict(const Program& program, const LoopFacts& facts, const Shape& shape,
                   const DeviceSpec& device, const Parameters& p) {
  const bool tensor = program.count(Pipe::tensor) + program.count(Pipe::warpgroup) > 0;
  if (const auto name = lacking(p, program); !name.empty())
    throw std::invalid_argument("the device's parameters lack '" + std::string(name) +
                                "', which this kernel needs");
  if (const double share = program.guessed_share(); share > most_guessed) {
    std::string opcodes;
    for (const std::string& opcode : program.guessed) opcodes += (opcodes.empty() ? "" : ", ") + opcode;
    throw std::invalid_argument("the model does not know " + opcodes + ", " +
                                std::to_string(std::lround(100 * share)) + " % of its loop");
  }
  const Demand demand = demand_of(program, facts, shape, device, p);
  const int active_sms = std::min(device.sm.sm_count, shape.grid_size);
  const int blocks_here = (shape.grid_size + active_sms - 1) / active_sms;  // of the SM that has most
  const double trips = static_cast<double>(shape.iterations) / program.iterations;
  SmWorkload workload{.blocks = std::min(blocks_here, shape.blocks_per_sm),
                      .warps_per_block = shape.warps_per_block,
                      .working_warps = shape.working_warps,
                      .working_share = shape.working_share,
                      .sm_count = device.sm.sm_count};
  const int working = workload.working_warps > 0 ? workload.working_warps : workload.warps_per_block;

  const double run = facts.dram_bytes > 0 ? memory_run : short_run;
  const double fewest = facts.dram_bytes > 0 ? memory_trips : 1;
  Usage usage;
  const auto simulated = [&](const Machine& machine, double trips_of_it) {
    usage = simulate(program, machine, demand.traffic, workload, static_cast<std::int64_t>(trips_of_it));
    return usage.cycles;
  };
  /// Of so many blocks of one SM.
  const auto of_blocks = [&](const Machine& machine, double blocks) {
    workload.total_blocks = static_cast<int>(blocks);
    const double instructions = static_cast<double>(program.loop.size()) * working * blocks;
    const double affordable = std::clamp(std::floor(memory_trips_run / instructions), 1.0, fewest);
    const double some = std::max(affordable, std::ceil(run / instructions));
    const auto longer = simulation(program, machine, demand.traffic, workload);
    return steady(
        [&](double n) {
          const double whole = std::max(1.0, std::round(n));
          usage = longer(static_cast<std::int64_t>(whole));
          return usage.cycles * std::max(1.0, n) / whole;
        },
        some, trips, std::max(2 * some, std::floor(longest_run / instructions)));
  };
  /// Of blocks that each sweep a set of their own, on the slowest of several SMs.
  double unsure = 0;  // cycles
  const auto of_sweeps = [&](Machine machine) {
    workload.total_blocks = blocks_here;
    const double instructions = static_cast<double>(program.loop.size()) * working * blocks_here;
    const double some = std::clamp(std::round(trips), 1.0, std::ceil(sweep_run / instructions));
    const double l2_latency = machine.l2_latency;
    Usage slowest;
    int which = 0;
    double distance_of_it = 1;
    for (const double distance : hardware::l2_distances) {
      machine.l2_latency = distance * l2_latency;
      if (simulated(machine, some) > slowest.cycles) {
        slowest = usage;
        which = workload.sm;
        distance_of_it = distance;
      }
      ++workload.sm;
    }
    if (const double half = std::floor(some / 2); half > 0 && trips > some) {
      workload.sm = which;
      machine.l2_latency = distance_of_it * l2_latency;
      const double later = (slowest.cycles - simulated(machine, half)) / (some - half);
      unsure = std::abs(later - slowest.cycles / some) * (trips - some);
    }
    usage = slowest;
    return slowest.cycles * trips / some;
  };
  const auto cycles_at = [&](double clock) {
    const Machine machine = machine_of(demand, device, p, clock, active_sms);
    if (demand.traffic.set_bytes > 0) return of_sweeps(machine);
    const double instructions = static_cast<double>(program.loop.size()) * working;
    double of_trips = 0;
    const Steady launch = steady(
        [&](double blocks) {
          const Steady these = of_blocks(machine, blocks);
          of_trips = these.error / these.cycles;
          return these.cycles;
        },
        first_rounds * workload.blocks, blocks_here, longest_run / instructions);
    unsure = launch.error + of_trips * launch.cycles;
    return launch.cycles;
  };

  Prediction prediction;
  prediction.sm_clock_hz = p.sm_clock_hz;
  const double cycles = cycles_at(prediction.sm_clock_hz);
  if (tensor && p.tensor_clock_hz > 0) {
    // The power limit pulls the clock down in proportion to how busy the tensor cores are.
    const double busy = std::min(1.0, usage.tensor / (schedulers * usage.cycles));
    prediction.sm_clock_hz = p.sm_clock_hz + busy * (p.tensor_clock_hz - p.sm_clock_hz);
  }
  prediction.time_s = p.launch_s + cycles / prediction.sm_clock_hz;
  prediction.time_error_s = unsure / prediction.sm_clock_hz;

  // The baseline: one warp alone, and every resource alone, each as if the other did not exist.
  const Machine machine = machine_of(demand, device, p, p.sm_clock_hz, active_sms);
  const SmWorkload lone{.blocks = 1, .warps_per_block = 1, .working_warps = 1};
  const double alone = simulate(program, machine, demand.traffic, lone, 8).cycles / 8;
  const double loads = std::ceil(static_cast<double>(blocks_here) / workload.blocks);
  const double simulated_warps = static_cast<double>(workload.blocks) * working * workload.working_share;
  double demand_cycles = 0;  // of the busiest resource, per trip of one warp
  if (usage.issued > 0)
    demand_cycles = busiest(usage) * usage.cycles * static_cast<double>(program.loop.size()) / usage.issued;
  prediction.baseline_time_s =
      p.launch_s + trips * loads * std::max(alone, demand_cycles * simulated_warps) / prediction.sm_clock_hz;

  const double dram_bytes_per_s = machine.dram_bytes * p.sm_clock_hz * active_sms;
  const double dram_share =
      device.dram_bytes_per_s > 0 ? std::min(1.0, dram_bytes_per_s / device.dram_bytes_per_s) : 1;
  const double waves =
      static_cast<double>(shape.grid_size) / (static_cast<double>(shape.blocks_per_sm) * device.sm.sm_count);
  if (p.launch_s > 0.3 * prediction.time_s)
    prediction.bound = Bound::launch;
  else if (const auto unit = most_used(usage, dram_share))
    prediction.bound = *unit;
  else if (std::ceil(waves) / waves > 1.25)
    prediction.bound = Bound::tail;
  else
    prediction.bound = Bound::latency;
  return prediction;
}

}  // namespace occbench::theory
