// SPDX-License-Identifier: Apache-2.0
// All public headers.
#pragma once

#include <occbench/experiment.hpp>
#include <occbench/family.cuh>
#include <occbench/kernel.cuh>
#include <occbench/version.hpp>
