// SPDX-License-Identifier: Apache-2.0
// The SM: starts blocks, issues their warps' instructions, synchronizes them at barriers and retires them.
// The choice of warps is in scheduler.cpp, the memory accesses in load_store.cpp.
#include "harness/theory/simulator/simulate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/theory/simulator/instruction_cache.hpp"
#include "harness/theory/simulator/load_store.hpp"
#include "harness/theory/simulator/random.hpp"
#include "harness/theory/simulator/scheduler.hpp"
#include "harness/theory/simulator/warp.hpp"

namespace occbench::theory {

namespace {

constexpr auto schedulers = static_cast<std::size_t>(fact("schedulers"));
constexpr double launch_interval = fact("warp_launch_interval");

/// Warps of a block that synchronize with each other.
struct BarrierGroup {
  int waiting = 0;
  int alive = 0;
  double release_cycles = 0;  ///< time for which its release occupies the barrier unit
};
struct Block {
  std::size_t first_warp = 0;  ///< of its working warps, which are contiguous
  std::size_t warps = 0;
  std::vector<BarrierGroup> groups;
  int alive = 0;
};

class Sm {
 public:
  Sm(const Program& program, const Machine& m, const Traffic& t, const SmWorkload& workload,
     std::int64_t trips)
      : program_(program), m_(m), t_(t), trip_count_(trips), workload_(workload) {
    working_ = workload.working_warps > 0 ? workload.working_warps : workload.warps_per_block;
    if (t.uneven) {  // warps may start after every second barrier; between two barriers they exchange values
      int barriers = 0;
      for (std::size_t i = 0; i + 1 < program.loop.size(); ++i)
        if (program.loop[i].pipe == Pipe::barrier && ++barriers % 2 == 0) start_points_.push_back(i + 1);
    }
    blocks_left_ = std::max(workload.total_blocks, workload.blocks);
    for (int b = 0; b < workload.blocks; ++b) start_block(launch_interval * workload.warps_per_block * b);
  }

  /// Runs until a warp has completed `trips` trips, or all warps are done.
  void run(std::int64_t trips) {
    while (max_trips_ < trips) {
      std::size_t first = 0;
      double earliest = schedulers_[0].next();
      for (std::size_t s = 1; s < schedulers; ++s) {
        const double next = schedulers_[s].next();
        first = next < earliest ? s : first;
        earliest = std::min(next, earliest);
      }
      if (earliest == never) break;
      issue(first);
      schedulers_[first].choose(warps_);
    }
  }
  void set_trip_count(std::int64_t trips) { trip_count_ = trips; }
  /// The most trips that any warp has completed.
  [[nodiscard]] std::int64_t max_trips() const { return max_trips_; }

  [[nodiscard]] Usage usage() const {
    Usage usage{.cycles = std::max(end_, load_store_.drain_time()),
                .issued = issued_.instructions,
                .fma = issued_.fma,
                .alu = issued_.alu,
                .fp64 = issued_.fp64,
                .special = issued_.special,
                .tensor = issued_.tensor,
                .banks = issued_.banks,
                .barrier = barrier_busy_};
    load_store_.count(usage);
    return usage;
  }

 private:
  /// Starts the next block of the grid. Its warps go to the schedulers round robin, continuing from the last
  /// block.
  void start_block(double t) {
    --blocks_left_;
    // One distributor serves all SMs: this SM's blocks may start in bursts, up to its share in the long run.
    t = std::max(t, next_start_);
    next_start_ = std::max(next_start_, t - m_.start_cycles * workload_.blocks) + m_.start_cycles;
    const int number = static_cast<int>(blocks_.size());
    blocks_.emplace_back().groups.resize(static_cast<std::size_t>(t_.barrier_groups));
    blocks_.back().first_warp = warps_.size();
    std::size_t set_line = 0;
    if (t_.set_bytes > 0) {  // a wave of blocks is distributed over the SMs in random order
      const auto sms = static_cast<std::size_t>(workload_.sm_count);
      set_line = (static_cast<std::size_t>(number) * sms + random_() % sms) *
                 (t_.set_bytes / static_cast<std::size_t>(fact("line_bytes")));
    }
    warps_to_start_ += workload_.working_share * working_;
    const int started = static_cast<int>(warps_to_start_ + 1e-9);
    warps_to_start_ -= started;
    for (int w = 0; w < workload_.warps_per_block; ++w, ++slot_) {
      if (w >= started) continue;
      Warp warp;
      warp.block = number;
      warp.index = w;
      warp.group = static_cast<std::size_t>(w * t_.barrier_groups / std::max(started, 1));
      warp.set_line = set_line;
      warp.is_done = trip_count_ == 0;
      if (t_.uneven && !start_points_.empty()) warp.pc = start_points_[random_() % start_points_.size()];
      warp.start = warp.pc;
      warp.pipe = program_.loop[warp.pc].pipe;
      ++blocks_.back().groups[warp.group].alive;
      warp.ready = t + launch_interval * w + 2 * launch_interval * random_.uniform();
      for (int c = 0; c < t_.copies_ahead; ++c) warp.copies.push_back(load_store_.copy(warp.ready));
      schedulers_[static_cast<std::size_t>(slot_) % schedulers].add(static_cast<int>(warps_.size()));
      warp.update(program_);
      warps_.push_back(std::move(warp));
      ++blocks_.back().alive;
      ++blocks_.back().warps;
    }
    for (Scheduler& s : schedulers_) s.choose(warps_);
    if (blocks_.back().alive == 0 && blocks_left_ > 0)  // all of its warps skip the work
      start_block(t + m_.turnover_cycles);
  }

  void issue(std::size_t scheduler) {
    Scheduler& s = schedulers_[scheduler];
    Warp& w = warps_[s.chosen_warp()];
    const Instruction& i = program_.loop[w.pc];
    double t = s.issue(warps_);
    switch (i.pipe) {
      case Pipe::global_load:
      case Pipe::global_store:
      case Pipe::shared_load:
      case Pipe::shared_store:
      case Pipe::local_load:
      case Pipe::local_store:
      case Pipe::async_load:
        load_store_.access(w, i, s.compute_address(t, load_store_.address_cycles()));
        s.dequeue_memory(load_store_.free_at());
        break;
      case Pipe::bulk_load:
      case Pipe::shared_unit:
      case Pipe::commit_copies:
      case Pipe::wait_copies:
      case Pipe::wait_stage:
        load_store_.execute(w, i, t);
        break;
      case Pipe::barrier:
        if (i.in_register)  // the address unit reads the register
          t = s.compute_address(t, load_store_.address_cycles()) + load_store_.address_cycles();
        arrive_at_barrier(w, i, t);
        break;
      default:
        s.execute(w, i, t);
    }
    if (++w.pc == program_.loop.size()) w.pc = 0;
    w.pipe = program_.loop[w.pc].pipe;
    if (const std::int32_t line = program_.loop[w.pc].line; line != i.line) {
      w.fetched = instruction_cache_.fetch(scheduler, line, t);
      instruction_cache_.fetch(scheduler, line + 1, t);
    }
    if (w.pc == w.start) {
      max_trips_ = std::max(max_trips_, ++w.trips);
      w.is_done = w.trips == trip_count_;
    }
    const bool is_done = w.is_done;
    w.update(program_);
    if (is_done) retire(w, t);  // may reallocate warps_
  }

  void arrive_at_barrier(Warp& w, const Instruction& i, double t) {
    BarrierGroup& group = blocks_[static_cast<std::size_t>(w.block)].groups[w.group];
    w.at_barrier = true;
    ++group.waiting;
    group.release_cycles = m_.release_cycles + (i.in_register ? m_.register_release_cycles : 0);
    barrier_free_at_ = std::max(barrier_free_at_, t) + m_.arrival_cycles;
    barrier_busy_ += m_.arrival_cycles;
    release_barrier(w.block, w.group, t);
  }

  /// Releases a barrier group if all of its warps have arrived.
  void release_barrier(int number, std::size_t group_index, double t) {
    Block& block = blocks_[static_cast<std::size_t>(number)];
    BarrierGroup& group = block.groups[group_index];
    if (group.waiting < group.alive || group.waiting == 0) return;
    group.waiting = 0;
    barrier_free_at_ = std::max(barrier_free_at_, t) + group.release_cycles;
    barrier_busy_ += group.release_cycles;
    load_store_.occupy(t, fact("barrier_lsu_cycles"));
    const double released_at = std::max(t + m_.barrier_cycles, barrier_free_at_);
    for (std::size_t i = block.first_warp; i < block.first_warp + block.warps; ++i)
      if (Warp& warp = warps_[i]; warp.group == group_index && warp.at_barrier) {
        warp.at_barrier = false;
        warp.ready = std::max(warp.ready, released_at);
        warp.update(program_);
      }
    for (Scheduler& s : schedulers_) s.choose(warps_);
  }

  /// Retires a warp and, with its last warp, the block.
  void retire(const Warp& w, double t) {
    double end = std::max(w.ready, t + 1);
    for (const double released_at : w.scoreboards) end = std::max(end, released_at);
    end = std::max(end, load_store_.store_epilogue(t));
    end_ = std::max(end_, end);
    const int number = w.block;
    Block& block = blocks_[static_cast<std::size_t>(number)];
    --block.groups[w.group].alive;
    if (--block.alive > 0) return release_barrier(number, w.group, t);
    for (Scheduler& s : schedulers_)
      s.remove_if([&](int i) { return warps_[static_cast<std::size_t>(i)].block == number; });
    if (blocks_left_ > 0) start_block(end + m_.turnover_cycles);
  }

  const Program& program_;
  const Machine& m_;
  const Traffic& t_;
  std::int64_t trip_count_;
  std::int64_t max_trips_ = 0;
  SmWorkload workload_;
  int working_ = 0;            ///< warps of a block that run the loop
  int blocks_left_ = 0;        ///< not started
  int slot_ = 0;               ///< of the next warp, over all schedulers
  double warps_to_start_ = 0;  ///< fraction of a working warp carried over to the next block
  Random random_{1 + static_cast<std::uint64_t>(workload_.sm)};
  Issued issued_;
  std::array<Scheduler, schedulers> schedulers_{Scheduler{program_, m_, issued_},
                                                {program_, m_, issued_},
                                                {program_, m_, issued_},
                                                {program_, m_, issued_}};
  LoadStore load_store_{program_, m_, t_, workload_, random_};
  InstructionCache instruction_cache_{program_.code_lines()};
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> start_points_;  ///< instructions at which warps of uneven loops may start
  double next_start_ = 0;                  ///< earliest start of the next block
  double barrier_free_at_ = 0;             ///< when the barrier unit is free
  double barrier_busy_ = 0;                ///< cycles
  double end_ = 0;
};

/// A simulation that can be continued with more trips.
struct Checkpoint {
  std::optional<Sm> sm;
  /// State before the last trip, which does not depend on the number of trips. Its members refer to those of
  /// `sm`, so it only runs when copied there.
  std::optional<Sm> saved;
};

}  // namespace

Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic,
               const SmWorkload& workload, std::int64_t trips) {
  return simulation(program, machine, traffic, workload)(trips);
}

std::function<Usage(std::int64_t)> simulation(const Program& program, const Machine& machine,
                                              const Traffic& traffic, const SmWorkload& workload) {
  return [&program, &machine, &traffic, workload,
          checkpoint = std::make_shared<Checkpoint>()](std::int64_t trips) {
    std::optional<Sm>&sm = checkpoint->sm, &saved = checkpoint->saved;
    if (saved && saved->max_trips() < trips)
      sm.emplace(*saved).set_trip_count(trips);
    else
      sm.emplace(program, machine, traffic, workload, trips);
    sm->run(trips - 1);
    saved.emplace(*sm);
    sm->run(std::numeric_limits<std::int64_t>::max());
    return sm->usage();
  };
}

}  // namespace occbench::theory
