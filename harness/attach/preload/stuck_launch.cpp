// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/stuck_launch.hpp"

#include <string>

namespace occbench::attach {

namespace {

constexpr double stuck_after_s = 5;

/// "2 of 8 blocks per SM", "64 SMs"
std::string change_of(const Signature& s, int arm) {
  if (arm >= s.first_share())
    return std::to_string(s.shares[static_cast<std::size_t>(arm - s.first_share())]) + " SMs";
  const auto level = static_cast<std::size_t>(arm - first_level);
  const int blocks = s.versions.empty() ? s.blocks[level] : s.versions[level].blocks_per_sm;
  return std::to_string(blocks) + " of " + std::to_string(s.blocks_per_sm) + " blocks per SM";
}

}  // namespace

void StuckLaunch::look(const EventTimer& events) {
  if (is_noted_) return;
  const RelaxedCaptureGuard relaxed(driver_);
  const InterceptedLaunch* const first = events.first_running();
  if (first == nullptr || first->draw.arm < first_level ||
      driver_.event_query(first->start) != CUDA_SUCCESS) {  // not started yet
    since_s_ = 0;
    return;
  }
  if (since_s_ == 0 || running_ != first->sequence) {
    running_ = first->sequence;
    since_s_ = now_s();
  }
  if (now_s() - since_s_ < stuck_after_s) return;
  is_noted_ = true;
  const Signature& s = *first->signature;
  const std::string sentence =
      s.name + " with " + change_of(s, first->draw.arm) + " does not end: its blocks may wait for each other";
  writer_.note(sentence);
  writer_.write_file(stuck_file, sentence);
}

}  // namespace occbench::attach
