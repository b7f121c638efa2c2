// SPDX-License-Identifier: Apache-2.0
// The device of the fake driver, on which a launch only takes its time: what the driver's calls share of it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuStreamDestroy

#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif

/// A call of the driver, of that name whatever cuda.h makes of it: no other macro may hand the name on.
#define DECLARE_FAKE(type, name, parameters) \
  extern "C" __attribute__((visibility("default"))) type fake_##name parameters __asm__(#name)
#define FAKE(type, name, parameters)                                                            \
  extern "C" __attribute__((visibility("default"))) type fake_##name parameters __asm__(#name); \
  type fake_##name parameters

// Those that cuGetProcAddress knows, of other files.
DECLARE_FAKE(CUresult, cuCtxGetCurrent, (CUcontext*));
DECLARE_FAKE(CUresult, cuCtxSetCurrent, (CUcontext));
DECLARE_FAKE(CUresult, cuCtxCreate_v2, (CUcontext*, unsigned, CUdevice));
DECLARE_FAKE(CUresult, cuCtxDestroy_v2, (CUcontext));
DECLARE_FAKE(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice));
DECLARE_FAKE(CUresult, cuDevicePrimaryCtxReset_v2, (CUdevice));
DECLARE_FAKE(CUresult, cuGreenCtxCreate, (CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned));
DECLARE_FAKE(CUresult, cuGreenCtxDestroy, (CUgreenCtx));
DECLARE_FAKE(CUresult, cuCtxFromGreenCtx, (CUcontext*, CUgreenCtx));
DECLARE_FAKE(CUresult, cuGreenCtxStreamCreate, (CUstream*, CUgreenCtx, unsigned, int));

namespace fake {

constexpr int sms = 132, smem_per_sm = 233'472, reserved = 1'024, optin = 232'448, max_threads = 2'048,
              max_blocks = 32, registers_per_sm = 65'536;

struct Function {
  std::string name;
  int registers = 32, static_smem = 0, max_dynamic = 49'152;
  bool is_kernel = false;  ///< a CUkernel, which is not a function
  bool is_set = false;     ///< by cuFuncSetAttribute, beside which cuKernelSetAttribute does not count
  bool is_capped = false;  ///< compiled with .maxnreg
  Function* function = this;
};
inline Function* function_of(CUfunction f) { return reinterpret_cast<Function*>(f); }

/// A launch as the program asks for it, and as a graph holds it: `params` point into `values`.
struct KernelLaunch {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;  ///< first, for cuGraphNodeGetType
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<unsigned char> values;
  void* pointers[2] = {};
  bool is_alive = true;

  void copy_values();
};

extern std::mutex mutex;  ///< of all that follows
extern double clock_us;
extern std::uint64_t launches, changed;
extern std::uint64_t result;  ///< that all arguments of what was launched went into
extern std::atomic<bool> is_stuck;

/// A CUPTI that is told of each launch, and of its kernel when it has run: the call, and times.
using Tracer = void (*)(std::uint32_t, double, double);
extern std::atomic<Tracer> tracer;
void trace(double start_us = 0, double end_us = -1);

/// Resident blocks of an SM; 0 where no such block launches.
int blocks_of(const Function& f, int block, std::size_t dynamic);
/// What was asked for runs on so many SMs of the device.
void run(const KernelLaunch& launch, bool is_pinned, int on_sms = sms);

/// SMs that a launch in this stream runs on. One that leaves the program's stream keeps its place there by
/// events; aborts where it does not.
int sms_of_launch(CUstream stream);

/// Where this thread captures, of the graph that is made.
bool is_capturing();
void capture(KernelLaunch* node);

}  // namespace fake
