// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/theory/simulate.hpp"

namespace occbench::theory {

namespace {

// A simulation's length, in instructions: what is longer goes on at the pace of its second half.
constexpr double short_run = 96000;
// Where queues of the memory system decide, chance needs longer to even out.
constexpr double memory_run = 100000;
// And turns, for one turn's chance is one draw for a whole block; but no more than so many instructions' worth.
constexpr double memory_turns = 16;
constexpr double memory_turns_run = 400000;
// Launches of more blocks per SM than this are taken to go on at the pace of the second half of as many.
constexpr int rounds_simulated = 16;
// Pages that DRAM keeps open, one a bank: of six stacks of HBM3, with 32 pseudo-channels of 16 banks each (JESD238).
constexpr double open_pages = 6 * 32 * 16;
// Where blocks' own sets overflow the L1, which of them it serves is decided in the course of the launch, and differently
// on each SM. So many instructions of it are simulated, on several SMs: the slowest is the launch's end. They differ by
// chance and in their distance from the L2: by an H200 SM's own clock 0.94 to 1.09 of the mean, where all loads of the
// suite's cache_reuse loop miss.
constexpr double sweep_run = 0.6e6;
constexpr std::array l2_distances = {0.96, 0.99, 1.0, 1.01, 1.03, 1.05, 1.07, 1.09};
// Bytes written for one that is read, up to which each of them pays for turning DRAM's bus around.
constexpr double most_written_per_read = 8;
// Of the L2's size, what a set read by all SMs can fill before lines are lost: the rest holds copies for the far half.
constexpr double l2_share = 0.72;

/// When this share of the bytes is written, and this share of that in single lines: turning the bus around costs, and
/// so does a page of DRAM that is opened for one line. Each written byte costs as much as at half and half, whatever is
/// read beside it: on an H200 one byte read for each eight written is as slow as that says, and slower than any other mix.
/// Nothing was measured between there and writes alone, whose bus does not turn. Writes close the pages that single lines
/// are read from, too: as far as both come by turns, reads of single lines pay for pages. They come in order, and share
/// one longer than writes do: the square of the writes' share says what a kernel beside the suite took for one to sixteen
/// arrays in and as many out (4.8 % off in the mean of 48 launches; the share itself 5.2). Reads are taken to be as narrow
/// as the writes beside them.
double dram_bytes_per_s(const Parameters& p, double written, double narrow) {
  const double read = 1 / p.dram_read_bytes_per_s;
  const double wide = 1 / p.dram_write_bytes_per_s;
  const double turning = std::max(0.0, 2 / p.dram_mixed_bytes_per_s - read - wide);
  const double write = p.dram_narrow_write_bytes_per_s > 0
                           ? wide + narrow * (1 / p.dram_narrow_write_bytes_per_s - wide)
                           : wide;
  return 1 /
         ((1 - written) * read + written * write + std::min(written, 1 - written) * narrow * (write - wide) +
          std::min(written, most_written_per_read * (1 - written)) * turning);
}

/// Share of a set that a cache of random replacement keeps while it is swept again and again: h = exp(-(1-h) n / c).
double kept(double set_bytes, double cache_bytes) {
  if (set_bytes <= cache_bytes) return 1;
  double hit = 0;
  for (int i = 0; i < 50; ++i) hit = std::exp(-(1 - hit) * set_bytes / cache_bytes);
  return hit;
}

/// What all SMs together can store of spilled registers when each stores to so many lines again and again. Lines lie in
/// the L2's banks as chance has it, and the fullest bank sets the pace: by the square root of the lines fuller than the
/// others, if they are many. Measured at 128 lines and at 1,024.
double spill_store_bytes_per_s(const Parameters& p, double lines) {
  const double many = 1 / p.spill_store_bytes_per_s;
  if (p.spill_store_8_warps_bytes_per_s == 0 || lines == 0) return p.spill_store_bytes_per_s;
  const double few = 1 / p.spill_store_8_warps_bytes_per_s;
  const double slope = std::max(0.0, few - many) / (1 / std::sqrt(128.0) - 1 / std::sqrt(1024.0));
  return 1 / std::max(many / 2, many + slope * (1 / std::sqrt(lines) - 1 / std::sqrt(1024.0)));
}

struct Demand {
  Traffic traffic;
  double written = 0;      ///< share of DRAM's bytes
  double narrow = 0;       ///< share of these that go to more pages than stay open, a line to each
  double spill_lines = 0;  ///< of an SM
};

Demand demand_of(const Program& program, const Flow& flow, const Shape& shape, const Chip& chip,
                 const Parameters& p) {
  Demand d;
  const double loaded = (program.bytes(Pipe::global_load) + program.bytes(Pipe::async_load)) / program.passes;
  const double stored = program.bytes(Pipe::global_store) / program.passes;
  const double to_dram = std::min(stored, flow.dram_bytes);
  const double from_dram = std::min(loaded, flow.dram_bytes - to_dram);
  d.written = flow.dram_bytes > 0 ? to_dram / flow.dram_bytes : 0;
  d.traffic.store_dram = stored > 0 ? to_dram / stored : 0;
  d.traffic.load_dram = loaded > 0 ? from_dram / loaded : 0;
  d.traffic.load_l2 = loaded > 0 ? std::min(1 - d.traffic.load_dram, flow.l2_bytes / loaded) : 0;
  d.traffic.late_l2 = loaded > 0 ? std::min(1.0, flow.shared_bytes / loaded) : 0;
  d.traffic.load_l2 += d.traffic.late_l2;
  const double warps = static_cast<double>(shape.blocks_per_sm) * shape.warps_per_block;
  // Each spilled register that the loop stores or reloads is another one; the rest of the stack lies still.
  const double spilled =
      std::min(static_cast<double>(program.local_bytes),
               std::max(program.bytes(Pipe::local_load), program.bytes(Pipe::local_store))) *
      32 * warps;
  const double l1 = std::max(1.0, static_cast<double>(shape.l1_bytes) - p.l1_reserved_bytes);
  if (shape.l1_bytes > 0) d.traffic.l1_lines = std::max<std::size_t>(1, std::lround(l1 / 128));
  d.traffic.l2_bytes =
      l2_share * static_cast<double>(chip.l2_bytes) / std::min(chip.sm_count, shape.grid_size);
  const double set = flow.warp_set_bytes > 0 ? warps * static_cast<double>(flow.warp_set_bytes)
                                             : (flow.own_working_set ? shape.blocks_per_sm : 1) *
                                                   static_cast<double>(flow.working_set_bytes);
  // Copies are of what many SMs read; spilled registers beside nothing of that kind have all of the L2.
  const double l2 = (set > 0 || flow.reused_bytes > 0 ? l2_share : 1) * static_cast<double>(chip.l2_bytes);
  // What all SMs together want the L2 to hold: own sets are sized to fit it.
  const double wanted = flow.warp_set_bytes > 0 ? (set + spilled) * chip.sm_count
                                                : (flow.own_working_set ? 0 : set) + spilled * chip.sm_count;
  const double in_l2 = wanted > 0 ? std::min(1.0, l2 / wanted) : 1;
  if (flow.reused_bytes > 0 && program.same_bytes() > 0 && flow.warp_set_bytes == 0 &&
      !flow.own_working_set) {
    const double parts = static_cast<double>(flow.working_set_bytes) / (program.same_bytes() * flow.lanes);
    d.traffic.same_parts = static_cast<int>(std::clamp<double>(parts, 1, shape.warps_per_block));
  } else if (flow.reused_bytes > 0 && loaded > 0) {
    const double share = std::min(1.0, flow.reused_bytes / loaded);
    // A warp reads n rows on either side of its own. Of a block's rows and n beyond its edges, the L1 lacks those
    // beyond, and has them once the first of its warps asked: one in as many of these reads as the block has warps.
    const double per_load = program.bytes(Pipe::global_load) / std::max(1, program.count(Pipe::global_load));
    const double neighbours = std::min(1.0, 2 * flow.halo_rows * per_load / flow.reused_bytes);
    const double elsewhere = neighbours / shape.warps_per_block;
    const double missed = share * (1 - kept(set + spilled, l1) * (1 - elsewhere));
    d.traffic.load_l2 += missed * in_l2;
    d.traffic.load_dram += missed * (1 - in_l2);
  }
  if (flow.own_working_set && set > l1) {
    d.traffic.set_bytes = flow.working_set_bytes;
  }
  d.spill_lines = spilled / 128;
  const double places = warps * program.places();
  if (stored > 0 && program.bytes(Pipe::global_store) <= 4.0 * program.places())
    d.narrow = std::max(0.0, 1 - open_pages / (places * chip.sm_count));
  // A reload is mostly the last use of its line, which makes room: beside no other data, what fits stays. What streams
  // through the L1 between a store and its reload, half a turn on average, pushes out as much.
  if (spilled > 0) {
    const double streamed =
        (d.traffic.load_dram + d.traffic.load_l2) * program.bytes(Pipe::global_load) * 32 * warps;
    d.traffic.local_l1 =
        set > 0 ? kept(set + spilled, l1) : std::clamp((l1 - streamed / 2) / spilled, 0.0, 1.0);
  }
  d.traffic.local_l2 = in_l2;
  d.traffic.barrier_groups = flow.barrier_groups;
  d.traffic.uneven = flow.uneven;
  d.traffic.bank_conflict = flow.bank_conflict;
  d.traffic.store_conflict = flow.store_conflict > 0 ? flow.store_conflict : flow.bank_conflict;
  d.traffic.lines = flow.lines;
  d.traffic.apart = flow.apart;
  d.traffic.lanes = flow.lanes;
  d.traffic.bulk_bytes = static_cast<double>(flow.stage_bytes);
  d.traffic.copies_ahead = flow.stages;
  return d;
}

Machine machine_of(const Chip& chip, const Parameters& p, double clock, const Demand& demand,
                   int active_sms) {
  const auto per_cycle = [&](double per_s) { return per_s / clock / active_sms; };
  Machine m;
  m.fma_halves = std::max(1, chip.fp32_lanes_per_sm / 64);
  m.alu_cycles = std::round(p.alu_interval_cycles);
  m.fp64_cycles = chip.fp64_lanes_per_sm > 0 ? 128.0 / chip.fp64_lanes_per_sm : 64;
  m.mma_cycles = p.mma_interval_cycles;
  m.warpgroup_cycles_per_column = chip.tensor_bf16_fma_per_sm > 0 ? 1024.0 / chip.tensor_bf16_fma_per_sm : 1;
  // Three registers of two banks take one and a half times as long as one of one bank.
  m.bank_cycles = std::round(p.operand_interval_cycles / 1.5);
  m.branch_cycles = std::round(p.branch_cycles);
  m.barrier_cycles = std::round(p.barrier_cycles);
  m.arrival_cycles = p.barrier_arrival_cycles;
  m.release_cycles = p.barrier_release_cycles;
  m.register_release_cycles = p.barrier_register_cycles;
  m.shared_latency = std::round(p.shared_latency_cycles);
  if (p.shared_bytes_per_cycle > 0) m.shared_bytes = p.shared_bytes_per_cycle;

  m.l1_latency = std::round(p.l1_latency_cycles);
  m.l1_bytes = p.l1_bytes_per_cycle;
  m.port_bytes = p.sm_port_bytes_per_cycle;
  m.l2_latency = p.l2_latency_cycles;
  m.l2_bytes = std::min(p.sm_port_bytes_per_cycle, per_cycle(p.l2_bytes_per_s));
  m.spill_store_bytes =
      std::min(p.sm_port_bytes_per_cycle, per_cycle(spill_store_bytes_per_s(p, demand.spill_lines)));
  if (p.spill_store_bytes_per_s > 0) m.spill_fill_bytes = per_cycle(p.spill_store_bytes_per_s);
  m.dram_latency = p.dram_latency_s * clock;
  m.dram_spread = p.dram_spread_s * clock;
  m.dram_bytes =
      std::min(p.sm_port_bytes_per_cycle, per_cycle(dram_bytes_per_s(p, demand.written, demand.narrow)));
  // A queue of constant service time s at half load makes a request wait s / 2 (Pollaczek and Khinchine).
  m.dram_service = 2 * std::max(0.0, p.dram_loaded_latency_s - p.dram_latency_s) * clock;
  // Half of the requests being writes that a channel drains in batches of n at regular times, a read waits s (1 + n) / 6:
  // those that come during a batch, n s, find it gone after n s / 3 more. s grows as the bandwidth falls.
  const double mixed_service = m.dram_service * p.dram_read_bytes_per_s / p.dram_mixed_bytes_per_s;
  const double mixed_wait = std::max(0.0, p.dram_mixed_loaded_latency_s - p.dram_latency_s) * clock;
  m.write_batch = mixed_service > 0 ? std::max(1.0, 6 * mixed_wait / mixed_service - 1) : 1;
  m.bulk_extra = std::max(0.0, p.bulk_copy_latency_s - p.dram_latency_s) * clock;
  m.turnover_cycles = p.block_turnover_cycles;
  return m;
}

void require(bool needed, double value, std::string_view name) {
  if (needed && !(value > 0))
    throw std::invalid_argument("the device's parameters lack '" + std::string(name) +
                                "', which this kernel needs");
}

double pipe_share(const Usage& u) {
  return std::max({u.fma, u.alu, u.fp64, u.special, u.tensor}) / (4 * u.cycles);
}
double port_share(const Usage& u) { return std::max(u.banks[0], u.banks[1]) / (4 * u.cycles); }

/// How busy the busiest resource was, of what it can do for this kernel.
double busiest(const Usage& u) {
  const double beyond = std::max({u.port, u.l2, u.l2_write, u.dram, u.barrier, u.l1 + u.shared}) / u.cycles;
  return std::max({u.issued / (4 * u.cycles), pipe_share(u), port_share(u), beyond});
}

/// The unit that was used most, if that is above 60 %, much as occbench_tools/counters.py names it by hardware counters:
/// DRAM of its peak, all others of what was measured. `dram_share`: of DRAM's peak, what it can do for this kernel.
std::optional<Bound> most_used(const Usage& u, double dram_share) {
  constexpr double least = 0.6;
  const double pipe = pipe_share(u), issue = u.issued / (4 * u.cycles), ports = port_share(u);
  Bound bound = Bound::latency;
  double most = least;
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

Prediction predict(const Program& program, const Flow& flow, const Shape& shape, const Chip& chip,
                   const Parameters& p) {
  const bool tensor = program.count(Pipe::tensor) + program.count(Pipe::warpgroup) > 0;
  require(true, p.sm_clock_hz, "sm_clock");
  require(program.count(Pipe::tensor) > 0, p.mma_interval_cycles, "mma_interval");
  require(program.count(Pipe::bulk_load) > 0 && flow.stages > 0, p.bulk_copy_latency_s, "bulk_copy_latency");
  const Demand demand = demand_of(program, flow, shape, chip, p);
  const int active_sms = std::min(chip.sm_count, shape.grid_size);
  const int blocks_here = (shape.grid_size + active_sms - 1) / active_sms;  // of the SM that has most
  const double turns = static_cast<double>(shape.passes) / program.passes;
  Crew crew{.blocks = std::min(blocks_here, shape.blocks_per_sm),
            .warps_per_block = shape.warps_per_block,
            .working_warps = shape.working_warps,
            .working_share = shape.working_share,
            .sm_count = chip.sm_count};
  const int working = crew.working_warps > 0 ? crew.working_warps : crew.warps_per_block;

  const double run = flow.dram_bytes > 0 ? memory_run : short_run;
  const double fewest = flow.dram_bytes > 0 ? memory_turns : 1;
  Usage usage;
  const auto cycles_at = [&](double clock) {
    Machine machine = machine_of(chip, p, clock, demand, active_sms);
    if (demand.traffic.set_bytes > 0) {
      crew.total_blocks = blocks_here;
      const double some =
          std::min(std::round(turns),
                   std::ceil(sweep_run / (static_cast<double>(program.loop.size()) * working * blocks_here)));
      const double l2_latency = machine.l2_latency;
      for (const double distance : l2_distances) {
        machine.l2_latency = distance * l2_latency;
        const Usage of_this =
            simulate(program, machine, demand.traffic, crew, static_cast<std::int64_t>(some));
        if (of_this.cycles > usage.cycles) usage = of_this;
        ++crew.sm;
      }
      return usage.cycles * turns / some;
    }
    /// Cycles of so many rounds of blocks, linear in the turns beyond what is simulated.
    const auto rounds = [&](int total) {
      crew.total_blocks = total;
      const double instructions = static_cast<double>(program.loop.size()) * working * total;
      const double affordable = std::clamp(std::floor(memory_turns_run / instructions), 1.0, fewest);
      const double some = std::max(affordable, std::ceil(run / instructions));
      if (turns <= 2 * some) {
        const double whole = std::max(1.0, std::round(turns));
        usage = simulate(program, machine, demand.traffic, crew, static_cast<std::int64_t>(whole));
        return usage.cycles * turns / whole;
      }
      const double first =
          simulate(program, machine, demand.traffic, crew, static_cast<std::int64_t>(some)).cycles;
      usage = simulate(program, machine, demand.traffic, crew, static_cast<std::int64_t>(2 * some));
      return usage.cycles + (usage.cycles - first) / some * (turns - 2 * some);
    };
    const int most = rounds_simulated * crew.blocks;
    if (blocks_here <= most) return rounds(blocks_here);
    const double half = rounds(most / 2);
    const double all = rounds(most);
    return all + (all - half) / (most - most / 2) * (blocks_here - most);
  };

  Prediction prediction;
  prediction.sm_clock_hz = p.sm_clock_hz;
  double cycles = cycles_at(prediction.sm_clock_hz);
  if (tensor && p.tensor_clock_hz > 0) {
    // The power limit pulls the clock down in proportion to how busy the tensor cores are.
    const double busy = std::min(1.0, usage.tensor / (4 * usage.cycles));
    prediction.sm_clock_hz = p.sm_clock_hz + busy * (p.tensor_clock_hz - p.sm_clock_hz);
  }
  prediction.time_s = p.launch_s + cycles / prediction.sm_clock_hz;

  // The baseline: one warp alone, and every resource alone, each as if the other did not exist.
  const Machine machine = machine_of(chip, p, p.sm_clock_hz, demand, active_sms);
  const Crew lone{.blocks = 1, .warps_per_block = 1, .working_warps = 1};
  const double alone = simulate(program, machine, demand.traffic, lone, 8).cycles / 8;
  const double loads = std::ceil(static_cast<double>(blocks_here) / crew.blocks);
  const double simulated_warps = static_cast<double>(crew.blocks) * working * crew.working_share;
  double demand_cycles = 0;  // of the busiest resource, per turn of one warp
  if (usage.issued > 0)
    demand_cycles = busiest(usage) * usage.cycles * static_cast<double>(program.loop.size()) / usage.issued;
  prediction.baseline_time_s =
      p.launch_s + turns * loads * std::max(alone, demand_cycles * simulated_warps) / prediction.sm_clock_hz;

  const double dram_bytes_per_s = machine.dram_bytes * p.sm_clock_hz * active_sms;
  const double dram_share =
      chip.dram_bytes_per_s > 0 ? std::min(1.0, dram_bytes_per_s / chip.dram_bytes_per_s) : 1;
  const double waves =
      static_cast<double>(shape.grid_size) / (static_cast<double>(shape.blocks_per_sm) * chip.sm_count);
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
