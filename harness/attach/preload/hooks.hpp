// SPDX-License-Identifier: Apache-2.0
// The replacements of the driver's functions, and their types.
#pragma once

#include <cuda.h>

namespace occbench::attach {

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, CUstream, void**, void**);
using LaunchCooperative = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, CUstream, void**);
using LaunchEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using GraphLaunch = CUresult (*)(CUgraphExec, CUstream);
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t);
using GetProcAddressV2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using Destroy = CUresult (*)(void*);
using Profiler = CUresult (*)();
/// Several signatures with the same first argument.
using GraphUpdate = CUresult (*)(void*, void*, void*, void*);
/// Three signatures with the same first two arguments; the others are passed on unread.
using Instantiate = CUresult (*)(CUgraphExec*, CUgraph, void*, void*, void*);

using ModuleLoad = CUresult (*)(void*, const void*, void*, void*, void*);  // the last three are optional
using LibraryLoad = CUresult (*)(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                 void**, unsigned);

/// Whether functions of this name are hooked.
[[nodiscard]] bool is_hooked(const char* name) noexcept;

/// The replacement of this original; the original itself if it is not hooked, is already ours, or no slot is
/// free.
[[nodiscard]] void* replacement_for(const char* name, void* original, bool is_per_thread) noexcept;

}  // namespace occbench::attach
