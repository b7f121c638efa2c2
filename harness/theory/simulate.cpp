// SPDX-License-Identifier: Apache-2.0
// How an SM runs warps, as published and as this suite measures it:
// - Each of four schedulers issues an instruction a cycle, of the warp that issued last if that can go on, otherwise of
//   the oldest that can (greedy then oldest: Rogers et al. 2012; Huerta et al. 2025, 5.1). A warp may issue when the
//   stall count of its last instruction is over and the scoreboards that this one waits for are free: both are in the
//   machine code.
// - A pipe takes one warp instruction per so many cycles. Two register banks deliver one register each a cycle; the
//   operand cache spares the reads that the compiler marked, unless another warp issued in between. An instruction that
//   cannot read all of its operands in two cycles holds its scheduler up, stall counts and all.
// - Memory instructions go through the scheduler's address unit and the SM's one load/store unit, all kinds in one line:
//   a store that memory cannot take yet holds up what comes after it. A store takes the unit as long as its way to the L2
//   is wide (on an H200 128 bytes two cycles, 512 eight, told by the reads of shared memory that they displace), and a
//   barrier that is complete one cycle (ncu counts it among the wavefronts). What misses goes on to memory.cpp's L2 and
//   DRAM, whose channels have queues: loaded latency comes out, it does not go in. How much misses the traffic says;
//   where blocks sweep sets of their own that overflow the L1, and where every turn loads the same lines again, lines.cpp
//   says it line by line. A load that finds no room in the L1 for what it asks for holds up what comes after it, too.
#include "harness/theory/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "harness/theory/code.hpp"
#include "harness/theory/lines.hpp"
#include "harness/theory/memory.hpp"

namespace occbench::theory {

namespace {

constexpr int schedulers = 4;
constexpr double never = std::numeric_limits<double>::infinity();
// Memory instructions of a scheduler that may wait for the load/store unit (Huerta et al. 2025). Its address unit takes one
// every four cycles: the four together deliver as fast as shared memory answers.
constexpr std::size_t memory_queue = 5;
// The load/store unit takes an address unit's next pass in the second cycle after one (Huerta et al. 2025); passes of
// others come between.
constexpr double pass_interval = 2;
constexpr double register_bytes = 4;  // of a lane, that come back in a cycle
constexpr double constant_latency = 24;
constexpr double special_latency = 17;  // of rsqrt, ex2 and lg2 alike, in a chain of them on an H200
// Cycles in which an instruction reads its operands; what these do not suffice for delays it. Huerta et al. 2025 find
// three on another chip; on an H200 two warps that need two registers of a bank each take five cycles, as with two.
constexpr double bank_window = 2;
constexpr double launch_interval = 4;  // cycles from one warp of a block to the next
constexpr std::size_t line_bytes = 128;

struct Warp {
  double next = 0;    ///< when its next instruction may issue, as far as the warp itself goes
  double issued = 0;  ///< when its last one did
  int block = 0;
  Pipe pipe = Pipe::none;  ///< of its next instruction
  int place = 0;           ///< in the block
  std::size_t group = 0;   ///< of the block
  std::size_t start = 0;   ///< instruction at which its turns begin
  std::size_t at = 0;      ///< instruction
  std::int64_t turns = 0;
  std::size_t loads = 0;            ///< of the block's own set
  double ready = 0;                 ///< for its next instruction, as far as the last one's stall count goes
  double fetched = 0;               ///< when its next instruction is there
  std::array<double, 6> free{};     ///< when each scoreboard will be
  bool waits = false;               ///< at a barrier
  std::vector<double> copies = {};  ///< ends of those under way, oldest first
  double group_end = 0;             ///< of the cp.async not yet in a group
  double group_of_mma_end = 0;      ///< of the wgmma since the last wait
  std::vector<double> groups = {};  ///< of wgmma under way
};

/// Warps that meet at a barrier.
struct Group {
  int waiting = 0;
  int alive = 0;
  double release_cycles = 0;  ///< of the barrier unit
};
struct Block {
  std::vector<Group> groups;
  int alive = 0;
  std::size_t first_line = 0;  ///< of its own set
};

struct Scheduler {
  std::vector<int> warps;  ///< oldest first
  int last = -1;
  double free = 0;
  double fma[2] = {0, 0};
  double bank[2] = {0, 0};  ///< when each register bank has delivered
  double alu = 0, fp64 = 0, special = 0, uniform = 0, tensor = 0;
  double address = 0;  ///< when the unit that computes addresses takes its next instruction
  std::array<double, memory_queue>
      taken_in{};  ///< when the load/store unit is done with the last memory instructions
  std::size_t memory_instructions = 0;
  double next = 0;  ///< when it issues again, as far as is known
  int chosen = -1;
};

class Sm {
 public:
  Sm(const Program& program, const Machine& m, const Traffic& t, const Crew& crew, std::int64_t turns)
      : program_(program), m_(m), t_(t), turns_(turns), crew_(crew) {
    const int working = crew.working_warps > 0 ? crew.working_warps : crew.warps_per_block;
    working_ = working;
    if (t.uneven) {  // behind every second barrier: values are exchanged between one and the next
      int met = 0;
      for (std::size_t i = 0; i + 1 < program.loop.size(); ++i)
        if (program.loop[i].pipe == Pipe::barrier && ++met % 2 == 0) meetings_.push_back(i + 1);
    }
    address_cycles_ = std::round(schedulers * 128 / m.shared_bytes);
    deal_dram();
    place_same();
    find_runs();
    waiting_ = std::max(crew.total_blocks, crew.blocks);
    for (int b = 0; b < crew.blocks; ++b) enter(launch_interval * crew.warps_per_block * b);
  }

  Usage run() {
    while (true) {
      Scheduler* first = nullptr;
      for (Scheduler& s : schedulers_)
        if (first == nullptr || s.next < first->next) first = &s;
      if (first->next == never) break;
      issue(*first);
      choose(*first);
    }
    return usage_;
  }

 private:
  /// Which of the loop's loads bring new data is the same in every turn: as many of them as DRAM's share says, dealt
  /// evenly over those that are not of the same addresses every time, and what is left of one by chance.
  void deal_dram() {
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

  /// Whether an instruction loads lines that are followed from turn to turn.
  bool again(const Instruction& i) const { return t_.same_parts > 0 && i.same; }

  /// Lines that a load touches.
  std::size_t lines_of(const Instruction& load) const {
    return (static_cast<std::size_t>(load.bytes * t_.lanes) + line_bytes - 1) / line_bytes;
  }

  /// Where the loads that every turn makes of the same addresses lie: one after the other.
  void place_same() {
    same_line_.resize(program_.loop.size());
    std::size_t line = 0;
    for (std::size_t i = 0; i < program_.loop.size(); ++i) {
      if (!again(program_.loop[i])) continue;
      same_line_[i] = line;
      line += lines_of(program_.loop[i]) * static_cast<std::size_t>(t_.same_parts);
    }
  }

  /// Which of the loop's loads follow each other through memory.
  void find_runs() {
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

  /// The next block of the grid begins: its warps are dealt to the schedulers where the last block's ended.
  void enter(double t) {
    --waiting_;
    const int number = static_cast<int>(blocks_.size());
    blocks_.emplace_back().groups.resize(static_cast<std::size_t>(t_.barrier_groups));
    if (t_.set_bytes > 0) {  // blocks are dealt to the SMs a wave at a time, in whatever order
      const auto sms = static_cast<std::size_t>(crew_.sm_count);
      blocks_.back().first_line =
          (static_cast<std::size_t>(number) * sms + random_() % sms) * (t_.set_bytes / line_bytes);
    }
    due_ += crew_.working_share * working_;
    const int at_work = static_cast<int>(due_ + 1e-9);
    due_ -= at_work;
    for (int w = 0; w < crew_.warps_per_block; ++w, ++slot_) {
      if (w >= at_work) continue;
      Warp warp;
      warp.block = number;
      warp.place = w;
      warp.group = static_cast<std::size_t>(w * t_.barrier_groups / std::max(at_work, 1));
      if (t_.uneven && !meetings_.empty()) warp.at = meetings_[random_() % meetings_.size()];
      warp.start = warp.at;
      warp.pipe = program_.loop[warp.at].pipe;
      ++blocks_.back().groups[warp.group].alive;
      warp.ready = t + launch_interval * w + 2 * launch_interval * random_.uniform();
      for (int c = 0; c < t_.copies_ahead; ++c) warp.copies.push_back(memory_.copy(warp.ready));
      schedulers_[static_cast<std::size_t>(slot_ % schedulers)].warps.push_back(
          static_cast<int>(warps_.size()));
      warp.next = ready(warp);
      warps_.push_back(std::move(warp));
      ++blocks_.back().alive;
    }
    for (Scheduler& s : schedulers_) choose(s);
    if (blocks_.back().alive == 0) {  // all of its warps went past the work
      if (waiting_ > 0) enter(t + m_.turnover_cycles);
    }
  }

  /// A cycle of the clock, as all issues are: how two warps stand to each other stays as it is.
  static double whole(double t) { return std::floor(t + 0.5); }

  /// When the warp itself is ready for its next instruction: to be asked anew whenever it has moved on.
  double ready(const Warp& w) const {
    if (w.waits || w.turns == turns_) return never;
    const Instruction& i = program_.loop[w.at];
    double t = std::max(w.ready, w.fetched);
    for (unsigned mask = i.wait, n = 0; mask != 0; mask >>= 1, ++n)
      if (mask & 1) t = std::max(t, w.free[n]);
    switch (i.pipe) {
      case Pipe::wait_copies:
        if (w.copies.size() > i.count) t = std::max(t, w.copies[w.copies.size() - 1 - i.count]);
        break;
      case Pipe::wait_stage:
        if (!w.copies.empty()) t = std::max(t, w.copies.front());
        break;
      case Pipe::wait_warpgroup:  // the wgmma since the last wait are one group
        if (i.count == 0)
          t = std::max(t, w.group_of_mma_end);
        else if (w.groups.size() >= i.count)
          t = std::max(t, w.groups[w.groups.size() - i.count]);
        break;
      default:
        break;
    }
    return whole(t);
  }

  /// When the scheduler and the SM have room for an instruction of this kind.
  double room(const Scheduler& s, Pipe pipe) const {
    switch (pipe) {
      case Pipe::fma:
        return m_.fma_halves > 1 ? std::min(s.fma[0], s.fma[1]) : s.fma[0];
      case Pipe::fma_heavy:
        return s.fma[0];
      case Pipe::alu:
        return s.alu;
      case Pipe::fp64:
        return s.fp64;
      case Pipe::special:
        return s.special;
      case Pipe::uniform:
        return s.uniform;
      case Pipe::tensor:
        return std::floor(s.tensor);  // whose interval need not be whole
      case Pipe::global_load:
      case Pipe::global_store:
      case Pipe::local_load:
      case Pipe::local_store:
      case Pipe::async_load:
      case Pipe::shared_load:
      case Pipe::shared_store:
        return s.taken_in[s.memory_instructions % memory_queue];
      default:
        return 0;
    }
  }

  /// When the scheduler may issue the warp's next instruction.
  double earliest(const Scheduler& s, const Warp& w) const {
    const double t = std::max(w.next, s.free);
    const double free = room(s, w.pipe);
    return free > t - 1 ? std::max(t, whole(free)) : t;
  }

  void choose(Scheduler& s) {
    s.next = never;
    s.chosen = -1;
    if (s.last >= 0 && earliest(s, warps_[static_cast<std::size_t>(s.last)]) == s.free) {
      s.next = s.free;  // nobody can be earlier, and it comes first
      s.chosen = s.last;
      return;
    }
    for (const int index : s.warps) {
      const Warp& w = warps_[static_cast<std::size_t>(index)];
      if (w.next > s.next || w.next == never) continue;
      const double t = earliest(s, w);
      if (t > s.next) continue;
      if (t == s.next && s.chosen >= 0) {
        const Warp& other = warps_[static_cast<std::size_t>(s.chosen)];
        if (s.chosen == s.last) continue;
        if (index != s.last &&
            (w.block > other.block || (w.block == other.block && w.issued >= other.issued)))
          continue;
      }
      s.next = t;
      s.chosen = index;
    }
  }

  void hold(Warp& w, std::int8_t scoreboard, double until) {
    if (scoreboard < 0) return;
    double& free = w.free[static_cast<std::size_t>(scoreboard)];
    free = std::max(free, until);
  }

  /// The load/store unit takes an instruction in that keeps it busy for so long; returns when it has.
  double take_in(double t, double cycles) {
    load_store_ = std::max(load_store_, t) + cycles;
    return load_store_;
  }

  double load(const Warp& w, double t, double bytes, double dram_share, double l2_share, double lines = 1) {
    const Run& run = runs_[w.at];
    std::uint64_t row =
        static_cast<std::uint64_t>(w.block) << 40 ^ static_cast<std::uint64_t>(w.turns) << 16 ^ run.first;
    if (t_.apart) row ^= static_cast<std::uint64_t>(w.place + 1) << 56;
    return memory_.load(
        {row, (t_.apart ? 0 : w.place * run.lines) + run.line, bytes, dram_share, l2_share, lines}, t);
  }

  /// The first line of the warp's next load of its block's own set, whose warps take turns.
  std::size_t next_of_set(Warp& w, std::size_t bytes) {
    const std::size_t turn =
        static_cast<std::size_t>(w.place) + w.loads++ * static_cast<std::size_t>(crew_.warps_per_block);
    return blocks_[static_cast<std::size_t>(w.block)].first_line + turn * bytes % t_.set_bytes / line_bytes;
  }

  /// When lines from `first` on are there that may be in the L1; what it lacks the L2 has.
  double look_up(const Warp& w, double t, std::size_t first, std::size_t count) {
    const double held = lines_.held(first, count, t);
    if (lines_.missed() == 0) return held;
    return std::max(held, lines_.ask(load(w, t, static_cast<double>(lines_.missed() * line_bytes), 0, 1)));
  }

  /// When a load from global memory is there that the load/store unit has taken in.
  double global_load(Warp& w, const Instruction& i, double t, double bytes) {
    const std::size_t count = lines_of(i);
    if (t_.set_bytes > 0) return look_up(w, t, next_of_set(w, static_cast<std::size_t>(bytes)), count);
    if (again(i)) {
      const auto part = static_cast<std::size_t>(w.place % t_.same_parts);
      return look_up(w, t, same_line_[w.at] + count * part, count);
    }
    const double from_dram = dram_share_[w.at];
    const double from_l2 = t_.load_dram < 1 ? (1 - from_dram) * t_.load_l2 / (1 - t_.load_dram) : 0;
    const double there = load(w, t, bytes, from_dram, from_l2, t_.lines);
    if (i.pipe != Pipe::global_load) return there;  // a copy to shared memory needs no room in the L1
    const double missed = from_dram + from_l2;
    lines_.streamed(missed * bytes);
    passing_ += missed * static_cast<double>(count);
    const auto whole_lines = static_cast<std::size_t>(passing_ + 1e-9);
    passing_ -= static_cast<double>(whole_lines);
    if (t_.same_parts > 0)
      lines_.pass_through_l1(whole_lines, there);
    else
      lines_.pass(whole_lines, there);
    return there;
  }

  void access(Warp& w, const Instruction& i, double t) {
    const double bytes = static_cast<double>(i.bytes) * t_.lanes;
    switch (i.pipe) {
      case Pipe::shared_load:
      case Pipe::shared_store: {
        const double busy = std::max(1.0, std::round(bytes / m_.shared_bytes)) *
                            (i.pipe == Pipe::shared_store ? t_.store_conflict : t_.bank_conflict);
        const double done = take_in(t, busy);
        usage_.shared += busy;
        hold(w, i.read, t + address_cycles_);  // with the operands read, however long the access then waits
        const double last = done - busy + pass_interval * (busy - std::min(busy, 1.0));
        hold(w, i.write,
             std::max(last, done - 1) + std::max(1.0, i.bytes / register_bytes) - 1 + m_.shared_latency);
        return;
      }
      case Pipe::local_load: {
        const double busy = std::max(1.0, bytes / m_.l1_bytes);
        const double done = take_in(t, busy);
        usage_.l1 += busy;
        hold(w, i.read, done);
        const double missed = 1 - t_.local_l1;
        hold(w, i.write, load(w, done, bytes, missed * (1 - t_.local_l2), missed * t_.local_l2));
        return;
      }
      case Pipe::local_store: {  // the L1 writes through
        const double busy = std::max(1.0, bytes / m_.port_bytes);
        const double done = take_in(std::max(t, memory_.takes_spilled()), busy);
        usage_.l1 += busy;
        hold(w, i.read, done);
        memory_.store_spilled(done, bytes);
        return;
      }
      case Pipe::global_store: {
        const double busy = std::max(1.0, bytes / m_.port_bytes);
        const double done = take_in(std::max(t, memory_.takes_stores()), busy);
        usage_.l1 += busy;
        hold(w, i.read, done);
        lines_.streamed(bytes);
        memory_.store(done, bytes);
        return;
      }
      default: {
        if (i.pipe == Pipe::global_load) t = lines_.room(t, lines_of(i));
        const double busy = std::max(1.0, bytes / m_.l1_bytes) * t_.lines;
        const double done = take_in(t, busy);
        usage_.l1 += busy;
        hold(w, i.read, done);
        const double there = global_load(w, i, done - 1, bytes);
        if (i.pipe == Pipe::async_load)
          w.group_end = std::max(w.group_end, there);
        else
          hold(w, i.write, there);
      }
    }
  }

  /// An instruction whose operands are late stops all behind it: no stall count goes on meanwhile.
  void hold_up(const Scheduler& s, double cycles) {
    for (const int index : s.warps) {
      Warp& w = warps_[static_cast<std::size_t>(index)];
      if (w.ready <= s.next) continue;
      w.ready += cycles;
      w.next = ready(w);
    }
  }

  void issue(Scheduler& s) {
    Warp& w = warps_[static_cast<std::size_t>(s.chosen)];
    const Instruction& i = program_.loop[w.at];
    const std::uint8_t* const reads = s.last == s.chosen ? i.reads : i.reads_alone;
    double t = s.next;
    for (const std::size_t bank : {0, 1})
      if (reads[bank] > 0) {
        const double cycles = reads[bank] * m_.bank_cycles;
        s.bank[bank] = std::max(s.bank[bank], s.next) + cycles;
        usage_.banks[bank] += cycles;
        t = std::max(t, s.bank[bank] - bank_window * m_.bank_cycles);
      }
    if (t > s.next) hold_up(s, t - s.next);
    s.free = t + 1;
    if (i.pipe != Pipe::none) s.last = s.chosen;  // what goes to no pipe leaves no trace
    ++usage_.issued;
    w.ready = t + std::max<double>(i.stall, 1);
    w.issued = t;
    switch (i.pipe) {
      case Pipe::fma: {
        double& half = m_.fma_halves > 1 && s.fma[1] < s.fma[0] ? s.fma[1] : s.fma[0];
        half = t + 2;
        usage_.fma += 2.0 / m_.fma_halves;
        break;
      }
      case Pipe::fma_heavy: {
        const double busy = i.wide ? 4 : 2;
        s.fma[0] = t + busy;
        usage_.fma += busy / m_.fma_halves;
        break;
      }
      case Pipe::alu:
        s.alu = t + m_.alu_cycles;
        usage_.alu += m_.alu_cycles;
        break;
      case Pipe::fp64:
        s.fp64 = t + m_.fp64_cycles;
        usage_.fp64 += m_.fp64_cycles;
        hold(w, i.write, t + 16 + m_.fp64_cycles);
        break;
      case Pipe::special:
        s.special = t + m_.special_cycles;
        usage_.special += m_.special_cycles;
        hold(w, i.write, t + special_latency);
        break;
      case Pipe::uniform:
        s.uniform = t + 2;
        hold(w, i.write, t + 12);
        break;
      case Pipe::tensor:
        s.tensor = std::max(s.tensor, t) + m_.mma_cycles;
        usage_.tensor += m_.mma_cycles;
        hold(w, i.write, t + 33);
        break;
      case Pipe::warpgroup: {
        const double busy = m_.warpgroup_cycles_per_column * i.count;
        s.tensor = std::max(s.tensor, t) + busy;
        usage_.tensor += busy;
        w.group_of_mma_end = s.tensor;
        break;
      }
      case Pipe::global_load:
      case Pipe::global_store:
      case Pipe::shared_load:
      case Pipe::shared_store:
      case Pipe::local_load:
      case Pipe::local_store:
      case Pipe::async_load:
        s.address = std::max(s.address, t) + address_cycles_;
        access(w, i, s.address - address_cycles_);
        s.taken_in[s.memory_instructions++ % memory_queue] = load_store_;
        break;
      case Pipe::bulk_load:
        w.copies.push_back(memory_.copy(t));
        hold(w, i.read, t + m_.shared_latency);
        break;
      case Pipe::shared_unit:
        hold(w, i.read, t + m_.shared_latency);
        hold(w, i.write, t + m_.shared_latency);
        break;
      case Pipe::commit_copies:
        w.copies.push_back(w.group_end);
        w.group_end = 0;
        break;
      case Pipe::wait_copies:
        if (w.copies.size() > i.count)
          w.copies.erase(w.copies.begin(), w.copies.end() - static_cast<std::ptrdiff_t>(i.count));
        break;
      case Pipe::wait_stage:
        if (!w.copies.empty()) w.copies.erase(w.copies.begin());
        hold(w, i.write, t + m_.shared_latency);
        break;
      case Pipe::wait_warpgroup:
        w.groups.push_back(w.group_of_mma_end);
        if (w.groups.size() > i.count)
          w.groups.erase(w.groups.begin(), w.groups.end() - static_cast<std::ptrdiff_t>(i.count));
        break;
      case Pipe::barrier:
        if (i.in_register)  // it is read where an access reads its address
          t = s.address = std::max(s.address, t) + address_cycles_;
        arrive(w, i, t);
        break;
      case Pipe::branch:
        if (i.taken) w.ready = t + std::max<double>(i.stall, m_.branch_cycles);
        break;
      case Pipe::other:
        hold(w, i.write, t + constant_latency);
        hold(w, i.read, t + 4);
        break;
      case Pipe::none:
        hold(w, i.write, t + 8);
        break;
    }
    if (++w.at == program_.loop.size()) w.at = 0;
    w.pipe = program_.loop[w.at].pipe;
    if (const std::int32_t line = program_.loop[w.at].line; line != i.line) {
      const auto scheduler = static_cast<std::size_t>(&s - schedulers_.data());
      w.fetched = code_.fetch(scheduler, line, t);
      code_.fetch(scheduler, line + 1, t);
    }
    const bool done = w.at == w.start && ++w.turns == turns_;
    w.next = ready(w);
    if (done) leave(w, t);  // which may move the warps
  }

  void arrive(Warp& w, const Instruction& i, double t) {
    Group& group = blocks_[static_cast<std::size_t>(w.block)].groups[w.group];
    w.waits = true;
    ++group.waiting;
    group.release_cycles = m_.release_cycles + (i.in_register ? m_.register_release_cycles : 0);
    barrier_ = std::max(barrier_, t) + m_.arrival_cycles;
    usage_.barrier += m_.arrival_cycles;
    release(w.block, w.group, t);
  }
  void release(int number, std::size_t which, double t) {
    Group& group = blocks_[static_cast<std::size_t>(number)].groups[which];
    if (group.waiting < group.alive || group.waiting == 0) return;
    group.waiting = 0;
    barrier_ = std::max(barrier_, t) + group.release_cycles;
    usage_.barrier += group.release_cycles;
    take_in(t, 1);
    const double open = std::max(t + m_.barrier_cycles, barrier_);
    for (Warp& other : warps_)
      if (other.block == number && other.group == which && other.waits) {
        other.waits = false;
        other.ready = std::max(other.ready, open);
        other.next = ready(other);
      }
    for (Scheduler& s : schedulers_) choose(s);
  }
  void leave(const Warp& w, double t) {
    double end = std::max(w.ready, t + 1);
    for (const double free : w.free) end = std::max(end, free);
    usage_.cycles = std::max(usage_.cycles, end);
    const int number = w.block;
    Block& block = blocks_[static_cast<std::size_t>(number)];
    --block.groups[w.group].alive;
    if (--block.alive > 0) return release(number, w.group, t);
    for (Scheduler& s : schedulers_)
      std::erase_if(s.warps, [&](int i) { return warps_[static_cast<std::size_t>(i)].block == number; });
    if (waiting_ > 0) enter(end + m_.turnover_cycles);
  }

  const Program& program_;
  const Machine& m_;
  const Traffic& t_;
  std::int64_t turns_;
  Crew crew_;
  int working_ = 0;  ///< warps of a block
  int waiting_ = 0;  ///< blocks
  int slot_ = 0;     ///< of the next warp
  double due_ = 0;   ///< warps that should be at work
  Random random_{1 + static_cast<std::uint64_t>(crew_.sm)};
  Usage usage_;
  Memory memory_{m_, t_, random_, usage_};
  std::array<Scheduler, schedulers> schedulers_;
  Code code_{program_.code_lines()};
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> meetings_;
  std::vector<double> dram_share_;  ///< of each global load of the loop
  /// Loads of the loop that a warp makes of memory without a gap.
  struct Run {
    std::size_t first = 0;  ///< instruction
    int line = 0;           ///< at which this load begins
    int lines = 1;          ///< of all of them
  };
  std::vector<Run> runs_;
  Lines lines_{m_, t_, crew_, random_};
  std::vector<std::size_t>
      same_line_;              ///< the first of each load that every turn makes of the same addresses
  double passing_ = 0;         ///< lines that missed, less the whole ones
  double address_cycles_ = 0;  ///< of a memory instruction
  double load_store_ = 0, barrier_ = 0;
};

}  // namespace

Usage simulate(const Program& program, const Machine& machine, const Traffic& traffic, const Crew& crew,
               std::int64_t turns) {
  return Sm(program, machine, traffic, crew, turns).run();
}

}  // namespace occbench::theory
