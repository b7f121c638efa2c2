// SPDX-License-Identifier: Apache-2.0
// Handles each launch of the process: its signature, its arm, and how it is timed. The hooks call it from any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "harness/attach/preload/arm_chooser.hpp"
#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/counters.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/event_timer.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/graphs.hpp"
#include "harness/attach/preload/intercepted_launch.hpp"
#include "harness/attach/preload/launch_clock.hpp"
#include "harness/attach/preload/launch_times.hpp"
#include "harness/attach/preload/level_planner.hpp"
#include "harness/attach/preload/modules.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/own_process.hpp"
#include "harness/attach/preload/record_timer.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/signature_table.hpp"
#include "harness/attach/preload/skip_rules.hpp"
#include "harness/attach/preload/sm_shares.hpp"
#include "harness/attach/preload/stuck_launch.hpp"
#include "harness/attach/preload/versions.hpp"
#include "harness/attach/preload/watchdog.hpp"

namespace occbench::attach {

class Launches {
 public:
  explicit Launches(Options options);
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  /// Draws the launch's arm and records its first event.
  InterceptedLaunch before(const Request& request) noexcept;
  /// Launches with the changes of `intercepted`. On error nothing was launched.
  CUresult launch_changed(const Request& request, const InterceptedLaunch& intercepted) noexcept;
  /// The driver refused the changed launch, which is then launched unchanged.
  void refuse(InterceptedLaunch& intercepted, CUresult why) noexcept;
  void after(InterceptedLaunch& intercepted, CUresult result) noexcept;
  /// Called before and after a graph launch that has a change.
  CUresult set_graph(const InterceptedLaunch& intercepted) noexcept;
  void set_graph_back(const Request& request, InterceptedLaunch& intercepted) noexcept;

  /// The driver has loaded an image for the program.
  void add_module(const void* image) noexcept;
  void add_module_file(const char* path) noexcept;
  void add_graph(CUgraphExec executable, CUgraph graph) noexcept;
  void remove_graph(CUgraphExec executable) noexcept;
  /// The program set the parameters of a kernel node.
  void update_graph_node(CUgraphExec executable, CUgraphNode node,
                         const CUDA_KERNEL_NODE_PARAMS_v1& params) noexcept;
  /// The program updated the executable graph from another graph.
  void update_graph_from(CUgraphExec executable, CUgraph from) noexcept;
  /// The program itself changed the executable graph.
  void mark_graph_updated(CUgraphExec executable) noexcept;
  /// The program destroys the graph. Returns whether this is deferred until the executable graph is
  /// destroyed.
  bool defer_graph_destroy(CUgraph graph) noexcept;

  // Called before the driver destroys these objects: their state and events are dropped.
  void forget_modules() noexcept;
  void forget_context(CUcontext context) noexcept;
  void forget_device(CUdevice device) noexcept;
  /// Before the driver releases the primary context: our green contexts would keep it alive.
  void release_device(CUdevice device) noexcept;
  /// After the driver released the primary context: its last owner may have destroyed it.
  void check_device(CUdevice device) noexcept;
  /// Reads the available times.
  void drain() noexcept;
  /// cudaProfilerStart and Stop: with --profiler-api only launches between them count.
  void set_profiled(bool is_on) noexcept;
  /// An outermost NVTX range begins: it is a step if ranges are requested.
  void begin_step(std::uint32_t range) noexcept;
  /// The process ends by exit().
  void end() noexcept;
  [[nodiscard]] const OwnProcess& process() const { return process_; }

 private:
  /// Writes the first lines and decides whether launches are processed.
  void open_journal();
  [[nodiscard]] bool is_active() const noexcept { return is_usable_ && process_.is_this(); }
  template <class TakeOver>
  void update_graph(CUgraphExec executable, const TakeOver& take_over) noexcept;
  template <class Which>
  void forget_contexts(const Which& is_meant) noexcept;
  void before_kernel(InterceptedLaunch& intercepted, const Request& request, Context& context,
                     bool is_captured);
  void before_graph(InterceptedLaunch& intercepted, const Request& request, Context& context,
                    bool is_captured);
  void count(Signature& signature, bool is_captured);
  [[nodiscard]] bool needs_time(const Signature& signature) const;
  /// Whether the launch is timed, or would start during a timed one.
  [[nodiscard]] bool must_keep_order(const InterceptedLaunch& intercepted, const Request& request,
                                     Context& context) const;
  /// Starts timing the launch; false if it cannot be timed.
  bool start(InterceptedLaunch& intercepted, Signature& signature, Context& context);
  void look_for_stuck() noexcept;

  Options options_;
  Driver driver_;
  RecordWriter writer_;
  Budget budget_;
  OwnProcess process_;
  bool is_usable_ = false;
  std::atomic<bool> is_profiled_{false};
  bool is_refusal_noted_ = false;
  std::atomic<std::uint64_t> sequence_{0};
  std::mutex mutex_;  ///< guards the following members and all launch state
  LaunchClock clock_;
  SkipRules skip_rules_;
  LevelPlanner levels_;
  SmShares shares_;
  Versions versions_;
  ArmChooser arms_;
  Contexts contexts_;
  Functions functions_;
  SignatureTable signatures_;
  Graphs graphs_;
  LaunchTimes times_;
  EventTimer events_;
  Counters counters_;
  RecordTimer records_;
  Modules modules_;
  StuckLaunch stuck_;
  std::optional<Watchdog> watchdog_;
};

}  // namespace occbench::attach
