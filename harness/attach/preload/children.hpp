// SPDX-License-Identifier: Apache-2.0
// The programs that an attached process starts: those that cannot be attached to are noted. And the folder
// for notes after a chroot.
#pragma once

#include <sys/types.h>

namespace occbench::attach {

/// A descriptor to open files of the folder by name after chroot; -1: paths still work.
[[nodiscard]] int folder_descriptor() noexcept;

/// This process ends, and no hooked function was looked up. Where it has loaded the driver nevertheless, it
/// bypassed this library, which is noted. Async-signal-safe.
void note_unseen_driver() noexcept;

}  // namespace occbench::attach
