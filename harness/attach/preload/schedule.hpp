// SPDX-License-Identifier: Apache-2.0
// Draws the arm of each launch of a signature: seeded permuted blocks, until each arm's median is precise
// enough, within a budget. Knows no driver.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

struct Plan {
  std::uint64_t seed = 1;
  double precision = 0.005;  ///< of an arm's median, half the width of its interval, relative
  int warm_up = 3;           ///< first launches of a signature, which are not counted
  std::size_t most_samples = 256;

  /// For one kernel of a CUDA graph, whose times are those of the graph, which has been warmed up.
  void in_graph() {
    precision *= in_graph_scale;
    warm_up = 1;
  }
};

/// What fewer warps and timing have cost the program so far, and may cost.
class Budget {
 public:
  /// `timing_us`: what timing one launch costs.
  explicit Budget(double share, double timing_us = 0) : share_(share), timing_us_(timing_us) {}
  [[nodiscard]] double timing_us() const { return timing_us_; }
  void set_timing_us(double us) { timing_us_ = us; }
  void add_run(double natural_us) { total_us_ += natural_us; }
  /// Reserves what a launch will probably cost; false where that is more than is left. A refused signature
  /// comes next: others leave it what it asked for, or many cheap ones would starve an expensive one.
  bool reserve(double extra_us, const void* who) {
    if (who == next_) claimed_us_ = 0;
    if (extra_us > 0 && reserved_us_ + spent_us_ + claimed_us_ + extra_us > share_ * total_us_) {
      if (claimed_us_ > 0 && ++refusals_ < most_refusals) return false;
      next_ = who;
      claimed_us_ = extra_us;
      refusals_ = 0;
      return false;
    }
    reserved_us_ += extra_us;
    return true;
  }
  void spend(double reserved_us, double extra_us) {
    reserved_us_ -= reserved_us;
    spent_us_ += extra_us;
  }

 private:
  static constexpr int most_refusals = 1000;  // of others: then it may not come again

  double share_, timing_us_;
  const void* next_ = nullptr;
  double claimed_us_ = 0;
  int refusals_ = 0;  ///< of others, since that claim
  double total_us_ = 0, spent_us_ = 0, reserved_us_ = 0;
};

/// The arms of one signature.
class Schedule {
 public:
  /// `warps[a]`: share of the natural warps that arm `a` has; untouched and pinned have 1.
  Schedule(const Plan& plan, std::uint64_t signature_hash, std::vector<double> warps);
  /// The arms are capped versions: pinned is never drawn, and an arm's cost is learned from its launches.
  void use_versions();
  /// The times are of a whole of which `share` has the warps; an arm's cost is learned from its launches.
  void use_share(double share);
  /// Arms behind the others, each on this share of the SMs; an arm's cost is learned from its launches.
  void add_sm_shares(const std::vector<double>& shares);
  /// Draws this arm never.
  void close(int arm);

  struct Draw {
    int arm = untouched;
    bool of_block = false;
    bool is_warm_up = false;
    double reserved_us = 0;
  };
  /// Draws for the next launch. Within a block each arm that is not known yet comes once; where the budget
  /// has no room for the arm that is due, the launch stays natural and the arm stays due.
  Draw next(Budget& budget);
  /// The draw could not be launched: the arm is due again. With `never`, it is closed for good.
  void refuse(const Draw& draw, Budget& budget, bool never);
  void add_time(const Draw& draw, double time_us, Budget& budget);
  /// Times are from another clock from here on: begins anew, but for arms that are closed for good.
  void restart();
  /// Whether its launches are of several kinds, so that sampling has stopped.
  [[nodiscard]] bool has_kinds() const { return has_kinds_; }
  /// Whether no arm needs more samples.
  [[nodiscard]] bool is_known() const;
  [[nodiscard]] double natural_us() const { return natural_us_; }

 private:
  struct Arm {
    double warps = 1;
    bool is_open = true;
    bool learns_cost = false;
    std::size_t checked_at = 0;  ///< samples
    std::vector<double> times;
  };
  void refill();
  std::uint64_t random();

  Plan plan_;
  std::uint64_t state_;
  std::vector<Arm> arms_;
  std::vector<int> due_;      ///< the last comes next
  std::vector<int> refused_;  ///< arms that are closed for good
  int seen_ = 0;
  bool has_kinds_ = false;
  double share_ = 1;  ///< of the time, to estimate an arm's cost before its first launch
  bool learns_cost_ = false;
  double natural_us_ = 0;  ///< mean of untouched launches, weighted to the latest
};

}  // namespace occbench::attach
