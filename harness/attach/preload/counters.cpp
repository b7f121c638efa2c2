// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/counters.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "harness/attach/preload/activity.hpp"
#include "harness/attach/preload/signal_handler.hpp"

namespace occbench::attach {

namespace {

// CUPTI takes 0.1 s to read a window of 600 samples of any length, so longer samples see more.
constexpr std::uint32_t sample_ns = 10'000;
constexpr std::chrono::microseconds window_time(5'000);  // a window has fewer than max_samples
constexpr int shortest_pause_ms = 20, longest_pause_ms = 100;
constexpr std::size_t max_windows = 16;  // waiting for records
constexpr std::size_t max_runs = 1 << 17;

std::atomic<Counters*> releasing{nullptr};  ///< the instance of this process

template <class Record>
Record record_of(std::size_t signature, const CounterSums& of) {
  Record record{.signature = static_cast<int>(signature), .samples = static_cast<std::int64_t>(of.samples)};
  for (std::size_t q = 0; q < quantity_count; ++q) {
    record.us.append(q == 0 ? "" : ",").append(std::to_string(1e-3 * of.ns[q]));
    record.share_us.append(q == 0 ? "" : ",").append(std::to_string(1e-3 * of.share_ns[q]));
  }
  return record;
}

}  // namespace

/// Does nothing in a fork's child, which does not have the thread.
void Counters::release_at_exit() {
  Counters& counters = *releasing.load();
  if (counters.process_.is_caller() && !may_be_in_handler(Ending::exit)) counters.release();
}

void Counters::begin(void* library, int device) {
  has_begun_ = true;
  library_ = library;
  device_ = device;
  releasing = this;
  activity::release_at_end([] { releasing.load()->release(); });
  const std::lock_guard lock(ending_);
  thread_.emplace([this] { sample(); }, [this] { return pause(); });
  is_on_ = true;
}

/// Runs in the thread. Pauses are random: with equal pauses, a program with steps of the same length would
/// show the same kernels in every window.
std::chrono::milliseconds Counters::pause() {
  return std::chrono::milliseconds(
      std::uniform_int_distribution(shortest_pause_ms, longest_pause_ms)(random_));
}

/// Runs in the thread; samples one window. An exception would end the program.
void Counters::sample() noexcept try {
  if (!is_on()) return;
  const activity::CuptiCallGuard calling;
  std::string error;
  if (sampler_ == nullptr) {
    OpenedSampler opened = open_pm_sampler(library_, device_, sample_ns);
    sampler_ = std::move(opened.sampler);
    error = opened.why;
    std::atexit(release_at_exit);  // opening loads libnvperf, whose destructors must run later
  }
  PmWindow found;
  if (error.empty()) error = sampler_->start(windows_sampled_ % sampler_->sets());
  if (error.empty()) {
    std::this_thread::sleep_for(window_time);
    found = sampler_->stop();
    ++windows_sampled_;
    error = found.error;
  }
  const std::lock_guard lock(mutex_);
  if (error.empty() && windows_.size() < max_windows) windows_.push_back(std::move(found));
  if (error.empty()) return;
  notes_.push_back((windows_sampled_ > 0 ? "no more counters: " : "no counters: ") + error);
  is_on_ = false;
  has_failed_ = true;
} catch (...) {
  is_on_ = false;
}

void Counters::join(bool is_last) {
  std::vector<PmWindow> ready;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t latest = runs_.empty() ? 0 : runs_.back().start_ns;
    while (!windows_.empty() &&
           (is_last || windows_.front().samples.empty() || windows_.front().samples.back().end_ns < latest)) {
      ready.push_back(std::move(windows_.front()));
      windows_.pop_front();
    }
    for (const std::string& note : std::exchange(notes_, {})) writer_.note(note);
  }
  if (!ready.empty()) std::ranges::sort(runs_, {}, &CountedRun::start_ns);
  for (const PmWindow& window : ready) write(window);
  if (!ready.empty() || runs_.size() > max_runs) {
    const std::uint64_t done =
        ready.empty() || ready.back().samples.empty() ? 0 : ready.back().samples.back().end_ns;
    std::erase_if(runs_, [&](const CountedRun& run) { return run.end_ns < done; });
    if (runs_.size() > max_runs)
      runs_.erase(runs_.begin(), runs_.end() - static_cast<std::ptrdiff_t>(max_runs / 2));
  }
}

void Counters::write(const PmWindow& window) {
  if (window.has_overflowed && ++overflows_ == 1)
    writer_.note("counters: the sample buffer overflowed; later samples of the window are missing");
  SumsOfSignatures sums;
  add_samples(window.samples, runs_, sums);
  for (const auto& [signature, of] : sums) {
    if (writer_.has_room()) writer_.write(record_of<CountersRecord>(signature, of.seen));
    if (writer_.has_room()) writer_.write(record_of<WholeCountersRecord>(signature, of.whole));
  }
}

void Counters::note_if_none() noexcept try {
  if (has_begun_ && windows_sampled_ == 0 && !has_failed_)
    writer_.note("no counters: the program launched kernels for too short a time");
} catch (...) {
}

void Counters::release() noexcept try {
  const std::lock_guard lock(ending_);
  is_on_ = false;
  if (!thread_) return;
  thread_->end();
  thread_.reset();
  const activity::CuptiCallGuard calling;
  sampler_.reset();
} catch (...) {
}

}  // namespace occbench::attach
