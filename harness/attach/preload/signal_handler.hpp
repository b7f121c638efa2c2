// SPDX-License-Identifier: Apache-2.0
// Whether a call may come from a signal handler that interrupted the holder of a lock.
#pragma once

namespace occbench::attach {

/// How a process ends: by exit(), which no signal handler may call, or by _exit(), which any may call.
enum class Ending { exit, at_once };

/// For the calling thread, judged by signal masks and dispositions: a signal is blocked while it is handled.
/// For Ending::at_once the answer is true if in doubt. Async-signal-safe.
[[nodiscard]] bool may_be_in_handler(Ending how) noexcept;

}  // namespace occbench::attach
