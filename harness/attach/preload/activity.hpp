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

/// Begins the session, with a context current. Returns why it could not; empty: it did. Once in a process.
[[nodiscard]] std::string begin(Timing timing, int driver_version);
/// Whether this thread is in a call of ours to CUPTI, whose own lookups are none of the program's.
[[nodiscard]] bool is_within() noexcept;
/// Whether kernels are recorded.
[[nodiscard]] bool is_on() noexcept;
/// Why it ended before the process; empty: it did not.
[[nodiscard]] std::string why_ended();

/// Before a launch of this thread, and after it: its call's number, by which its records are known; 0: none.
void forget_correlation() noexcept;
[[nodiscard]] std::uint32_t correlation() noexcept;

/// While it lives, this thread's calls to CUPTI are ours.
class Calling {
 public:
  Calling();
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
  ~Calling();

 private:
  bool before_;
};

/// `release` gives back what else is taken of CUPTI: called when the session ends, in any thread.
void release_at_end(void (*release)()) noexcept;

/// Asks CUPTI for the kernels that have ended since, those of graphs included.
void flush() noexcept;
[[nodiscard]] std::vector<Ran> take();
void end(const char* why) noexcept;
/// Records that had no room, or that CUPTI could not deliver into any.
[[nodiscard]] std::uint64_t dropped_records() noexcept;

/// The program, or another tool in the process, is about to use CUPTI by this function: ends the session.
void yield_to(const char* function) noexcept;
/// The libcupti in use; null: none.
[[nodiscard]] void* library() noexcept;
/// `original`, cuptiActivityRegisterCallbacks, or a function in its place: where CUPTI still has buffers of
/// ours, their records are passed on to the program's.
[[nodiscard]] void* register_callbacks_for(void* original) noexcept;

}  // namespace occbench::attach::activity
