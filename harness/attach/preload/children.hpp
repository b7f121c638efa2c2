// SPDX-License-Identifier: Apache-2.0
// Notes the programs that an attached process starts and that cannot be attached to, and finds the folder for
// notes after a chroot.
#pragma once

#include <sys/types.h>

namespace occbench::attach {

/// A descriptor to open files of the folder by name after chroot; -1: paths still work.
[[nodiscard]] int folder_descriptor() noexcept;

/// Called when the process ends and no hooked function was looked up: if it has loaded the driver, it
/// bypassed this library, which is noted. Async-signal-safe.
void note_unseen_driver() noexcept;

}  // namespace occbench::attach
