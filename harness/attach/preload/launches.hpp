// SPDX-License-Identifier: Apache-2.0
// What happens to each launch of the process: which signature it has, which arm it is, and its time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/graphs.hpp"
#include "harness/attach/preload/journal.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/overlap.hpp"
#include "harness/attach/preload/own_process.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signatures.hpp"
#include "harness/attach/preload/watchdog.hpp"

namespace occbench::attach {

constexpr std::size_t most_pending = 4096;  ///< launches whose time is awaited
constexpr double events_us = 3;             ///< what the GPU loses by the two events of a timed launch

[[nodiscard]] double now_s();
/// Of the calling thread, from 0.
[[nodiscard]] std::uint16_t thread_number();

/// One launch on its way.
struct Ticket {
  Signature* signature = nullptr;
  Context* context = nullptr;
  Schedule::Draw draw;
  CUfunction function = nullptr;  ///< for the changed launch
  unsigned dynamic_smem_bytes = 0;
  bool is_pinned = true;  ///< the changed launch's carve-out
  CUstream stream = nullptr;
  CUevent start = nullptr, stop = nullptr;
  bool is_graph = false;  ///< of a CUDA graph, which events time as a whole
  std::uint8_t flags = 0;
  std::uint64_t sequence = 0;
  GraphChange change;  ///< until it is launched
};

class Launches {
 public:
  explicit Launches(Options options);
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  /// Decides, and records the first event. Never throws.
  Ticket before(const Request& request) noexcept;
  /// The launch with what the ticket changes. An error means that it was not launched.
  CUresult launch_changed(const Request& request, const Ticket& ticket) noexcept;
  /// What was drawn could not be launched: the launch goes out untouched.
  void refuse(Ticket& ticket, CUresult why) noexcept;
  void after(Ticket& ticket, CUresult result) noexcept;
  /// Before and behind the launch of a graph whose ticket has a change.
  CUresult set_graph(const Ticket& ticket) noexcept;
  void set_graph_back(const Request& request, Ticket& ticket) noexcept;

  /// The program gave the driver an image: its text counts where versions are asked for, else what its code
  /// asks for.
  void loaded(const void* image) noexcept;
  void loaded_file(const char* path) noexcept;
  void graph_made(CUgraphExec executable, CUgraph graph) noexcept;
  void graph_ends(CUgraphExec executable) noexcept;
  /// The program itself changed the executable graph.
  void graph_updated(CUgraphExec executable) noexcept;
  /// Whether the program's graph stays, where it wants to destroy it, until the executable one ends.
  bool keeps_graph(CUgraph graph) noexcept;

  // Before the driver's own part: what is known of them, and their events, is forgotten.
  void module_ends() noexcept;
  void context_ends(CUcontext context) noexcept;
  void device_ends(CUdevice device) noexcept;
  /// After the driver's own part: the primary context may have ended with its last owner.
  void device_released(CUdevice device) noexcept;
  /// Reads the times that are there.
  void drain() noexcept;
  /// The program's profiler calls: what is asked for may be what lies between them.
  void profiles(bool is_on) noexcept { is_profiled_ = is_on; }
  /// The process ends in good order.
  void end() noexcept;
  [[nodiscard]] const OwnProcess& process() const { return process_; }

 private:
  struct Pending {
    Ticket ticket;
    std::uint16_t thread = 0;
  };
  template <class Which>
  void end_contexts(const Which& is_meant) noexcept;
  void before_graph(Ticket& ticket, const Request& request, Context& context, bool is_captured);
  void count(Signature& signature, bool is_captured);
  [[nodiscard]] bool is_asked(const Ticket& ticket);
  void apply(Ticket& ticket, Signature& signature, const Handle& handle);
  /// Draws an arm for a launch that nothing speaks against.
  void draw(Ticket& ticket, Signature& signature, Handle& handle, const Context& context);
  /// Sets its flags, and records its first event; false where it is not to be timed.
  bool begin(Ticket& ticket, Signature& signature, Context& context);
  void search(const void* image);
  /// Reads times, where many are awaited; whether more may be.
  bool make_room();
  void poll();
  void await(const Pending& pending);
  void no_longer(const Pending& pending);
  void timed(const Pending& pending, double time_us);
  // By CUPTI's records (recorded.cpp).
  void choose_timing();
  /// Before each launch: begins, and takes what has come.
  void look_after_records();
  /// As begin(): the ticket's time will be that of its kernel's record.
  bool begin_recorded(Ticket& ticket);
  void await_record(Ticket& ticket, CUresult result);
  void poll_records(bool is_last);
  void take_records(const std::vector<Ran>& records);
  void no_record(const Ticket& ticket);
  void forget_records(const Context& context);
  void note_lost_records() noexcept;
  [[nodiscard]] bool others_pending(CUstream stream) const;
  [[nodiscard]] bool wants_time(const Signature& signature) const;
  /// Names a changed launch that has not ended for long, in a file of the folder.
  void look_for_stuck() noexcept;

  Options options_;
  Driver driver_;
  Journal journal_;
  Budget budget_;
  OwnProcess process_;
  bool is_usable_ = false;
  std::atomic<bool> is_profiled_{false};
  bool is_refusal_noted_ = false, is_search_noted_ = false;
  double begun_s_ = 0;  ///< the first launch that may be changed
  std::mutex mutex_;
  std::atomic<std::uint64_t> sequence_{0};
  std::deque<Pending> pending_;
  std::map<CUstream, std::size_t> pending_in_;  ///< how many of them, in each stream that has any
  bool is_timing_chosen_ = false, has_records_ = false;
  std::map<std::uint32_t, Pending> awaited_;  ///< by the number of the launching call
  Overlaps overlaps_;
  double next_flush_s_ = 0, flush_pause_s_ = 1e-4;
  std::uint64_t recorded_ = 0, matched_ = 0;  ///< kernels, and those of them that were awaited
  Signatures signatures_;
  Graphs graphs_;
  std::uint64_t running_ = 0;  ///< the launch that the watchdog saw running, and since when
  double running_since_s_ = 0;
  bool is_stuck_noted_ = false;
  std::optional<Watchdog> watchdog_;
};

}  // namespace occbench::attach
