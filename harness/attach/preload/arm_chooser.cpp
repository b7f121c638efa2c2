// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/arm_chooser.hpp"

#include <cstddef>

#include "harness/attach/preload/level_planner.hpp"

namespace occbench::attach {

bool ArmChooser::may_draw_now(const InterceptedLaunch& t) {
  if (t.sequence < options_.after) return false;
  if (options_.duration_s == 0) return true;
  const double now = now_s();
  if (begun_s_ == 0) begun_s_ = now;
  return now - begun_s_ < options_.duration_s;
}

void ArmChooser::apply(InterceptedLaunch& t, Signature& s, const Handle& handle) {
  if (!s.is_applied || !LevelPlanner::is_verified(s, handle, 0)) return;
  t.draw.arm = first_level;
  t.dynamic_smem_bytes = s.dynamic_smem + s.added[0];
  t.function = handle.function;
  t.signature = &s;
}

void ArmChooser::draw(InterceptedLaunch& t, Signature& s, Handle& handle, const Context& context) {
  t.draw = s.schedule->next(budget_);
  if (t.draw.arm < first_level || set_up(t, s, handle, context)) return;
  s.schedule->refuse(t.draw, budget_, true);
  t.draw = {};
}

bool ArmChooser::set_up(InterceptedLaunch& t, Signature& s, Handle& handle, const Context& context) {
  const bool is_share = t.draw.arm >= s.first_share();
  t.is_pinned = !is_share && s.versions.empty();
  if (is_share) {
    t.function = handle.function;
    const int sms = s.shares[static_cast<std::size_t>(t.draw.arm - s.first_share())];
    const auto share = shares_.enter(context, sms, t.stream, thread_number());
    t.share = share.value_or(ShareStream{});
    return share.has_value();
  }
  const auto level = static_cast<std::size_t>(t.draw.arm - first_level);
  if (t.is_pinned) {
    if (!LevelPlanner::is_verified(s, handle, level)) return false;
    t.dynamic_smem_bytes += s.added[level];
    return true;
  }
  t.function = versions_.function_of(s, handle, context, level);
  return t.function != nullptr;
}

}  // namespace occbench::attach
