// SPDX-License-Identifier: Apache-2.0
// What nvcc alone compiles, for fuzzers, which are built without it and launch nothing.
#include <cstdlib>

#include "harness/device/instruments.hpp"

const void* occbench::instruments::empty_entry() { std::abort(); }
