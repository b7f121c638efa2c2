// SPDX-License-Identifier: Apache-2.0
// Whether this is a build of preset asan: there a loop takes up to twenty times as long, and fewer iterations
// run the same code.
#pragma once

namespace occbench {

#ifdef __SANITIZE_ADDRESS__
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

}  // namespace occbench
