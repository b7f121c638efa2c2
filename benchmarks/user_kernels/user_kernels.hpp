// SPDX-License-Identifier: Apache-2.0
// Errors of the registration of user kernels, which runs before main.
#pragma once

#include <string>

namespace occbench {

/// One line on the first kernel with invalid facts; empty without one.
const std::string& registration_error();

}  // namespace occbench
