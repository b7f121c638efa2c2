// SPDX-License-Identifier: Apache-2.0
// Launches on a part of the GPU's SMs, by green contexts of the device's primary context. A launch moves into
// a stream of such a context; an event before it and one after it keep its place in the program's stream.
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
#include "harness/attach/preload/journal.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/signature.hpp"

namespace occbench::attach {

/// Where a launch goes in place of the program's stream, and the events of the way there and back.
struct ShareStream {
  CUstream stream = nullptr;  ///< null: the launch stays
  CUevent entry = nullptr, exit = nullptr;
};

/// Not thread-safe, but for `leave`.
class SmShares {
 public:
  SmShares(const Options& options, const Driver& driver, Journal& journal)
      : options_(options), driver_(driver), journal_(journal) {}

  /// SM counts that the launches of the signature may be confined to, most first. Makes the green contexts of
  /// the current context when they are first needed.
  std::vector<int> plan(const Request& request, Signature& signature, const Handle& handle, Context& context);
  /// A stream of so many SMs that waits for the program's, of this thread; nullopt: the driver refuses it.
  std::optional<ShareStream> enter(const Context& context, int sms, CUstream program_stream, unsigned thread);
  /// After the launch: the program's stream waits for it.
  void leave(const ShareStream& share, CUstream program_stream) const;
  /// The events are free for another launch.
  void release(const Context& context, const ShareStream& share);
  /// Before the driver ends the device's primary context, or one of its owners does.
  void forget(CUdevice device);
  void forget_context(CUcontext primary);

 private:
  struct Share {
    int sms = 0;
    CUgreenCtx green = nullptr;
    /// By the program's stream and thread: two streams in one could wait for each other.
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
  Journal& journal_;
  std::map<CUdevice, Device> devices_;
  std::string why_not_;  ///< of the driver's first refusal, after which no green context is made
  int remade_ = 0;
};

}  // namespace occbench::attach
