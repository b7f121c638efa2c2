// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/schedule.hpp"

#include <algorithm>
#include <utility>

#include "harness/attach/protocol/kinds.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t kinds_after = 16;  // untouched launches before the kinds are checked
constexpr double checks_apart = 1.3;     // growth factor of the sample between checks
constexpr double weight_of_latest = 1 / 16.0;

}  // namespace

Schedule::Schedule(const Plan& plan, std::uint64_t signature_hash, std::vector<double> warps)
    : plan_(plan), state_(plan.seed * 0x9e3779b97f4a7c15 ^ signature_hash) {
  for (const double share : warps) arms_.push_back({.warps = share});
}

void Schedule::use_versions() {
  learns_cost_ = true;
  arms_[pinned].is_open = false;
}

void Schedule::use_share(double share) {
  learns_cost_ = true;
  share_ = share;
}

void Schedule::add_sm_shares(const std::vector<double>& shares) {
  for (const double share : shares) arms_.push_back({.warps = share, .learns_cost = true});
}

void Schedule::close(int arm) {
  arms_[static_cast<std::size_t>(arm)].is_open = false;
  refused_.push_back(arm);
  std::erase(due_, arm);
}

std::uint64_t Schedule::random() {  // SplitMix64
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

bool Schedule::is_known() const { return std::ranges::none_of(arms_, &Arm::is_open); }

void Schedule::refill() {
  // Natural arms are drawn while any other arm is open, for comparison.
  for (std::size_t a = 0; a < arms_.size(); ++a)
    if (arms_[a].is_open || a == untouched || (a == pinned && !arms_[a].times.empty()))
      due_.push_back(static_cast<int>(a));
  for (std::size_t left = due_.size(); left > 1; --left) std::swap(due_[left - 1], due_[random() % left]);
}

Schedule::Draw Schedule::next(Budget& budget) {
  budget.add_run(natural_us_);
  if (seen_ < plan_.warm_up) {
    ++seen_;
    return {.is_warm_up = true};
  }
  if (is_known()) return {};
  if (due_.empty()) refill();
  if (due_.empty()) return {};
  const int arm = due_.back();
  const auto& [warps, is_open, learns_cost, checked_at, times] = arms_[static_cast<std::size_t>(arm)];
  const double slower = (learns_cost_ || learns_cost) && arm != untouched && !times.empty()
                            ? std::max(0.0, times.back() - natural_us_)
                        : warps < 1 ? natural_us_ * share_ * (1 / warps - 1)
                                    : 0;
  const double reserved = slower + budget.timing_us();
  if (natural_us_ == 0 || !budget.reserve(reserved, this)) return {};
  due_.pop_back();
  return {.arm = arm, .of_block = true, .reserved_us = reserved};
}

void Schedule::refuse(const Draw& draw, Budget& budget, bool never) {
  if (!draw.of_block) return;
  budget.spend(draw.reserved_us, 0);
  if (never) {
    close(draw.arm);
  } else {
    due_.push_back(draw.arm);
  }
}

void Schedule::add_time(const Draw& draw, double time_us, Budget& budget) {
  if (draw.arm == untouched)
    natural_us_ = natural_us_ == 0 || draw.is_warm_up
                      ? time_us
                      : natural_us_ + weight_of_latest * (time_us - natural_us_);
  budget.spend(draw.reserved_us, budget.timing_us() + (draw.arm == untouched ? 0 : time_us - natural_us_));
  if (!draw.of_block) return;
  Arm& arm = arms_[static_cast<std::size_t>(draw.arm)];
  if (arm.times.size() < plan_.max_samples) arm.times.push_back(time_us);
  const std::size_t n = arm.times.size();
  if (n >= plan_.max_samples) arm.is_open = false;
  if (draw.arm == untouched && n >= kinds_after && has_several_kinds(arm.times)) {
    has_kinds_ = true;
    for (Arm& each : arms_) each.is_open = false;  // spend the budget on other signatures
  }
  if (!arm.is_open || n < statistics::min_samples() ||
      static_cast<double>(n) < checks_apart * static_cast<double>(arm.checked_at))
    return;
  arm.checked_at = n;
  arm.is_open = statistics::median_interval(arm.times).relative_half_width() > plan_.precision;
}

void Schedule::restart() {
  for (Arm& arm : arms_) arm = {.warps = arm.warps, .learns_cost = arm.learns_cost};
  for (const int arm : refused_) arms_[static_cast<std::size_t>(arm)].is_open = false;
  due_.clear();
  has_kinds_ = false;
  seen_ = 0;
  natural_us_ = 0;
}

}  // namespace occbench::attach
