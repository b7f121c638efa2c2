// SPDX-License-Identifier: Apache-2.0
// The suite's kernel interface, for custom families: docs/extending.md.
#pragma once

#include "kernels/family.cuh"
