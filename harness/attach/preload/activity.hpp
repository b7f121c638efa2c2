// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of kernels: when each began and ended on the device. A process has one session, which ends
// when the program itself, or another tool, begins to use CUPTI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/overlap.hpp"

namespace occbench::attach::activity {

/// Begins the session; a context must be current. Returns why it failed, else "". Call once per process.
[[nodiscard]] std::string begin(Timing timing, int driver_version);
/// Whether this library is calling CUPTI in this thread: CUPTI's own lookups are not the program's.
[[nodiscard]] bool is_within() noexcept;
/// Whether kernels are recorded.
[[nodiscard]] bool is_on() noexcept;
/// Why the session ended before the process; empty if it did not.
[[nodiscard]] std::string why_ended();

/// Called before a launch; afterwards correlation() is CUPTI's number of this thread's launch, 0: none.
void forget_correlation() noexcept;
[[nodiscard]] std::uint32_t correlation() noexcept;

/// Marks this thread's CUPTI calls as the library's own during its lifetime.
class CuptiCallGuard {
 public:
  CuptiCallGuard();
  CuptiCallGuard(const CuptiCallGuard&) = delete;
  CuptiCallGuard& operator=(const CuptiCallGuard&) = delete;
  ~CuptiCallGuard();

 private:
  bool before_;
};

/// `release` frees the other CUPTI resources when the session ends; it may run in any thread.
void release_at_end(void (*release)()) noexcept;

/// Asks CUPTI for the records of all kernels that have ended, in graphs too.
void flush() noexcept;
[[nodiscard]] std::vector<KernelRun> take();
void end(const char* why) noexcept;
/// Records that were lost because too many waited for take().
[[nodiscard]] std::uint64_t dropped_records() noexcept;

/// The program, or another tool in the process, is about to use CUPTI by this function: ends the session.
void yield_to(const char* function) noexcept;
/// The libcupti in use, or null.
[[nodiscard]] void* library() noexcept;
/// Returns `original` (cuptiActivityRegisterCallbacks), or a replacement while CUPTI still has buffers of
/// ours: it passes their records on to the program.
[[nodiscard]] void* register_callbacks_for(void* original) noexcept;

}  // namespace occbench::attach::activity
