// SPDX-License-Identifier: Apache-2.0
// Some of the current device's SMs, as a green context of its primary context.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/device/resource.hpp"

namespace occbench {

/// A stream whose launches run only on these SMs, and the switch to it and back within another stream.
class SmShare {
 public:
  /// The share of the current device with `sms` SMs, which is never destroyed; or null, and one line on why:
  /// an old driver, or an unavailable number of SMs.
  static const SmShare* of(int sms, std::string& why_none);

  /// The share's stream, which waits for all earlier work in `stream`. After `leave`, `stream` waits for the
  /// share's: a launch in between keeps its order.
  [[nodiscard]] cudaStream_t enter(const Stream& stream) const;
  void leave(const Stream& stream) const;

 private:
  explicit SmShare(cudaStream_t own) : own_(own) {}
  cudaStream_t own_;
  Event entry_, exit_;
};

/// The stream for a launch that keeps its order in `stream`: the share's, or `stream` itself if `share` is
/// null. Call `leave` after the launch.
[[nodiscard]] inline cudaStream_t enter(const SmShare* share, const Stream& stream) {
  return share == nullptr ? stream.get() : share->enter(stream);
}
inline void leave(const SmShare* share, const Stream& stream) {
  if (share != nullptr) share->leave(stream);
}

}  // namespace occbench
