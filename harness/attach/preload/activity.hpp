// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of kernels, as a source of times: when each began and ended on the device. One session in a
// process, which ends at once when the program itself, or another tool, begins to use CUPTI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/overlap.hpp"

namespace occbench::attach::activity {

/// Begins, with a context current. Returns why it has not; empty: it has. Once in a process.
[[nodiscard]] std::string begin(Timing asked, int driver_version);
/// Whether this thread is in CUPTI at our bidding: what CUPTI asks for itself then is none of the program's.
[[nodiscard]] bool is_within() noexcept;
/// Whether kernels are recorded.
[[nodiscard]] bool is_on() noexcept;
/// Why it ended before the process; empty: it did not.
[[nodiscard]] std::string why_ended();

/// Before a launch of this thread, and after it: its call's number, by which its records are known; 0: none.
void forget_correlation() noexcept;
[[nodiscard]] std::uint32_t correlation() noexcept;

/// Asks CUPTI for the kernels that have ended since, graphs' as well.
void flush() noexcept;
[[nodiscard]] std::vector<Ran> take();
void end(const char* why) noexcept;
/// Records that had no room, or that CUPTI could not deliver into any.
[[nodiscard]] std::uint64_t dropped() noexcept;

/// The program, or another tool in the process, is about to use CUPTI by this function: it is theirs.
void give_way(const char* function) noexcept;
/// The libcupti in use; null: none.
[[nodiscard]] void* library() noexcept;
/// `original`, cuptiActivityRegisterCallbacks, or what is to be called in its place after giving way: where
/// CUPTI has buffers of ours left, what comes in them is handed on to the program's.
[[nodiscard]] void* registering(void* original) noexcept;

}  // namespace occbench::attach::activity
