// SPDX-License-Identifier: Apache-2.0
// Which arm a launch gets: a level, a version with a cap on its registers, or a part of the SMs.
#pragma once

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/intercepted_launch.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature.hpp"
#include "harness/attach/preload/sm_shares.hpp"
#include "harness/attach/preload/versions.hpp"

namespace occbench::attach {

/// Not thread-safe.
class ArmChooser {
 public:
  ArmChooser(const Options& options, Budget& budget, Versions& versions, SmShares& shares)
      : options_(options), budget_(budget), versions_(versions), shares_(shares) {}

  /// Whether the launch lies within --after and --duration, whose clock the first call starts.
  [[nodiscard]] bool may_draw_now(const InterceptedLaunch& intercepted);
  /// Gives each launch of a signature with advice its level.
  static void apply(InterceptedLaunch& intercepted, Signature& signature, const Handle& handle);
  void draw(InterceptedLaunch& intercepted, Signature& signature, Handle& handle, const Context& context);

 private:
  /// Prepares the launch for its arm; false if the arm is not available.
  bool set_up(InterceptedLaunch& intercepted, Signature& signature, Handle& handle, const Context& context);

  const Options& options_;
  Budget& budget_;
  Versions& versions_;
  SmShares& shares_;
  double begun_s_ = 0;  ///< time of the first launch that may be changed
};

}  // namespace occbench::attach
