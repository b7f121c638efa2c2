// SPDX-License-Identifier: Apache-2.0
// A part of the current device's SMs, by a green context of its primary context.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/device/resource.hpp"

namespace occbench {

/// A stream whose launches run on these SMs alone, and the way there and back for a launch of another stream.
class SmShare {
 public:
  /// The part of the current device with `sms` SMs, which lives as long as the program; or null, and one line
  /// on why there is none: an old driver, or a number that cannot be had.
  static const SmShare* of(int sms, std::string& why_none);

  /// The share's stream, which waits for what `stream` was given so far. `stream` waits for the share's after
  /// `leave`: a launch between the two keeps its place.
  [[nodiscard]] cudaStream_t enter(const Stream& stream) const;
  void leave(const Stream& stream) const;

 private:
  explicit SmShare(cudaStream_t own) : own_(own) {}
  cudaStream_t own_;
  Event entry_, exit_;
};

/// Where a launch goes that keeps its place in `stream`: on the share's SMs, or in `stream` itself where
/// `share` is null. `leave` follows the launch.
[[nodiscard]] inline cudaStream_t enter(const SmShare* share, const Stream& stream) {
  return share == nullptr ? stream.get() : share->enter(stream);
}
inline void leave(const SmShare* share, const Stream& stream) {
  if (share != nullptr) share->leave(stream);
}

}  // namespace occbench
