// SPDX-License-Identifier: Apache-2.0
// Whether a call may come from a signal handler, which may have interrupted the holder of a lock.
#pragma once

namespace occbench::attach {

/// How a process ends: with the handlers of exit(), which no signal handler may call; or by _exit(), which
/// any may.
enum class Ending { exit, at_once };

/// Of the calling thread, as far as signal masks and dispositions tell: a signal is blocked while it is
/// handled. For Ending::at_once the answer is true in doubt. Async-signal-safe.
[[nodiscard]] bool may_be_in_handler(Ending how) noexcept;

}  // namespace occbench::attach
