// SPDX-License-Identifier: Apache-2.0
// Counters of kernels by PM sampling, next to CUPTI's records: a thread samples the device in short windows,
// and a sample belongs to the kernel whose record contains it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/attach/preload/counter_sums.hpp"
#include "harness/attach/preload/own_process.hpp"
#include "harness/attach/preload/pm_sampler.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/watchdog.hpp"

namespace occbench::attach {

/// Not thread-safe, except release() and is_on().
class Counters {
 public:
  explicit Counters(RecordWriter& writer) : writer_(writer) {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters() { release(); }

  /// Starts to sample the device, once. `library`: libcupti's handle.
  void begin(void* library, int device);
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }
  [[nodiscard]] int device() const { return device_; }
  /// Runs must be added in the order of their starts.
  void add(const CountedRun& run, bool goes_on) { add_run(runs_, run, goes_on); }
  /// Joins windows with runs that cover them and writes the sums; `is_last`: no more runs will come.
  void join(bool is_last);
  /// Call after release(): writes a note if nothing was sampled.
  void note_if_none() noexcept;
  /// Ends the thread and releases the counters; may run in any thread.
  void release() noexcept;

 private:
  static void release_at_exit();
  std::chrono::milliseconds pause();
  void sample() noexcept;
  void write(const PmWindow& window);

  RecordWriter& writer_;
  const OwnProcess process_;
  bool has_begun_ = false;
  std::atomic<bool> is_on_{false};
  void* library_ = nullptr;
  int device_ = -1;
  std::vector<CountedRun> runs_;
  std::uint64_t overflows_ = 0;

  std::mutex ending_;  ///< guards the thread
  std::optional<Watchdog> thread_;
  std::minstd_rand random_;  ///< used by the thread only, like the following members
  std::unique_ptr<PmSampler> sampler_;
  std::size_t windows_sampled_ = 0;
  bool has_failed_ = false;

  std::mutex mutex_;  ///< guards the following members, which the thread fills
  std::deque<PmWindow> windows_;
  std::vector<std::string> notes_;
};

}  // namespace occbench::attach
