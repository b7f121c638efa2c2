// SPDX-License-Identifier: Apache-2.0
// Launches whose time is that of their kernel's record by CUPTI (activity.hpp).
#include <unistd.h>

#include <algorithm>
#include <string>

#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/launches.hpp"

namespace occbench::attach {

namespace {

constexpr double flush_period_s = 0.01;         // records come in so often; sooner at first,
constexpr double flush_share = 0.005;           // and never in more of the launching thread's time than that
constexpr std::uint64_t enough_records = 1000;  // of them some are of launches that were to be timed

}  // namespace

void Launches::choose_timing() {
  is_timing_chosen_ = true;
  if (options_.timing == Timing::events || options_.apply) return;
  int version = 0;
  if (driver_.driver_get_version != nullptr) driver_.driver_get_version(&version);
  const std::string why = options_.all                  ? "--all watches launches by events"
                          : !options_.registers.empty() ? "--registers times by events"
                                                        : activity::begin(options_.timing, version);
  has_records_ = why.empty();
  if (has_records_) budget_.timing_costs(0);
  journal_.line({"timing", has_records_ ? "activity" : "events", why});
}

void Launches::look_after_records() {
  if (journal_.is_full()) {  // nobody would read them
    if (has_records_) activity::end("");
  } else if (!is_timing_chosen_) {
    choose_timing();
  }
  if (has_records_ || !awaited_.empty()) poll_records(false);
}

void Launches::note_lost_records() noexcept try {
  if (const std::uint64_t lost = activity::dropped(); lost > 0)
    journal_.line({"note", std::to_string(lost) + " of CUPTI's records had no room"});
} catch (...) {
}

bool Launches::begin_recorded(Ticket& t) {
  t.flags = static_cast<std::uint8_t>(by_record | (t.draw.is_warm_up ? warm_up : 0) |
                                      (t.draw.of_block ? drawn : 0));
  activity::forget_correlation();
  return true;
}

void Launches::no_record(const Ticket& t) {
  if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
}

void Launches::forget_records(const Context& context) {
  std::erase_if(awaited_, [&](const auto& entry) {
    const Ticket& t = entry.second.ticket;
    if (t.context == &context) no_record(t);
    return t.context == &context;
  });
}

void Launches::await_record(Ticket& t, CUresult result) {
  const std::uint32_t call = activity::correlation();
  if (result != CUDA_SUCCESS || call == 0) return no_record(t);
  if (awaited_.size() >= most_pending) {  // the GPU's queues hold fewer: that record is lost
    no_record(awaited_.begin()->second.ticket);
    awaited_.erase(awaited_.begin());
  }
  awaited_.insert_or_assign(call, Pending{.ticket = t, .thread = thread_number()});
}

void Launches::take_records(const std::vector<Ran>& records) {
  for (const Ran& r : records) {
    if (r.graph_node != 0) continue;
    ++recorded_;
    const auto found = awaited_.find(r.correlation);
    if (found == awaited_.end()) continue;
    ++matched_;
    Pending done = found->second;
    awaited_.erase(found);
    if (r.is_overlapped) done.ticket.flags |= overlapped;
    timed(done, r.time_us());
  }
}

void Launches::poll_records(bool is_last) {
  const bool has_ended = !activity::is_on();
  const double now = now_s();
  if (!has_ended && !is_last && now < next_flush_s_) return;
  activity::flush();
  const double cost_s = now_s() - now;
  flush_pause_s_ = std::min(2 * flush_pause_s_, flush_period_s);
  next_flush_s_ = now + std::max(flush_pause_s_, cost_s / flush_share);
  take_records(overlaps_.add(activity::take()));
  if (matched_ == 0 && recorded_ > enough_records) activity::end("CUPTI's records are of no launch seen");
  if (has_ended || is_last) take_records(overlaps_.add({}));
  if (!has_ended) return;
  for (const auto& [call, pending] : awaited_) no_record(pending.ticket);
  awaited_.clear();
  if (!has_records_) return;
  has_records_ = false;
  budget_.timing_costs(events_us);
  const std::string why = activity::why_ended();
  if (why.empty()) return;  // with the process
  journal_.line({"timing", "events", why + "; until then CUPTI's records were taken"});
  for (Signature& s : signatures_.all())
    if (s.schedule) s.schedule->restart();  // events take longer: no arm may have both
}

}  // namespace occbench::attach
