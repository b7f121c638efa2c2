// SPDX-License-Identifier: Apache-2.0
// An experiment of one's own, on kernels of either form: docs/extending.md.
#pragma once

#include "benchmarks/framework/sweep.hpp"
