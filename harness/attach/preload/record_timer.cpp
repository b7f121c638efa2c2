// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/record_timer.hpp"

#include <algorithm>
#include <string>

#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/event_timer.hpp"

namespace occbench::attach {

namespace {

constexpr double flush_period_s = 0.01;         // between flushes; shorter at first,
constexpr double flush_share = 0.005;           // of the launching thread's time, at most
constexpr std::size_t max_awaited = 1 << 16;    // launches
constexpr std::uint64_t enough_records = 1000;  // some of them should belong to timed launches

}  // namespace

void RecordTimer::choose() {
  is_chosen_ = true;
  if ((options_.timing == Timing::events && !options_.counters) || options_.apply) return;
  int version = 0;
  if (driver_.driver_get_version != nullptr) driver_.driver_get_version(&version);
  const std::string why = options_.all                  ? "--all watches launches by events"
                          : !options_.registers.empty() ? "--registers times by events"
                                                        : activity::begin(options_.timing, version);
  is_on_ = why.empty();
  if (is_on_) budget_.set_timing_us(0);
  if (options_.counters && !is_on_) writer_.note("no counters: " + why);
  writer_.write(TimingRecord{.source = is_on_ ? "activity" : "events", .why_events = why});
}

void RecordTimer::look_after() {
  if (writer_.is_full()) {  // the times could not be written
    if (is_on_) activity::end("");
  } else if (!is_chosen_) {
    choose();
  }
  if (is_on_ || !awaited_.empty()) poll(false);
}

void RecordTimer::note_lost() noexcept try {
  if (const std::uint64_t lost = activity::dropped_records(); lost > 0)
    writer_.note(std::to_string(lost) + " of CUPTI's records had no room");
} catch (...) {
}

void RecordTimer::start(InterceptedLaunch& t) {
  t.flags = static_cast<std::uint8_t>(by_record | (t.draw.is_warm_up ? warm_up : 0) |
                                      (t.draw.of_block ? drawn : 0));
  activity::forget_correlation();
}

void RecordTimer::forget(const Context& context) {
  std::erase_if(awaited_, [&](const auto& entry) {
    const InterceptedLaunch& t = entry.second.intercepted;
    if (t.context == &context) add_none(t);
    return t.context == &context;
  });
}

void RecordTimer::await(InterceptedLaunch& t, CUresult result) {
  const std::uint32_t call = activity::correlation();
  if (result != CUDA_SUCCESS || call == 0) return add_none(t);
  if (awaited_.size() >= max_awaited) {  // more than the GPU's queues hold: the oldest record is lost
    add_none(awaited_.begin()->second.intercepted);
    awaited_.erase(awaited_.begin());
  }
  awaited_.insert_or_assign(call, Pending{.intercepted = t, .thread = thread_number()});
}

void RecordTimer::count_graph(const InterceptedLaunch& t) {
  const std::uint32_t call = activity::correlation();
  if (call == 0 || t.context == nullptr || t.context->device != counters_.device()) return;
  if (counted_graphs_.size() >= max_awaited) counted_graphs_.erase(counted_graphs_.begin());
  counted_graphs_[call] = t.counted_graph->number;
}

/// Overlapped runs count for no signature.
void RecordTimer::count(const KernelRun& r, std::size_t signature, bool goes_on) {
  if (!counters_.has_begun() || static_cast<int>(r.device) != counters_.device()) return;
  counters_.add({r.start_ns, r.end_ns, r.is_overlapped ? CountedRun::none : signature}, goes_on);
}

void RecordTimer::take(const std::vector<KernelRun>& records) {
  for (const KernelRun& r : records) {
    const bool goes_on = r.correlation == last_alone_;
    last_alone_ = r.is_overlapped ? 0 : r.correlation;
    if (const auto graph = counted_graphs_.find(r.correlation); graph != counted_graphs_.end()) {
      count(r, graph->second, goes_on);
      continue;
    }
    const auto found = r.graph_node != 0 ? awaited_.end() : awaited_.find(r.correlation);
    const bool is_untouched = found != awaited_.end() && found->second.intercepted.draw.arm == untouched;
    count(r, is_untouched ? found->second.intercepted.signature->number : CountedRun::none, false);
    if (r.graph_node != 0) continue;
    ++recorded_;
    if (found == awaited_.end()) continue;
    ++matched_;
    Pending done = found->second;
    awaited_.erase(found);
    const InterceptedLaunch& t = done.intercepted;
    if (t.is_only_counted) continue;
    if (r.is_overlapped) done.intercepted.flags |= overlapped;
    times_.add(done, r.time_us());
  }
}

void RecordTimer::drain() {
  if (is_on_ || !awaited_.empty()) poll(true);
}

void RecordTimer::poll(bool is_last) {
  const bool has_ended = !activity::is_on();
  const double now = now_s();
  if (!has_ended && !is_last && now < next_flush_s_) return;
  activity::flush();
  const double cost_s = now_s() - now;
  flush_pause_s_ = std::min(2 * flush_pause_s_, flush_period_s);
  next_flush_s_ = now + std::max(flush_pause_s_, cost_s / flush_share);
  take(overlaps_.add(activity::take()));
  if (matched_ == 0 && recorded_ > enough_records) activity::end("CUPTI's records match no launch");
  if (has_ended || is_last) take(overlaps_.add({}));
  if (counters_.has_begun()) counters_.join(has_ended || is_last);
  if (has_ended) change_to_events();
}

void RecordTimer::change_to_events() {
  for (const auto& [call, pending] : awaited_) add_none(pending.intercepted);
  awaited_.clear();
  if (!is_on_) return;
  is_on_ = false;
  budget_.set_timing_us(events_us);
  const std::string why = activity::why_ended();
  if (why.empty()) return;  // the process ends
  writer_.write(
      TimingRecord{.source = "events", .why_events = why + "; until then CUPTI's records were taken"});
  for (Signature& s : signatures_.all())
    if (s.schedule) s.schedule->restart();  // events take longer: no arm may mix both
}

}  // namespace occbench::attach
