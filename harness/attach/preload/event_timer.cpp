// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/event_timer.hpp"

#include <algorithm>

namespace occbench::attach {

namespace {

constexpr std::size_t poll_from = 16;  // times are read in batches

}  // namespace

bool EventTimer::is_other_stream_pending(CUstream stream) const {
  return pending_in_.size() > (pending_in_.contains(stream) ? 1U : 0U);
}

void EventTimer::remove_from_stream(CUstream stream) {
  const auto found = pending_in_.find(stream);
  if (--found->second == 0) pending_in_.erase(found);
}

bool EventTimer::start(InterceptedLaunch& t, Context& context) {
  if (is_other_stream_pending(t.stream)) poll();
  t.flags = static_cast<std::uint8_t>((t.draw.is_warm_up ? warm_up : 0) |
                                      (is_other_stream_pending(t.stream) ? overlapped : 0) |
                                      (t.draw.of_block ? drawn : 0));
  for (CUevent* event : {&t.start, &t.stop}) {
    if (!context.free_events.empty()) {
      *event = context.free_events.back();
      context.free_events.pop_back();
    } else if (driver_.event_create(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      *event = nullptr;
    }
  }
  if (t.start != nullptr && t.stop != nullptr &&
      driver_.event_record(t.start, t.launch_stream()) == CUDA_SUCCESS)
    return true;
  for (CUevent event : {t.start, t.stop})
    if (event != nullptr) context.free_events.push_back(event);
  return false;
}

void EventTimer::await(const Pending& pending) {
  pending_.push_back(pending);
  ++pending_in_[pending.intercepted.stream];
}

void EventTimer::cancel(const InterceptedLaunch& t) {
  times_.add_none(t);
  t.context->free_events.push_back(t.start);
  t.context->free_events.push_back(t.stop);
}

bool EventTimer::make_room() {
  if (pending_.size() >= poll_from) poll();
  return pending_.size() < max_pending;
}

void EventTimer::poll() {
  while (!pending_.empty()) {
    const Pending& first = pending_.front();
    float milliseconds = 0;
    const CUresult result =
        driver_.event_elapsed_time(&milliseconds, first.intercepted.start, first.intercepted.stop);
    if (result == CUDA_ERROR_NOT_READY) return;
    const Pending done = first;
    pending_.pop_front();
    const InterceptedLaunch& t = done.intercepted;
    remove_from_stream(t.stream);
    t.context->free_events.push_back(t.start);
    t.context->free_events.push_back(t.stop);
    if (result == CUDA_SUCCESS)
      times_.add(done, 1e3 * static_cast<double>(milliseconds));
    else
      times_.add_none(t);
  }
}

void EventTimer::forget(const Context& context) {
  std::erase_if(pending_, [&](const Pending& p) {
    if (p.intercepted.context != &context) return false;
    times_.add_none(p.intercepted);
    remove_from_stream(p.intercepted.stream);
    return true;
  });
}

const InterceptedLaunch* EventTimer::first_running() const {
  const auto first = std::ranges::find_if(pending_, [&](const Pending& p) {
    return driver_.event_query(p.intercepted.stop) == CUDA_ERROR_NOT_READY;
  });
  return first == pending_.end() ? nullptr : &first->intercepted;
}

}  // namespace occbench::attach
