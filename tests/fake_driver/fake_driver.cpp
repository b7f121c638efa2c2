// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests without a GPU: devices, modules, functions and launches. fake_device.cpp says what
// a launch takes; fake_contexts.cpp has contexts and events, fake_graphs.cpp CUDA graphs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <thread>

#include "tests/fake_driver/fake_device.hpp"

using namespace fake;

namespace {

Function pool[1 << 12];  ///< unloaded functions leave their addresses to later ones
std::size_t pooled = 0;
std::uint64_t dependent = 0;

CUresult launch(CUDA_KERNEL_NODE_PARAMS params, bool is_pinned, CUstream stream = nullptr,
                bool may_be_kernel = true) {
  trace();
  const std::lock_guard lock(mutex);
  Function* f = function_of(params.func);
  if (f == nullptr || (f->is_kernel && !may_be_kernel)) return CUDA_ERROR_INVALID_HANDLE;
  f = f->function;
  const int block = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  if (blocks_of(*f, block, params.sharedMemBytes) < 1) return CUDA_ERROR_INVALID_VALUE;
  if (is_pinned && std::getenv("FAKE_REFUSES")) return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch launch{.params = params};
  launch.copy_values();
  if (is_capturing()) {
    auto* const node = new KernelLaunch(launch);
    node->params.kernelParams = node->pointers;
    node->pointers[0] = node->values.data();
    node->pointers[1] = node->values.data() + 8;
    capture(node);
    return CUDA_SUCCESS;
  }
  clock_us += 1;
  const int on_sms = sms_of_launch(stream);
  run(launch, is_pinned, on_sms);
  ++launches;
  changed += is_pinned || f->is_capped || on_sms < sms ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace

FAKE(CUresult, cuInit, (unsigned)) {
  if (std::getenv("FAKE_STUB")) return CUDA_ERROR_STUB_LIBRARY;
  return std::getenv("FAKE_NO_DEVICE") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
FAKE(CUresult, cuDriverGetVersion, (int* version)) {
  if (std::getenv("FAKE_STUB")) return CUDA_ERROR_STUB_LIBRARY;
  *version = FAKE_VERSION;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDeviceGet, (CUdevice * device, int ordinal)) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDeviceGetName, (char* name, int room, CUdevice)) {
  std::snprintf(name, static_cast<std::size_t>(room), "Fake H100");
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device)) {
  std::memset(uuid, 0x42 + device, sizeof *uuid);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice)) {
  static const std::map<int, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, sms},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, max_threads},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49'152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, optin},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, smem_per_sm},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, reserved}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return found == values.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE(CUresult, cuProfilerStart, ()) { return CUDA_SUCCESS; }
FAKE(CUresult, cuProfilerStop, ()) { return CUDA_SUCCESS; }
FAKE(CUresult, cuModuleUnload, (CUmodule)) {
  const std::lock_guard lock(mutex);
  pooled = 0;
  return CUDA_SUCCESS;
}

FAKE(CUresult, cuCtxSynchronize, ()) {
  while (is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return CUDA_SUCCESS;
}
FAKE(std::uint64_t, fakeChanged, ()) { return changed; }
FAKE(std::uint64_t, fakeResult, ()) { return result; }
/// Launches that reached the driver as dependent ones.
FAKE(std::uint64_t, fakeDependent, ()) { return dependent; }
/// For the fake CUPTI.
FAKE(void, fakeTrace, (Tracer tell)) { tracer = tell; }

/// A text may have "// registers 128" and ".maxnreg 40".
struct Module {
  int registers = 0;
  bool is_capped = false;
};
FAKE(CUresult, cuModuleLoadData, (CUmodule * module, const void* image)) {
  *module = reinterpret_cast<CUmodule>(&pooled);
  const auto number_after = [&](const char* word, int otherwise) {
    const char* const at = image == nullptr ? nullptr : std::strstr(static_cast<const char*>(image), word);
    return at == nullptr ? otherwise : std::atoi(at + std::strlen(word));
  };
  const int cap = number_after(".maxnreg ", 0);
  if (const int registers = number_after("// registers ", 0); registers > 0)
    *module = reinterpret_cast<CUmodule>(new Module{cap > 0 ? std::min(registers, cap) : registers, cap > 0});
  return CUDA_SUCCESS;
}
/// "NAME", "NAME:REGISTERS"
FAKE(CUresult, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name)) {
  const std::lock_guard lock(mutex);
  Function* const f = &pool[pooled++ % std::size(pool)];
  *f = Function{};
  f->function = f;
  const char* const colon = std::strchr(name, ':');
  f->name = std::string(name, std::strcspn(name, ":,"));
  if (colon != nullptr) f->registers = std::atoi(colon + 1);
  if (module != nullptr && module != reinterpret_cast<CUmodule>(&pooled)) {
    f->registers = reinterpret_cast<const Module*>(module)->registers;
    f->is_capped = reinterpret_cast<const Module*>(module)->is_capped;
  }
  *function = reinterpret_cast<CUfunction>(f);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuLibraryGetKernel, (CUkernel * kernel, CUlibrary, const char* name)) {
  CUfunction function = nullptr;
  fake_cuModuleGetFunction(&function, nullptr, name);
  auto* const k = new Function;
  k->is_kernel = true;
  k->function = function_of(function);
  *kernel = reinterpret_cast<CUkernel>(k);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuKernelGetFunction, (CUfunction * function, CUkernel kernel)) {
  const auto* const k = reinterpret_cast<Function*>(kernel);
  if (!k->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *function = reinterpret_cast<CUfunction>(k->function);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuFuncGetName, (const char** name, CUfunction f)) {
  if (function_of(f)->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *name = function_of(f)->name.c_str();
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuFuncGetParamInfo, (CUfunction, size_t index, size_t* offset, size_t* size)) {
  if (index >= 2) return CUDA_ERROR_INVALID_VALUE;
  *offset = 8 * index;
  *size = index == 0 ? 8 : 4;  // an address and a number
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuFuncGetAttribute, (int* value, CUfunction_attribute attribute, CUfunction f)) {
  const Function& function = *function_of(f);
  if (function.is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                           ? function.registers
           : attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES                ? function.static_smem
           : attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK            ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES    ? function.max_dynamic
           : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION                   ? 90
           : attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? -1
                                                                             : 0;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuFuncSetAttribute, (CUfunction f, CUfunction_attribute attribute, int value)) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  if (value + function_of(f)->static_smem > optin) return CUDA_ERROR_INVALID_VALUE;
  function_of(f)->max_dynamic = value;
  function_of(f)->is_set = true;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuKernelSetAttribute, (CUfunction_attribute, int value, CUkernel kernel, CUdevice)) {
  Function* const f = reinterpret_cast<Function*>(kernel)->function;
  if (!f->is_set) f->max_dynamic = value;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor,
     (int* blocks, CUfunction f, int block, size_t dynamic)) {
  if (function_of(f)->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *blocks = blocks_of(*function_of(f), block, dynamic);
  return CUDA_SUCCESS;
}
#if FAKE_VERSION >= 11080
/// A GPC of the fake device has 16 SMs, or 4 the last.
FAKE(CUresult, cuOccupancyMaxActiveClusters, (int* clusters, CUfunction f, const CUlaunchConfig* c)) {
  unsigned size = 1;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) size = c->attrs[i].value.clusterDim.x;
  const int blocks = blocks_of(*function_of(f), static_cast<int>(c->blockDimX), c->sharedMemBytes);
  constexpr int sms_per_gpc = 16;
  *clusters = 0;
  for (int first = 0; first < sms; first += sms_per_gpc)
    *clusters += std::min(sms_per_gpc, sms - first) * blocks / static_cast<int>(size);
  return CUDA_SUCCESS;
}
#endif

FAKE(CUresult, cuLaunchKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, CUstream stream, void** p, void**)) {
  return launch({f, gx, gy, gz, bx, by, bz, smem, p, nullptr, nullptr, nullptr}, false, stream);
}
FAKE(CUresult, cuLaunchKernel_ptsz,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, CUstream stream, void** p, void**)) {
  return launch({f, gx, gy, gz, bx, by, bz, smem, p, nullptr, nullptr, nullptr}, false, stream);
}
FAKE(CUresult, cuLaunchCooperativeKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, CUstream, void** p)) {
  return launch({f, gx, gy, gz, bx, by, bz, smem, p, nullptr, nullptr, nullptr}, false);
}
#if FAKE_VERSION >= 11080
FAKE(CUresult, cuLaunchKernelEx, (const CUlaunchConfig* c, CUfunction f, void** p, void**)) {
  bool is_pinned = false;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    dependent += c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
                 c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    is_pinned = is_pinned || c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  return launch({f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                 c->sharedMemBytes, p, nullptr, nullptr, nullptr},
                is_pinned, c->hStream);
}
FAKE(CUresult, cuLaunchKernelEx_ptsz, (const CUlaunchConfig* c, CUfunction f, void** p, void** e)) {
  return fake_cuLaunchKernelEx(c, f, p, e);
}
#endif
#if FAKE_VERSION >= 12000
FAKE(CUresult, cuGetProcAddress_v2,
     (const char* name, void** found, int version, cuuint64_t flags,
      CUdriverProcAddressQueryResult* status)) {
  struct Known {
    const char* name;
    void *function, *per_thread;
  };
#define KNOWN(name) \
  { #name, reinterpret_cast < void*>(&fake_##name), nullptr }
  const Known known[] = {
      KNOWN(cuInit),
      KNOWN(cuCtxGetCurrent),
      KNOWN(cuCtxSetCurrent),
      KNOWN(cuModuleLoadData),
      KNOWN(cuModuleGetFunction),
      KNOWN(cuModuleUnload),
      KNOWN(cuLibraryGetKernel),
      KNOWN(cuLaunchCooperativeKernel),
      {"cuGraphLaunch", reinterpret_cast<void*>(&cuGraphLaunch), nullptr},
      {"cuGraphExecDestroy", reinterpret_cast<void*>(&cuGraphExecDestroy), nullptr},
      {"cuGraphDestroy", reinterpret_cast<void*>(&cuGraphDestroy), nullptr},
      {"cuGraphNodeSetEnabled", reinterpret_cast<void*>(&cuGraphNodeSetEnabled), nullptr},
      {"cuGraphGetNodes", reinterpret_cast<void*>(&cuGraphGetNodes), nullptr},
      {"cuGraphKernelNodeGetParams", reinterpret_cast<void*>(&cuGraphKernelNodeGetParams_v2), nullptr},
      {"cuGraphExecKernelNodeSetParams", reinterpret_cast<void*>(&cuGraphExecKernelNodeSetParams_v2),
       nullptr},
      {"cuGraphExecNodeSetParams", reinterpret_cast<void*>(&cuGraphExecNodeSetParams), nullptr},
      {"cuGraphExecUpdate", reinterpret_cast<void*>(&cuGraphExecUpdate_v2), nullptr},
      {"cuGraphInstantiate", reinterpret_cast<void*>(&cuGraphInstantiateWithFlags), nullptr},
      {"cuCtxCreate", reinterpret_cast<void*>(&fake_cuCtxCreate_v2), nullptr},
      KNOWN(cuGreenCtxCreate),
      KNOWN(cuGreenCtxDestroy),
      KNOWN(cuCtxFromGreenCtx),
      KNOWN(cuGreenCtxStreamCreate),
      KNOWN(cuProfilerStart),
      KNOWN(cuProfilerStop),
      {"cuCtxDestroy", reinterpret_cast<void*>(&fake_cuCtxDestroy_v2), nullptr},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&fake_cuDevicePrimaryCtxRelease_v2), nullptr},
      {"cuDevicePrimaryCtxReset", reinterpret_cast<void*>(&fake_cuDevicePrimaryCtxReset_v2), nullptr},
      {"cuLaunchKernel", reinterpret_cast<void*>(&fake_cuLaunchKernel),
       reinterpret_cast<void*>(&fake_cuLaunchKernel_ptsz)},
      {"cuLaunchKernelEx", reinterpret_cast<void*>(&fake_cuLaunchKernelEx),
       reinterpret_cast<void*>(&fake_cuLaunchKernelEx_ptsz)},
      {"cuGetProcAddress", reinterpret_cast<void*>(&fake_cuGetProcAddress_v2), nullptr},
  };
  static_cast<void>(version);
  *found = nullptr;
  for (const Known& k : known)
    if (std::strcmp(k.name, name) == 0)
      *found = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 && k.per_thread != nullptr
                   ? k.per_thread
                   : k.function;
  if (status != nullptr)
    *status = *found == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return *found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
#endif
