// SPDX-License-Identifier: Apache-2.0
// Defines a custom experiment: docs/extending.md.
#pragma once

#include "benchmarks/framework/sweep.hpp"
