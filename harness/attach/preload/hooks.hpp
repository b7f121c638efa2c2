// SPDX-License-Identifier: Apache-2.0
// Functions of ours in place of the driver's.
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
using Ends = CUresult (*)(void*);
using Profiler = CUresult (*)();
/// Of several signatures with the same first argument.
using GraphUpdate = CUresult (*)(void*, void*, void*, void*);
/// Of three signatures with the same two first arguments; what one of them has not is not looked at.
using Instantiate = CUresult (*)(CUgraphExec*, CUgraph, void*, void*, void*);

using ModuleLoad = CUresult (*)(void*, const void*, void*, void*, void*);  // the last three, if it has them
using LibraryLoad = CUresult (*)(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                 void**, unsigned);

/// Whether functions of this name are stood in for.
[[nodiscard]] bool is_hooked(const char* name) noexcept;

/// Our function for this original; the original itself where it is none that is hooked, ours already, or all
/// slots are taken.
[[nodiscard]] void* ours_for(const char* name, void* original, bool is_per_thread) noexcept;

/// Before the process ends without its handlers: reads the times that are there, where that cannot hang.
/// Async-signal-safe.
void drain_at_exit() noexcept;

}  // namespace occbench::attach
