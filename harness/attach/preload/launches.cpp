// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/launches.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/ranges.hpp"

namespace occbench::attach {

namespace {

constexpr unsigned whole_carveout = 100;      // % of the L1's array used as shared memory
constexpr std::uint64_t always_timed = 24;    // first launches of a signature
constexpr std::uint64_t always_observed = 8;  // same for --observe, which needs only a mean
constexpr std::uint64_t timed_one_in = 64;    // later, if no arm needs samples

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  std::replace(all.begin(), all.end(), '\0', ' ');
  constexpr std::size_t room = 500;
  return all.substr(0, room);
}

}  // namespace

Launches::Launches(Options options)
    : options_(std::move(options)),
      driver_(find_driver()),
      writer_(options_.folder, options_.limit_bytes),
      budget_(options_.budget, events_us),
      clock_(writer_),
      skip_rules_(options_),
      levels_(options_, driver_),
      shares_(options_, driver_, writer_),
      versions_(options_, driver_),
      arms_(options_, budget_, versions_, shares_),
      contexts_(driver_, writer_),
      functions_(driver_, writer_),
      signatures_(options_, driver_, writer_, skip_rules_, levels_, versions_, shares_),
      graphs_(options_, driver_, functions_, signatures_),
      times_(writer_, budget_),
      events_(driver_, times_),
      counters_(writer_),
      records_(options_, driver_, writer_, budget_, times_, signatures_, counters_),
      modules_(options_, driver_, writer_, skip_rules_, versions_, mutex_),
      stuck_(driver_, writer_) {
  open_journal();
  if (is_usable_ && options_.needs_watchdog() && !options_.observe)
    watchdog_.emplace([this] { look_for_stuck(); });
}

void Launches::open_journal() {
  int version = 0;
  const CUresult answer =
      driver_.driver_get_version == nullptr ? CUDA_SUCCESS : driver_.driver_get_version(&version);
  writer_.write(ProcessRecord{.version = protocol_version,
                              .id = process_.number(),
                              .parent_id = getppid(),
                              .driver_version = version,
                              .command = own_command()});
  if (!options_.why_disabled.empty()) return writer_.note(options_.why_disabled);
  if (answer == CUDA_ERROR_STUB_LIBRARY)
    return writer_.note("this libcuda.so.1 is the toolkit's stub, which is for linking: no GPU behind it");
  if (!driver_.is_complete())
    return writer_.note("this driver is too old: it lacks functions that attaching needs");
  is_usable_ = writer_.count(0) != nullptr;
  if (driver_.launch_ex == nullptr && !options_.observe) {
    options_.observe = true;
    writer_.note("this driver is older than CUDA 11.8: launches were observed, none was changed");
  }
}

void Launches::count(Signature& s, bool is_captured) {
  ++s.launches;
  if (Count* const count = writer_.count(s.number)) {
    ++count->launches;
    if (is_captured) ++count->captured;
  }
}

void Launches::begin_step(std::uint32_t range) noexcept try {
  if (!options_.apply || !options_.by_range || !is_active()) return;
  const std::lock_guard lock(mutex_);
  clock_.write_step(name_of_range(range));
} catch (...) {
}

/// With --apply the time between the calls is a step: the device is idle at both ends.
void Launches::set_profiled(bool is_on) noexcept try {
  is_profiled_ = is_on;
  if (!options_.profiler_api || !is_active()) return;
  if (options_.apply && driver_.ctx_synchronize != nullptr) driver_.ctx_synchronize();
  const std::lock_guard lock(mutex_);
  if (is_on)
    clock_.start_profiling();
  else
    clock_.stop_profiling(options_.apply);
} catch (...) {
}

bool Launches::needs_time(const Signature& s) const {
  if (s.launches <= (options_.observe ? always_observed : always_timed)) return true;
  std::uint64_t z = s.launches * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  return (z >> 32) % timed_one_in == 0;
}

bool Launches::start(InterceptedLaunch& t, Signature& s, Context& context) {
  if (records_.is_on() && !t.is_graph) {
    records_.start(t);
    return true;
  }
  if (events_.start(t, context)) return true;
  if (options_.apply) return false;  // at its level, without timing
  if (s.schedule) s.schedule->refuse(t.draw, budget_, t.share.stream != nullptr);
  shares_.release(context, std::exchange(t.share, {}));
  t.draw = {};
  return false;
}

InterceptedLaunch Launches::before(const Request& request) noexcept try {
  InterceptedLaunch t;
  if (!is_active()) return t;
  if (options_.profiler_api && !is_profiled_.load(std::memory_order_relaxed)) return t;
  t.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  t.is_graph = request.graph != nullptr;
  t.dynamic_smem_bytes = request.config.sharedMemBytes;
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr) return t;
  t.stream = request.config.hStream != nullptr ? request.config.hStream
             : request.is_per_thread           ? CU_STREAM_PER_THREAD
                                               : CU_STREAM_LEGACY;
  const RelaxedCaptureGuard relaxed(driver_);
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  const bool is_captured = driver_.stream_is_capturing(t.stream, &capturing) != CUDA_SUCCESS ||
                           capturing != CU_STREAM_CAPTURE_STATUS_NONE;
  const std::lock_guard lock(mutex_);
  clock_.count();
  if (!is_captured) records_.look_after();
  Context& context = contexts_.of(current);
  // Graph kernels run where they were captured, and their levels are found once: assume all SMs.
  if (options_.counters && records_.is_on() && !counters_.has_begun())
    counters_.begin(activity::library(), context.device);
  context.sms = t.is_graph ? context.device_sms : contexts_.sms_of(context, request.config.hStream);
  if (request.kind == SkipReason::graph)
    before_graph(t, request, context, is_captured);
  else
    before_kernel(t, request, context, is_captured);
  return t;
} catch (...) {
  return {};
}

void Launches::before_kernel(InterceptedLaunch& t, const Request& request, Context& context,
                             bool is_captured) {
  Handle& handle = functions_.of(request.function, context);
  Signature& s = signatures_.of(request, handle, context);
  count(s, is_captured);
  if (is_captured || writer_.is_full()) return;  // counted, not timed
  if (options_.apply)
    ArmChooser::apply(t, s, handle);
  else if (!s.has_planned_shares)
    signatures_.plan_shares(s, request, handle, context);
  const bool has_room = events_.make_room();
  if (has_room && s.schedule && !options_.apply && arms_.may_draw_now(t))
    arms_.draw(t, s, handle, context);
  else
    budget_.add_run(s.schedule ? s.schedule->natural_us() : 0);
  const bool is_wanted = t.draw.of_block || t.draw.is_warm_up || needs_time(s);
  t.is_only_counted = !is_wanted && counters_.is_on() && records_.is_on();
  t.context = &context;
  if (t.function == nullptr) t.function = handle.function;
  if (has_room && (is_wanted || t.is_only_counted) && start(t, s, context)) t.signature = &s;
  t.is_in_order = must_keep_order(t, request, context);
}

/// A timed launch starts after the previous one has ended, and the next one after it.
bool Launches::must_keep_order(const InterceptedLaunch& t, const Request& request, Context& context) const {
  constexpr std::size_t max_streams = 4096;
  const bool is_early = may_start_early(request.config),
             is_timed = t.signature != nullptr && !t.is_only_counted;
  context.has_early_starts = context.has_early_starts || is_early;
  if (!context.has_early_starts || options_.observe) return false;
  if (context.was_timed.size() > max_streams) context.was_timed.clear();
  const bool is_behind = std::exchange(context.was_timed[request.config.hStream], is_timed);
  return is_early && (is_timed || is_behind);
}

/// Times the whole graph, whichever of its kernels is changed.
void Launches::before_graph(InterceptedLaunch& t, const Request& request, Context& context,
                            bool is_captured) {
  Signature& whole = graphs_.signature_of(request, context);
  Signature* s = &whole;
  count(whole, is_captured);
  if (is_captured || writer_.is_full()) return;
  if (counters_.is_on() && records_.is_on()) {
    t.counted_graph = &whole;
    t.context = &context;
    activity::forget_correlation();
  }
  if (options_.apply) {
    for (Signature* part : graphs_.apply(request)) {
      count(*part, false);
      if (Count* const count = writer_.count(part->number)) ++count->changed;
    }
  }
  const bool has_room = events_.make_room();
  if (has_room && !whole.targets.empty() && !options_.apply && arms_.may_draw_now(t))
    s = &graphs_.draw(request, whole, budget_, t.draw, t.change);
  else
    budget_.add_run(whole.schedule ? whole.schedule->natural_us() : 0);
  if (!has_room || !(t.draw.of_block || t.draw.is_warm_up || needs_time(whole))) return;
  t.context = &context;
  if (!start(t, *s, context)) {
    t.change = {};
    return;
  }
  t.signature = s;
  if (s != &whole) count(*s, false);
}

CUresult Launches::launch_changed(const Request& request, const InterceptedLaunch& intercepted) noexcept {
  constexpr unsigned max_attributes = 16;
  constexpr auto early_start = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  const auto launch = request.is_per_thread ? driver_.launch_ex_ptsz : driver_.launch_ex;
  if (launch == nullptr || request.config.numAttrs >= max_attributes) return CUDA_ERROR_NOT_SUPPORTED;
  std::array<CUlaunchAttribute, max_attributes> attributes{};
  CUlaunchConfig config = request.config;
  config.attrs = attributes.data();
  config.numAttrs = 0;
  for (unsigned i = 0; i < request.config.numAttrs; ++i)
    if (!intercepted.is_in_order || request.config.attrs[i].id != early_start)
      attributes[config.numAttrs++] = request.config.attrs[i];
  if (intercepted.draw.arm != untouched && intercepted.is_pinned) {
    CUlaunchAttribute& carveout = attributes[config.numAttrs++];
    carveout.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    carveout.value.sharedMemCarveout = whole_carveout;
  }
  config.sharedMemBytes = intercepted.dynamic_smem_bytes;
  if (intercepted.share.stream != nullptr) config.hStream = intercepted.share.stream;
  const CUresult result = launch(&config, intercepted.function, request.parameters, request.extra);
  if (result == CUDA_SUCCESS && intercepted.share.stream != nullptr)
    shares_.leave(intercepted.share, intercepted.stream);
  return result;
}

void Launches::refuse(InterceptedLaunch& intercepted, CUresult why) noexcept try {
  const std::lock_guard lock(mutex_);
  if (intercepted.signature != nullptr) intercepted.signature->is_applied = false;
  if (intercepted.signature != nullptr && intercepted.signature->schedule)
    intercepted.signature->schedule->refuse(intercepted.draw, budget_, true);
  intercepted.draw = {};
  intercepted.flags &= static_cast<std::uint8_t>(~drawn);
  if (intercepted.share.stream != nullptr) {  // the launch to be timed moves to another stream
    if (intercepted.start != nullptr) events_.cancel(intercepted);
    shares_.release(*intercepted.context, std::exchange(intercepted.share, {}));
    intercepted.signature = nullptr;
  }
  if (is_refusal_noted_) return;
  is_refusal_noted_ = true;
  writer_.note("the driver rejected changed launches (error " + std::to_string(why) +
               "); they were launched unchanged");
} catch (...) {
}

void Launches::after(InterceptedLaunch& t, CUresult result) noexcept try {
  if (t.counted_graph != nullptr && result == CUDA_SUCCESS && t.draw.arm == untouched) {
    const std::lock_guard lock(mutex_);
    records_.count_graph(t);
  }
  if (t.signature == nullptr) return;
  t.change = {};
  const RelaxedCaptureGuard relaxed(driver_);
  const bool is_recorded = t.start != nullptr && result == CUDA_SUCCESS &&
                           driver_.event_record(t.stop, t.launch_stream()) == CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  if (t.share.stream != nullptr) shares_.release(*t.context, t.share);
  if (result == CUDA_SUCCESS && t.draw.arm != untouched) ++writer_.count(t.signature->number)->changed;
  if ((t.flags & by_record) != 0) return records_.await(t, result);
  if (t.start == nullptr) return;
  if (!is_recorded) return events_.cancel(t);
  if (sequence_.load(std::memory_order_relaxed) != t.sequence + 1)
    t.flags |= overlapped;  // another thread launched
  events_.await({.intercepted = t, .thread = thread_number()});
} catch (...) {
}

CUresult Launches::set_graph(const InterceptedLaunch& intercepted) noexcept try {
  const RelaxedCaptureGuard relaxed(driver_);
  return graphs_.set(intercepted.change);
} catch (...) {
  return CUDA_ERROR_UNKNOWN;
}

void Launches::set_graph_back(const Request& request, InterceptedLaunch& intercepted) noexcept try {
  const RelaxedCaptureGuard relaxed(driver_);
  const CUresult result = graphs_.restore(intercepted.change);
  intercepted.change = {};
  if (result == CUDA_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  graphs_.mark_updated(request.graph);
  writer_.note("the driver did not take back what it took for one launch of a CUDA graph (error " +
               std::to_string(result) + "): its kernels go on with fewer warps");
} catch (...) {
}

void Launches::add_module(const void* image) noexcept try {
  if (is_active()) modules_.read(image);
} catch (...) {
}

void Launches::add_module_file(const char* path) noexcept try {
  if (is_active()) modules_.read_file(path);
} catch (...) {
}

void Launches::add_graph(CUgraphExec executable, CUgraph graph) noexcept try {
  if (!is_active()) return;
  const RelaxedCaptureGuard relaxed(driver_);
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr) return;
  const std::lock_guard lock(mutex_);
  graphs_.add(executable, graph, contexts_.of(current));
} catch (...) {
}

/// `take_over` gets the current context.
template <class TakeOver>
void Launches::update_graph(CUgraphExec executable, const TakeOver& take_over) noexcept try {
  if (!is_active()) return;
  const RelaxedCaptureGuard relaxed(driver_);
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr)
    return mark_graph_updated(executable);
  const std::lock_guard lock(mutex_);
  take_over(contexts_.of(current));
} catch (...) {
}

void Launches::update_graph_node(CUgraphExec executable, CUgraphNode node,
                                 const CUDA_KERNEL_NODE_PARAMS_v1& params) noexcept {
  update_graph(executable, [&](Context& context) { graphs_.update_node(executable, node, params, context); });
}

void Launches::update_graph_from(CUgraphExec executable, CUgraph from) noexcept {
  update_graph(executable, [&](Context& context) { graphs_.update(executable, from, context); });
}

void Launches::remove_graph(CUgraphExec executable) noexcept try {
  const std::lock_guard lock(mutex_);
  graphs_.remove(executable);
} catch (...) {
}

void Launches::mark_graph_updated(CUgraphExec executable) noexcept try {
  const std::lock_guard lock(mutex_);
  graphs_.mark_updated(executable);
} catch (...) {
}

bool Launches::defer_graph_destroy(CUgraph graph) noexcept try {
  const std::lock_guard lock(mutex_);
  return graphs_.defer_destroy(graph);
} catch (...) {
  return false;
}

template <class Which>
void Launches::forget_contexts(const Which& is_meant) noexcept try {
  if (!is_active()) return;
  drain();
  const std::lock_guard lock(mutex_);
  contexts_.forget_green();
  for (Context& context : contexts_.all()) {
    if (context.handle == nullptr || !is_meant(context)) continue;
    records_.forget(context);
    events_.forget(context);
    graphs_.forget_context(context.handle);
    versions_.forget_context(context.handle);
    shares_.forget_context(context.handle);
    contexts_.forget(context);
    functions_.forget();
  }
} catch (...) {
}

void Launches::forget_context(CUcontext context) noexcept {
  forget_contexts([&](const Context& c) { return c.handle == context; });
}

void Launches::forget_device(CUdevice device) noexcept {
  forget_contexts([&](const Context& c) { return c.device == device; });
}

void Launches::release_device(CUdevice device) noexcept try {
  if (!is_active()) return;
  drain();
  const std::lock_guard lock(mutex_);
  shares_.forget(device);
} catch (...) {
}

void Launches::check_device(CUdevice device) noexcept {
  unsigned flags = 0;
  int is_primary_active = 0;
  const auto ask = driver_.primary_state;
  if (ask != nullptr && ask(device, &flags, &is_primary_active) == CUDA_SUCCESS && is_primary_active != 0)
    return;
  forget_device(device);
}

void Launches::forget_modules() noexcept try {
  if (!is_active()) return;
  const std::lock_guard lock(mutex_);
  functions_.forget();
} catch (...) {
}

void Launches::look_for_stuck() noexcept try {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && process_.is_this()) stuck_.look(events_);
} catch (...) {
}

void Launches::end() noexcept {
  if (!process_.is_this()) return;
  counters_.release();
  drain();
  counters_.note_if_none();
  records_.note_lost();
  if (watchdog_) watchdog_->end();
}

void Launches::drain() noexcept try {
  if (!is_active()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const RelaxedCaptureGuard relaxed(driver_);
  events_.poll();
  records_.drain();
} catch (...) {
}

}  // namespace occbench::attach
