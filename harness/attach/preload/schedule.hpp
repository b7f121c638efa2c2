// SPDX-License-Identifier: Apache-2.0
// Draws the arm of each launch of a signature: seeded permuted blocks until each arm's median is precise
// enough, within a budget. Independent of the driver.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

struct Plan {
  std::uint64_t seed = 1;
  double precision = 0.005;  ///< of an arm's median: half its confidence interval, relative
  int warm_up = 3;           ///< first launches of a signature, not counted
  std::size_t max_samples = 256;

  /// For one kernel of a CUDA graph: its times are those of the graph, which is already warm.
  void scale_to_graph() {
    precision *= in_graph_scale;
    warm_up = 1;
  }
};

/// What fewer warps and timing have cost the program so far, and may still cost.
class Budget {
 public:
  /// `timing_us`: cost of timing one launch.
  explicit Budget(double share, double timing_us = 0) : share_(share), timing_us_(timing_us) {}
  [[nodiscard]] double timing_us() const { return timing_us_; }
  void set_timing_us(double us) { timing_us_ = us; }
  void add_run(double natural_us) { total_us_ += natural_us; }
  /// Reserves the expected cost of a launch; false if it exceeds what is left. A refused signature is next:
  /// others leave its claim untouched, or many cheap ones would starve an expensive one.
  bool reserve(double extra_us, const void* who) {
    if (who == next_) claimed_us_ = 0;
    if (extra_us > 0 && reserved_us_ + spent_us_ + claimed_us_ + extra_us > share_ * total_us_) {
      if (claimed_us_ > 0 && ++refusals_ < max_refusals) return false;
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
  static constexpr int max_refusals = 1000;  // by others before the claim is dropped

  double share_, timing_us_;
  const void* next_ = nullptr;
  double claimed_us_ = 0;
  int refusals_ = 0;  ///< of others since that claim
  double total_us_ = 0, spent_us_ = 0, reserved_us_ = 0;
};

/// The arms of one signature.
class Schedule {
 public:
  /// `warps[a]`: share of the natural warps of arm `a`; 1 for untouched and pinned.
  Schedule(const Plan& plan, std::uint64_t signature_hash, std::vector<double> warps);
  /// The arms are capped versions: pinned is never drawn, and an arm's cost is learned from its launches.
  void use_versions();
  /// Only `share` of the measured time has fewer warps; an arm's cost is learned from its launches.
  void use_share(double share);
  /// Adds arms, each on this share of the SMs; their cost is learned from their launches.
  void add_sm_shares(const std::vector<double>& shares);
  /// Never draws this arm again.
  void close(int arm);

  struct Draw {
    int arm = untouched;
    bool of_block = false;
    bool is_warm_up = false;
    double reserved_us = 0;
  };
  /// Draws for the next launch. A block has each unfinished arm once; if the budget cannot pay for the arm
  /// that is due, the launch stays natural and the arm stays due.
  Draw next(Budget& budget);
  /// The launch with this draw failed: the arm is due again, or closed for good with `never`.
  void refuse(const Draw& draw, Budget& budget, bool never);
  void add_time(const Draw& draw, double time_us, Budget& budget);
  /// Times come from another clock from now on: restarts all arms except those closed for good.
  void restart();
  /// Whether sampling has stopped because launches are of several kinds.
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
  std::vector<int> due_;      ///< the last is next
  std::vector<int> refused_;  ///< arms that are closed for good
  int seen_ = 0;
  bool has_kinds_ = false;
  double share_ = 1;  ///< of the time; estimates an arm's cost before its first launch
  bool learns_cost_ = false;
  double natural_us_ = 0;  ///< recency-weighted mean of untouched launches
};

}  // namespace occbench::attach
