// SPDX-License-Identifier: Apache-2.0
// The programs that an attached process starts: those that cannot be attached to are noted. And the folder of
// notes, where the process leaves its root.
#pragma once

#include <sys/types.h>

namespace occbench::attach {

/// Where files of the folder can be opened, by name alone, after chroot; -1: by their paths still.
[[nodiscard]] int held_folder() noexcept;

/// This process ends, and no hooked function was asked for. Where it has the driver nevertheless, it asked
/// past this library, which is noted. Async-signal-safe.
void note_unseen_driver() noexcept;

}  // namespace occbench::attach
