// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/theory/prediction/demand.hpp"
#include "harness/theory/prediction/extrapolate.hpp"
#include "harness/theory/prediction/needs.hpp"
#include "harness/theory/simulator/simulate.hpp"

namespace occbench::theory {

namespace {

constexpr double schedulers = fact("schedulers");
// Instructions simulated at first; a longer launch is extrapolated once its cycles per trip are steady.
constexpr double first_instructions = 96000;
// Queues of the memory system need longer to reach their mean ...
constexpr double first_memory_instructions = 100000;
// ... and several trips, since a block's accesses of one trip share a random draw; at most this many
// instructions.
constexpr double first_memory_trips = 16;
constexpr double max_instructions_for_trips = 400000;
// Waves simulated at first.
constexpr int first_waves = 8;
// Approximate limit of simulated instructions for a launch that is not steady.
constexpr double max_instructions = 4e6;
// Instructions simulated per SM if the blocks' own sets overflow the L1.
constexpr double sweep_instructions = 0.6e6;

double pipe_share(const Usage& u) {
  return std::max({u.fma, u.alu, u.fp64, u.special, u.tensor}) / (schedulers * u.cycles);
}
double port_share(const Usage& u) { return std::max(u.banks[0], u.banks[1]) / (schedulers * u.cycles); }

/// Utilization of the busiest resource.
double busiest(const Usage& u) {
  const double shared_units = std::max({u.port, u.l2, u.l2_write, u.dram, u.barrier, u.l1 + u.shared});
  return std::max(
      {u.issued / (schedulers * u.cycles), pipe_share(u), port_share(u), shared_units / u.cycles});
}

/// The most utilized unit, if it is busy enough to bound the kernel. occbench_tools/counters.py decides the
/// same way from hardware counters: DRAM relative to its theoretical peak, other units to their measured
/// peak. `dram_share`: DRAM bandwidth that this kernel's mix can reach, relative to the theoretical peak.
std::optional<Bound> find_bounding_unit(const Usage& u, double dram_share) {
  const double pipe = pipe_share(u), issue = u.issued / (schedulers * u.cycles), ports = port_share(u);
  Bound bound = Bound::latency;
  double highest = min_bound_utilization;
  const auto consider = [&](Bound unit, double share) {
    if (share > highest) bound = unit, highest = share;
  };
  consider(Bound::pipe, pipe);
  consider(Bound::dram, dram_share * u.dram / u.cycles);
  consider(Bound::l2, std::max({u.port, u.l2, u.l2_write}) / u.cycles);
  consider(u.shared > u.l1 ? Bound::shared_memory : Bound::l1, (u.l1 + u.shared) / u.cycles);
  if (ports > std::max(pipe, issue) + 0.1) consider(Bound::register_port, ports);
  consider(Bound::issue, issue - 0.03);  // at one instruction a cycle a full pipe is the more specific answer
  return bound == Bound::latency ? std::nullopt : std::optional(bound);
}

/// Throws std::invalid_argument if a parameter is missing or too many opcodes are unknown.
void check_predictable(const Program& program, const Parameters& p) {
  if (const auto name = missing_parameter(p, program); !name.empty())
    throw std::invalid_argument("the device's parameters lack '" + std::string(name) +
                                "', which this kernel needs");
  if (const double share = program.guessed_share(); share > max_guessed_share) {
    std::string opcodes;
    for (const std::string& opcode : program.guessed) opcodes += (opcodes.empty() ? "" : ", ") + opcode;
    throw std::invalid_argument("the model does not know " + opcodes + ", " +
                                std::to_string(std::lround(100 * share)) + " % of its loop");
  }
}

/// A launch's share on the SM that gets the most blocks.
struct SmLaunch {
  SmLaunch(const Program& program, const Shape& shape, const DeviceSpec& device)
      : active_sms(std::min(device.sm.sm_count, shape.grid_size)),
        blocks((shape.grid_size + active_sms - 1) / active_sms),
        trips(static_cast<double>(shape.iterations) / program.iterations),
        working_warps(shape.working_warps > 0 ? shape.working_warps : shape.warps_per_block),
        workload{.blocks = std::min(blocks, shape.blocks_per_sm),
                 .warps_per_block = shape.warps_per_block,
                 .working_warps = shape.working_warps,
                 .working_share = shape.working_share,
                 .sm_count = device.sm.sm_count} {}

  int active_sms;
  int blocks;
  double trips;       ///< of each warp
  int working_warps;  ///< of a block
  SmWorkload workload;
};

/// The cycles of a launch on one SM: its first blocks and trips are simulated, the rest is extrapolated.
class LaunchEstimate {
 public:
  /// Holds all by reference. `uses_dram`: the loop reads or writes DRAM.
  LaunchEstimate(const Program& program, const Machine& machine, const Traffic& traffic,
                 const SmLaunch& launch, bool uses_dram)
      : program_(program),
        traffic_(traffic),
        launch_(launch),
        machine_(machine),
        workload_(launch.workload),
        instructions_per_block_(static_cast<double>(program.loop.size()) * launch.working_warps),
        first_instructions_(uses_dram ? first_memory_instructions : first_instructions),
        first_trips_(uses_dram ? first_memory_trips : 1) {
    if (traffic.set_bytes > 0)
      simulate_sweeps();
    else
      simulate_waves();
  }

  [[nodiscard]] double cycles() const { return cycles_; }
  [[nodiscard]] double error_cycles() const { return error_cycles_; }
  /// Usage in the last and longest simulation.
  [[nodiscard]] const Usage& usage() const { return usage_; }

 private:
  /// Extrapolates from the first waves to all of them.
  void simulate_waves() {
    double trip_error = 0;  // as a share
    const Extrapolation launch = extrapolate(
        [&](double blocks) {
          const Extrapolation round = simulate_blocks(blocks);
          trip_error = round.error_cycles / round.cycles;
          return round.cycles;
        },
        first_waves * workload_.blocks, launch_.blocks, max_instructions / instructions_per_block_);
    cycles_ = launch.cycles;
    error_cycles_ = launch.error_cycles + trip_error * launch.cycles;
  }

  /// Extrapolates from the first trips of `blocks` blocks to all trips.
  Extrapolation simulate_blocks(double blocks) {
    workload_.total_blocks = static_cast<int>(blocks);
    const double instructions = instructions_per_block_ * blocks;
    const double affordable =
        std::clamp(std::floor(max_instructions_for_trips / instructions), 1.0, first_trips_);
    const double first = std::max(affordable, std::ceil(first_instructions_ / instructions));
    const auto simulate_trips = simulation(program_, machine_, traffic_, workload_);
    return extrapolate(
        [&](double trips) {
          const double whole = std::max(1.0, std::round(trips));
          usage_ = simulate_trips(static_cast<std::int64_t>(whole));
          return usage_.cycles * std::max(1.0, trips) / whole;
        },
        first, launch_.trips, std::max(2 * first, std::floor(max_instructions / instructions)));
  }

  /// If the blocks' own sets overflow the L1, its hit rate differs between SMs, by chance and by distance
  /// from the L2: simulates several SMs; the slowest ends the launch.
  void simulate_sweeps() {
    workload_.total_blocks = launch_.blocks;
    const double instructions = instructions_per_block_ * launch_.blocks;
    const double trips =
        std::clamp(std::round(launch_.trips), 1.0, std::ceil(sweep_instructions / instructions));
    const double mean_l2_latency = machine_.l2_latency;
    Usage slowest;
    int slowest_sm = 0;
    double slowest_distance = 1;
    for (const double distance : hardware::l2_distances) {
      machine_.l2_latency = distance * mean_l2_latency;
      if (simulate_sm(trips) > slowest.cycles) {
        slowest = usage_;
        slowest_sm = workload_.sm;
        slowest_distance = distance;
      }
      ++workload_.sm;
    }
    if (const double half = std::floor(trips / 2); half > 0 && launch_.trips > trips) {
      workload_.sm = slowest_sm;
      machine_.l2_latency = slowest_distance * mean_l2_latency;
      const double later_trip = (slowest.cycles - simulate_sm(half)) / (trips - half);
      error_cycles_ = std::abs(later_trip - slowest.cycles / trips) * (launch_.trips - trips);
    }
    usage_ = slowest;
    cycles_ = slowest.cycles * launch_.trips / trips;
  }

  double simulate_sm(double trips) {
    usage_ = simulate(program_, machine_, traffic_, workload_, static_cast<std::int64_t>(trips));
    return usage_.cycles;
  }

  const Program& program_;
  const Traffic& traffic_;
  const SmLaunch& launch_;
  Machine machine_;
  SmWorkload workload_;
  double instructions_per_block_;
  double first_instructions_;
  double first_trips_;
  Usage usage_;
  double cycles_ = 0;
  double error_cycles_ = 0;
};

/// The power limit lowers the clock in proportion to how busy the tensor cores are.
double sm_clock_hz(const Program& program, const Parameters& p, const Usage& usage) {
  const bool has_tensor = program.count(Pipe::tensor) + program.count(Pipe::warpgroup) > 0;
  if (!has_tensor || p.tensor_clock_hz <= 0) return p.sm_clock_hz;
  const double busy = std::min(1.0, usage.tensor / (schedulers * usage.cycles));
  return p.sm_clock_hz + busy * (p.tensor_clock_hz - p.sm_clock_hz);
}

/// The larger of the latency of a lone warp and the demand on the busiest resource, as if neither affected
/// the other.
double baseline_cycles(const Program& program, const Machine& machine, const Traffic& traffic,
                       const SmLaunch& launch, const Usage& usage) {
  const SmWorkload lone_warp{.blocks = 1, .warps_per_block = 1, .working_warps = 1};
  const double latency = simulate(program, machine, traffic, lone_warp, 8).cycles / 8;
  const double rounds = std::ceil(static_cast<double>(launch.blocks) / launch.workload.blocks);
  const double warps =
      static_cast<double>(launch.workload.blocks) * launch.working_warps * launch.workload.working_share;
  double demand = 0;  // cycles of the busiest resource per trip of one warp
  if (usage.issued > 0)
    demand = busiest(usage) * usage.cycles * static_cast<double>(program.loop.size()) / usage.issued;
  return launch.trips * rounds * std::max(latency, demand * warps);
}

Bound bound_of(const Shape& shape, const DeviceSpec& device, const Usage& usage, double dram_bytes_per_s) {
  const double dram_share =
      device.dram_bytes_per_s > 0 ? std::min(1.0, dram_bytes_per_s / device.dram_bytes_per_s) : 1;
  if (const auto unit = find_bounding_unit(usage, dram_share)) return *unit;
  const double waves =
      static_cast<double>(shape.grid_size) / (static_cast<double>(shape.blocks_per_sm) * device.sm.sm_count);
  return std::ceil(waves) / waves > 1.25 ? Bound::tail : Bound::latency;
}

}  // namespace

std::string_view to_string(Bound bound) {
  constexpr std::string_view names[] = {"latency",       "issue", "pipe", "register port", "L1",
                                        "shared memory", "L2",    "DRAM", "tail",          "launch"};
  return names[static_cast<std::size_t>(bound)];
}

Prediction predict(const Program& program, const LoopFacts& facts, const Shape& shape,
                   const DeviceSpec& device, const Parameters& p) {
  check_predictable(program, p);
  const Demand demand = demand_of(program, facts, shape, device, p);
  const SmLaunch launch(program, shape, device);
  const Machine machine = machine_of(demand, device, p, p.sm_clock_hz, launch.active_sms);
  const LaunchEstimate estimate(program, machine, demand.traffic, launch, facts.dram_bytes > 0);
  const Usage& usage = estimate.usage();

  Prediction prediction;
  prediction.sm_clock_hz = sm_clock_hz(program, p, usage);
  prediction.time_s = p.launch_s + estimate.cycles() / prediction.sm_clock_hz;
  prediction.time_error_s = estimate.error_cycles() / prediction.sm_clock_hz;
  prediction.baseline_time_s =
      p.launch_s + baseline_cycles(program, machine, demand.traffic, launch, usage) / prediction.sm_clock_hz;
  const double dram_bytes_per_s = machine.dram_bytes_per_cycle * p.sm_clock_hz * launch.active_sms;
  prediction.bound =
      p.launch_s > 0.3 * prediction.time_s ? Bound::launch : bound_of(shape, device, usage, dram_bytes_per_s);
  return prediction;
}

}  // namespace occbench::theory
