// SPDX-License-Identifier: Apache-2.0
// What went wrong when user kernels were added, before main.
#pragma once

#include <string>

namespace occbench {

/// One line on the first kernel whose facts cannot be; empty: all is well.
const std::string& registration_error();

}  // namespace occbench
