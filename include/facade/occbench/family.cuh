// SPDX-License-Identifier: Apache-2.0
// The suite's own form of a kernel, for families of one's own: docs/extending.md.
#pragma once

#include "kernels/family.cuh"
