// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/launches.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace occbench::attach {

namespace {

constexpr unsigned whole_carveout = 100;      // percent of the L1's array, as shared memory
constexpr std::size_t poll_from = 16;         // times are read in batches
constexpr std::uint64_t always_timed = 24;    // first launches of a signature
constexpr std::uint64_t always_observed = 8;  // the same under --observe, which asks for a mean alone
constexpr std::uint64_t timed_one_in = 64;    // later, where nothing is asked any more
constexpr double stuck_after_s = 5;           // a launch of the suspicious kind has not ended

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  std::replace(all.begin(), all.end(), '\0', ' ');
  constexpr std::size_t room = 500;
  return all.substr(0, room);
}

}  // namespace

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::uint16_t thread_number() {
  static std::atomic<unsigned> next{0};
  thread_local const auto number = static_cast<std::uint16_t>(next++);
  return number;
}

Launches::Launches(Options options)
    : options_(std::move(options)),
      driver_(find_driver()),
      journal_(options_.folder, options_.limit_bytes),
      budget_(options_.budget, events_us),
      signatures_(options_, driver_, journal_),
      graphs_(options_, driver_, signatures_) {
  int version = 0;
  const CUresult answer =
      driver_.driver_get_version == nullptr ? CUDA_SUCCESS : driver_.driver_get_version(&version);
  journal_.line({"process", std::to_string(protocol_version), std::to_string(process_.number()),
                 std::to_string(getppid()), std::to_string(version), own_command()});
  if (!options_.stands_back.empty()) {
    journal_.line({"note", options_.stands_back});
  } else if (answer == CUDA_ERROR_STUB_LIBRARY) {
    journal_.line(
        {"note", "this libcuda.so.1 is the toolkit's stub, which is for linking: no GPU behind it"});
  } else if (!driver_.is_complete()) {
    journal_.line({"note", "this driver is too old: it lacks functions that attaching needs"});
  } else {
    is_usable_ = journal_.count(0) != nullptr;
    if (driver_.launch_ex == nullptr && !options_.observe) {
      options_.observe = true;
      journal_.line(
          {"note", "this driver is older than CUDA 11.8: launches were observed, none was changed"});
    }
    if (options_.all && !options_.observe) watchdog_.emplace([this] { look_for_stuck(); });
  }
}

void Launches::count(Signature& s, bool is_captured) {
  ++s.launches;
  if (Count* const count = journal_.count(s.number)) {
    ++count->launches;
    if (is_captured) ++count->captured;
  }
}

bool Launches::is_asked(const Ticket& t) {
  if (t.sequence < options_.after) return false;
  if (options_.duration_s == 0) return true;
  const double now = now_s();
  if (begun_s_ == 0) begun_s_ = now;
  return now - begun_s_ < options_.duration_s;
}

bool Launches::make_room() {
  if (pending_.size() >= poll_from) poll();
  return pending_.size() < most_pending;
}

bool Launches::wants_time(const Signature& s) const {
  if (s.launches <= (options_.observe ? always_observed : always_timed)) return true;
  std::uint64_t z = s.launches * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  return (z >> 32) % timed_one_in == 0;
}

void Launches::await(const Pending& pending) {
  pending_.push_back(pending);
  ++pending_in_[pending.ticket.stream];
}

void Launches::no_longer(const Pending& pending) {
  const auto found = pending_in_.find(pending.ticket.stream);
  if (--found->second == 0) pending_in_.erase(found);
}

bool Launches::others_pending(CUstream stream) const {
  return pending_in_.size() > (pending_in_.contains(stream) ? 1U : 0U);
}

/// Each launch of a signature with advice has the advised level, and none is timed.
void Launches::apply(Ticket& t, Signature& s, const Handle& handle) {
  if (!s.is_applied || !Signatures::is_verified(s, handle, 0)) return;
  t.draw.arm = first_level;
  t.dynamic_smem_bytes = s.dynamic_smem + s.added[0];
  t.function = handle.function;
  t.signature = &s;
}

void Launches::draw(Ticket& t, Signature& s, Handle& handle, const Context& context) {
  t.draw = s.schedule->next(budget_);
  t.dynamic_smem_bytes = s.dynamic_smem;
  if (t.draw.arm < first_level) return;
  const auto level = static_cast<std::size_t>(t.draw.arm - first_level);
  if (!s.versions.empty()) {
    t.is_pinned = false;
    t.function = signatures_.version_of(s, handle, context, level);
    if (t.function != nullptr) return;
    s.schedule->refuse(t.draw, budget_, true);
    t.draw = {};
    return;
  }
  t.dynamic_smem_bytes += s.added[level];
  if (Signatures::is_verified(s, handle, level)) return;
  s.schedule->refuse(t.draw, budget_, true);
  t.draw = {};
}

bool Launches::begin(Ticket& t, Signature& s, Context& context) {
  if (has_records_ && !t.is_graph) return begin_recorded(t);
  if (others_pending(t.stream)) poll();
  t.flags =
      static_cast<std::uint8_t>((t.draw.is_warm_up ? warm_up : 0) |
                                (others_pending(t.stream) ? overlapped : 0) | (t.draw.of_block ? drawn : 0));
  for (CUevent* event : {&t.start, &t.stop}) {
    if (!context.free_events.empty()) {
      *event = context.free_events.back();
      context.free_events.pop_back();
    } else if (driver_.event_create(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      *event = nullptr;
    }
  }
  if (t.start != nullptr && t.stop != nullptr && driver_.event_record(t.start, t.stream) == CUDA_SUCCESS)
    return true;
  for (CUevent event : {t.start, t.stop})
    if (event != nullptr) context.free_events.push_back(event);
  if (s.schedule) s.schedule->refuse(t.draw, budget_, false);
  t.draw = {};
  return false;
}

Ticket Launches::before(const Request& request) noexcept try {
  Ticket t;
  if (!is_usable_ || !process_.is_this()) return t;
  if (options_.profiler_api && !is_profiled_.load(std::memory_order_relaxed)) return t;
  t.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  t.is_graph = request.graph != nullptr;
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr) return t;
  t.stream = request.config.hStream != nullptr ? request.config.hStream
             : request.is_per_thread           ? CU_STREAM_PER_THREAD
                                               : CU_STREAM_LEGACY;
  const Relaxed relaxed(driver_);
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  const bool is_captured = driver_.stream_is_capturing(t.stream, &capturing) != CUDA_SUCCESS ||
                           capturing != CU_STREAM_CAPTURE_STATUS_NONE;
  const std::lock_guard lock(mutex_);
  if (!is_captured) look_after_records();
  Context& context = signatures_.context_of(current);
  // A graph's kernels run where they were captured, and its levels are found once: it is taken for the most.
  context.sms = t.is_graph ? context.device_sms : signatures_.sms_of(context, request.config.hStream);
  if (request.kind == SkipReason::graph) {
    before_graph(t, request, context, is_captured);
    return t;
  }
  Handle& handle = signatures_.handle_of(request, context);
  Signature& s = signatures_.signature_of(request, handle, context);
  count(s, is_captured);
  if (is_captured || journal_.is_full()) return t;  // counted, not timed
  if (options_.apply) {
    apply(t, s, handle);
    return t;
  }
  const bool has_room = make_room();
  if (has_room && s.schedule && is_asked(t))
    draw(t, s, handle, context);
  else
    budget_.ran(s.schedule ? s.schedule->natural_us() : 0);
  if (!has_room || !(t.draw.of_block || t.draw.is_warm_up || wants_time(s))) return t;
  t.context = &context;
  if (t.function == nullptr) t.function = handle.function;
  if (begin(t, s, context)) t.signature = &s;
  return t;
} catch (...) {
  return {};
}

CUresult Launches::launch_changed(const Request& request, const Ticket& ticket) noexcept {
  constexpr unsigned most_attributes = 16;
  const auto launch = request.is_per_thread ? driver_.launch_ex_ptsz : driver_.launch_ex;
  if (launch == nullptr || request.config.numAttrs >= most_attributes) return CUDA_ERROR_NOT_SUPPORTED;
  std::array<CUlaunchAttribute, most_attributes> attributes{};
  std::copy_n(request.config.attrs, request.config.numAttrs, attributes.begin());
  CUlaunchAttribute& carveout = attributes[request.config.numAttrs];
  carveout.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  carveout.value.sharedMemCarveout = whole_carveout;
  CUlaunchConfig config = request.config;
  config.attrs = attributes.data();
  if (ticket.is_pinned) ++config.numAttrs;
  config.sharedMemBytes = ticket.dynamic_smem_bytes;
  return launch(&config, ticket.function, request.parameters, request.extra);
}

void Launches::refuse(Ticket& ticket, CUresult why) noexcept try {
  const std::lock_guard lock(mutex_);
  if (ticket.signature != nullptr) ticket.signature->is_applied = false;
  if (ticket.signature != nullptr && ticket.signature->schedule)
    ticket.signature->schedule->refuse(ticket.draw, budget_, true);
  ticket.draw = {};
  ticket.flags &= static_cast<std::uint8_t>(~drawn);
  if (is_refusal_noted_) return;
  is_refusal_noted_ = true;
  journal_.line({"note", "the driver refused changed launches (error " + std::to_string(why) +
                             "); they went out untouched"});
} catch (...) {
}

void Launches::after(Ticket& t, CUresult result) noexcept try {
  if (t.signature == nullptr) return;
  t.change = {};
  const Relaxed relaxed(driver_);
  const bool is_recorded =
      t.start != nullptr && result == CUDA_SUCCESS && driver_.event_record(t.stop, t.stream) == CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  if (result == CUDA_SUCCESS && t.draw.arm != untouched) ++journal_.count(t.signature->number)->changed;
  if ((t.flags & by_record) != 0) return await_record(t, result);
  if (t.start == nullptr) return;
  if (!is_recorded) {
    if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
    t.context->free_events.push_back(t.start);
    t.context->free_events.push_back(t.stop);
    return;
  }
  if (sequence_.load(std::memory_order_relaxed) != t.sequence + 1) t.flags |= overlapped;  // another thread's
  await({.ticket = t, .thread = thread_number()});
} catch (...) {
}

void Launches::timed(const Pending& done, double time_us) {
  const Ticket& t = done.ticket;
  if (t.signature->schedule) t.signature->schedule->timed(t.draw, time_us, budget_);
  journal_.add({.signature = static_cast<std::uint32_t>(t.signature->number + 1),
                .arm = static_cast<std::uint8_t>(t.draw.arm),
                .flags = t.flags,
                .thread = done.thread,
                .time_us = static_cast<float>(time_us),
                .sequence = static_cast<std::uint32_t>(t.sequence)});
}

/// Reads times from the oldest on, up to the first that is not there yet.
void Launches::poll() {
  while (!pending_.empty()) {
    const Pending& p = pending_.front();
    float milliseconds = 0;
    const CUresult result = driver_.event_elapsed_time(&milliseconds, p.ticket.start, p.ticket.stop);
    if (result == CUDA_ERROR_NOT_READY) return;
    const Pending done = p;
    pending_.pop_front();
    no_longer(done);
    const Ticket& t = done.ticket;
    t.context->free_events.push_back(t.start);
    t.context->free_events.push_back(t.stop);
    if (result != CUDA_SUCCESS) {
      if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
      continue;
    }
    timed(done, 1e3 * static_cast<double>(milliseconds));
  }
}

template <class Which>
void Launches::end_contexts(const Which& is_meant) noexcept try {
  if (!is_usable_ || !process_.is_this()) return;
  drain();
  const std::lock_guard lock(mutex_);
  signatures_.forget_green();
  for (Context& context : signatures_.contexts()) {
    if (context.handle == nullptr || !is_meant(context)) continue;
    forget_records(context);
    std::erase_if(pending_, [&](const Pending& p) {
      const Ticket& t = p.ticket;
      if (t.context != &context) return false;
      if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
      no_longer(p);
      return true;
    });
    graphs_.forget_context(context.handle);
    signatures_.forget_context(context);
  }
} catch (...) {
}

void Launches::context_ends(CUcontext context) noexcept {
  end_contexts([&](const Context& c) { return c.handle == context; });
}

void Launches::device_ends(CUdevice device) noexcept {
  end_contexts([&](const Context& c) { return c.device == device; });
}

void Launches::device_released(CUdevice device) noexcept {
  unsigned flags = 0;
  int is_active = 0;
  const auto ask = driver_.primary_state;
  if (ask != nullptr && ask(device, &flags, &is_active) == CUDA_SUCCESS && is_active != 0) return;
  device_ends(device);
}

void Launches::module_ends() noexcept try {
  if (!is_usable_ || !process_.is_this()) return;
  const std::lock_guard lock(mutex_);
  signatures_.forget_handles();
} catch (...) {
}

void Launches::look_for_stuck() noexcept try {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_stuck_noted_ || !process_.is_this()) return;
  const Relaxed relaxed(driver_);
  const auto first = std::ranges::find_if(
      pending_, [&](const Pending& p) { return driver_.event_query(p.ticket.stop) == CUDA_ERROR_NOT_READY; });
  if (first == pending_.end() || first->ticket.draw.arm < first_level ||
      driver_.event_query(first->ticket.start) != CUDA_SUCCESS) {  // not its turn yet
    running_since_s_ = 0;
    return;
  }
  const Ticket& t = first->ticket;
  if (running_since_s_ == 0 || running_ != t.sequence) {
    running_ = t.sequence;
    running_since_s_ = now_s();
  }
  if (now_s() - running_since_s_ < stuck_after_s) return;
  is_stuck_noted_ = true;
  const Signature& s = *t.signature;
  const auto level = static_cast<std::size_t>(t.draw.arm - first_level);
  const int blocks = s.versions.empty() ? s.blocks[level] : s.versions[level].blocks_per_sm;
  const std::string said = s.name + " with " + std::to_string(blocks) + " of " +
                           std::to_string(s.blocks_per_sm) +
                           " blocks per SM does not end: its blocks may wait for each other";
  journal_.line({"note", said});
  journal_.leave(stuck_file, said);
} catch (...) {
}

void Launches::end() noexcept {
  if (!process_.is_this()) return;
  drain();
  note_lost_records();
  if (watchdog_) watchdog_->end();
}

void Launches::drain() noexcept try {
  if (!is_usable_ || !process_.is_this()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const Relaxed relaxed(driver_);
  poll();
  if (has_records_ || !awaited_.empty()) poll_records(true);
} catch (...) {
}

}  // namespace occbench::attach
