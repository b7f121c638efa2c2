// SPDX-License-Identifier: Apache-2.0
// Launches on some of the GPU's SMs, by green contexts of the device's primary context. A launch moves into a
// stream of such a context; an event before it and one after keep its order in the program's stream.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/signature.hpp"

namespace occbench::attach {

/// The stream that replaces the program's for a launch, and the events before and after it.
struct ShareStream {
  CUstream stream = nullptr;  ///< null: the launch stays
  CUevent entry = nullptr, exit = nullptr;
};

/// Not thread-safe, except `leave`.
class SmShares {
 public:
  SmShares(const Options& options, const Driver& driver, RecordWriter& writer)
      : options_(options), driver_(driver), writer_(writer) {}

  /// SM counts that the signature's launches may be confined to, descending. Makes the current context's
  /// green contexts when first needed.
  std::vector<int> plan(const Request& request, Signature& signature, const Handle& handle, Context& context);
  /// A stream of `sms` SMs for this thread that waits for the program's; nullopt if the driver refuses.
  std::optional<ShareStream> enter(const Context& context, int sms, CUstream program_stream, unsigned thread);
  /// After the launch: makes the program's stream wait for it.
  void leave(const ShareStream& share, CUstream program_stream) const;
  /// Makes the events free for another launch.
  void release(const Context& context, const ShareStream& share);
  /// Call before the driver destroys the device's primary context, or an owner releases it.
  void forget(CUdevice device);
  void forget_context(CUcontext primary);

 private:
  struct Share {
    int sms = 0;
    CUgreenCtx green = nullptr;
    /// By the program's stream and thread: two streams sharing one could wait for each other.
    std::map<std::pair<CUstream, unsigned>, CUstream> streams;
  };
  struct Device {
    CUcontext primary = nullptr;
    std::vector<Share> shares;
    std::vector<CUevent> free_events;
  };
  Device* device_of(const Context& context);
  [[nodiscard]] bool is_primary(const Context& context) const;
  void make(Device& made, const Context& context);
  CUresult make_share(Device& made, const Context& context, int sms);
  Share* share_of(const Context& context, int sms);
  CUstream stream_of(Share& share, CUstream program_stream, unsigned thread);
  CUevent event_of(Device& device) const;
  [[nodiscard]] bool has_room(const Request& request, const Signature& signature, const Handle& handle,
                              const Context& context, Share& share);
  [[nodiscard]] int clusters_of(const Request& request, const Handle& handle, CUstream stream) const;
  void refuse(const std::string& why);

  const Options& options_;
  const Driver& driver_;
  RecordWriter& writer_;
  std::map<CUdevice, Device> devices_;
  std::string why_not_;  ///< the driver's first refusal, after which no green context is made
  int remade_ = 0;
};

}  // namespace occbench::attach
