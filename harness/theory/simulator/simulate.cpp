// SPDX-License-Identifier: Apache-2.0
// The SM: blocks and their warps come, meet at barriers and go. How warps are chosen is scheduler.cpp's, what
// their accesses meet load_store.cpp's.
#include "harness/theory/simulator/simulate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/theory/simulator/code.hpp"
#include "harness/theory/simulator/load_store.hpp"
#include "harness/theory/simulator/random.hpp"
#include "harness/theory/simulator/scheduler.hpp"
#include "harness/theory/simulator/warp.hpp"

namespace occbench::theory {

namespace {

constexpr auto schedulers = static_cast<std::size_t>(fact("schedulers"));
constexpr double launch_interval = fact("warp_launch_interval");

/// Warps that meet at a barrier.
struct Group {
  int waiting = 0;
  int alive = 0;
  double release_cycles = 0;  ///< of the barrier unit
};
struct Block {
  std::size_t first_warp = 0;  ///< of those that work, one after the other
  std::size_t warps = 0;
  std::vector<Group> groups;
  int alive = 0;
};

class Sm {
 public:
  Sm(const Program& program, const Machine& m, const Traffic& t, const SmWorkload& workload,
     std::int64_t trips)
      : program_(program), m_(m), t_(t), trip_count_(trips), workload_(workload) {
    working_ = workload.working_warps > 0 ? workload.working_warps : workload.warps_per_block;
    if (t.uneven) {  // behind every second barrier: values are exchanged between one and the next
      int met = 0;
      for (std::size_t i = 0; i + 1 < program.loop.size(); ++i)
        if (program.loop[i].pipe == Pipe::barrier && ++met % 2 == 0) meetings_.push_back(i + 1);
    }
    waiting_ = std::max(workload.total_blocks, workload.blocks);
    for (int b = 0; b < workload.blocks; ++b) enter(launch_interval * workload.warps_per_block * b);
  }

  /// Goes on until a warp has made so many trips, or all have ended.
  void run(std::int64_t trips) {
    while (most_trips_ < trips) {
      std::size_t first = 0;
      double least = schedulers_[0].next();
      for (std::size_t s = 1; s < schedulers; ++s) {
        const double next = schedulers_[s].next();
        first = next < least ? s : first;
        least = std::min(next, least);
      }
      if (least == never) break;
      issue(first);
      schedulers_[first].choose(warps_);
    }
  }
  void set_trip_count(std::int64_t trips) { trip_count_ = trips; }
  /// Most trips that a warp has made.
  [[nodiscard]] std::int64_t most_trips() const { return most_trips_; }

  [[nodiscard]] Usage usage() const {
    Usage usage{.cycles = std::max(end_, load_store_.drained()),
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
  /// The next block of the grid begins: its warps are dealt to the schedulers where the last block's ended.
  void enter(double t) {
    --waiting_;
    // One distributor serves all SMs: this one's blocks may begin at once that others' leave room for, but no
    // more in the long run than its share.
    t = std::max(t, next_start_);
    next_start_ = std::max(next_start_, t - m_.start_cycles * workload_.blocks) + m_.start_cycles;
    const int number = static_cast<int>(blocks_.size());
    blocks_.emplace_back().groups.resize(static_cast<std::size_t>(t_.barrier_groups));
    blocks_.back().first_warp = warps_.size();
    std::size_t set_line = 0;
    if (t_.set_bytes > 0) {  // blocks are dealt to the SMs a wave at a time, in whatever order
      const auto sms = static_cast<std::size_t>(workload_.sm_count);
      set_line = (static_cast<std::size_t>(number) * sms + random_() % sms) *
                 (t_.set_bytes / static_cast<std::size_t>(fact("line_bytes")));
    }
    due_ += workload_.working_share * working_;
    const int at_work = static_cast<int>(due_ + 1e-9);
    due_ -= at_work;
    for (int w = 0; w < workload_.warps_per_block; ++w, ++slot_) {
      if (w >= at_work) continue;
      Warp warp;
      warp.block = number;
      warp.place = w;
      warp.group = static_cast<std::size_t>(w * t_.barrier_groups / std::max(at_work, 1));
      warp.set_line = set_line;
      warp.over = trip_count_ == 0;
      if (t_.uneven && !meetings_.empty()) warp.at = meetings_[random_() % meetings_.size()];
      warp.start = warp.at;
      warp.pipe = program_.loop[warp.at].pipe;
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
    if (blocks_.back().alive == 0) {  // all of its warps went past the work
      if (waiting_ > 0) enter(t + m_.turnover_cycles);
    }
  }

  void issue(std::size_t scheduler) {
    Scheduler& s = schedulers_[scheduler];
    Warp& w = warps_[s.chosen()];
    const Instruction& i = program_.loop[w.at];
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
        s.taken_in(load_store_.free());
        break;
      case Pipe::bulk_load:
      case Pipe::shared_unit:
      case Pipe::commit_copies:
      case Pipe::wait_copies:
      case Pipe::wait_stage:
        load_store_.execute(w, i, t);
        break;
      case Pipe::barrier:
        if (i.in_register)  // it is read where an access reads its address
          t = s.compute_address(t, load_store_.address_cycles()) + load_store_.address_cycles();
        arrive(w, i, t);
        break;
      default:
        s.execute(w, i, t);
    }
    if (++w.at == program_.loop.size()) w.at = 0;
    w.pipe = program_.loop[w.at].pipe;
    if (const std::int32_t line = program_.loop[w.at].line; line != i.line) {
      w.fetched = code_.fetch(scheduler, line, t);
      code_.fetch(scheduler, line + 1, t);
    }
    if (w.at == w.start) {
      most_trips_ = std::max(most_trips_, ++w.trips);
      w.over = w.trips == trip_count_;
    }
    const bool over = w.over;
    w.update(program_);
    if (over) leave(w, t);  // which may move the warps
  }

  void arrive(Warp& w, const Instruction& i, double t) {
    Group& group = blocks_[static_cast<std::size_t>(w.block)].groups[w.group];
    w.waits = true;
    ++group.waiting;
    group.release_cycles = m_.release_cycles + (i.in_register ? m_.register_release_cycles : 0);
    barrier_ = std::max(barrier_, t) + m_.arrival_cycles;
    barrier_busy_ += m_.arrival_cycles;
    release(w.block, w.group, t);
  }

  void release(int number, std::size_t which, double t) {
    Block& block = blocks_[static_cast<std::size_t>(number)];
    Group& group = block.groups[which];
    if (group.waiting < group.alive || group.waiting == 0) return;
    group.waiting = 0;
    barrier_ = std::max(barrier_, t) + group.release_cycles;
    barrier_busy_ += group.release_cycles;
    load_store_.occupy(t, fact("barrier_lsu_cycles"));
    const double open = std::max(t + m_.barrier_cycles, barrier_);
    for (std::size_t i = block.first_warp; i < block.first_warp + block.warps; ++i)
      if (Warp& other = warps_[i]; other.group == which && other.waits) {
        other.waits = false;
        other.ready = std::max(other.ready, open);
        other.update(program_);
      }
    for (Scheduler& s : schedulers_) s.choose(warps_);
  }

  void leave(const Warp& w, double t) {
    double end = std::max(w.ready, t + 1);
    for (const double free : w.free) end = std::max(end, free);
    end = std::max(end, load_store_.store_once(t));
    end_ = std::max(end_, end);
    const int number = w.block;
    Block& block = blocks_[static_cast<std::size_t>(number)];
    --block.groups[w.group].alive;
    if (--block.alive > 0) return release(number, w.group, t);
    for (Scheduler& s : schedulers_)
      s.remove_if([&](int i) { return warps_[static_cast<std::size_t>(i)].block == number; });
    if (waiting_ > 0) enter(end + m_.turnover_cycles);
  }

  const Program& program_;
  const Machine& m_;
  const Traffic& t_;
  std::int64_t trip_count_;
  std::int64_t most_trips_ = 0;
  SmWorkload workload_;
  int working_ = 0;  ///< warps of a block
  int waiting_ = 0;  ///< blocks
  int slot_ = 0;     ///< of the next warp
  double due_ = 0;   ///< warps that should be at work
  Random random_{1 + static_cast<std::uint64_t>(workload_.sm)};
  Issued issued_;
  std::array<Scheduler, schedulers> schedulers_{Scheduler{program_, m_, issued_},
                                                {program_, m_, issued_},
                                                {program_, m_, issued_},
                                                {program_, m_, issued_}};
  LoadStore load_store_{program_, m_, t_, workload_, random_};
  Code code_{program_.code_lines()};
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> meetings_;
  double next_start_ = 0;    ///< of a block, at the earliest
  double barrier_ = 0;       ///< when the SM's barrier unit is free
  double barrier_busy_ = 0;  ///< cycles
  double end_ = 0;
};

/// An SM, and how it was before anything depended on how many trips its warps are to make.
struct Longer {
  std::optional<Sm> sm;
  /// Its parts refer to those of `sm`: it goes on only as a copy in that place.
  std::optional<Sm> before;
};

}  // namespace

Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic,
               const SmWorkload& workload, std::int64_t trips) {
  return simulation(program, machine, traffic, workload)(trips);
}

std::function<Usage(std::int64_t)> simulation(const Program& program, const Machine& machine,
                                              const Traffic& traffic, const SmWorkload& workload) {
  return [&program, &machine, &traffic, workload, kept = std::make_shared<Longer>()](std::int64_t trips) {
    std::optional<Sm>&sm = kept->sm, &before = kept->before;
    if (before && before->most_trips() < trips)
      sm.emplace(*before).set_trip_count(trips);
    else
      sm.emplace(program, machine, traffic, workload, trips);
    sm->run(trips - 1);
    before.emplace(*sm);
    sm->run(std::numeric_limits<std::int64_t>::max());
    return sm->usage();
  };
}

}  // namespace occbench::theory
