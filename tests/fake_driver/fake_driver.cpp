// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests without a GPU: devices like an H100, on which nothing is computed. A kernel's
// name says by which law its time follows from its resident warps, so that the verdicts of `occbench attach`
// can be tested to their end. Times pass on the device's own clock, not on the wall's.
//
// Laws, in microseconds at natural occupancy (base 100): the name begins with
//   latency_   time ~ 1 / warps                    flat_      no change down to a quarter
//   lower_     80 % of the time at half the warps   l1_        1.5 times where the carve-out is pinned
//   steps_     by whole waves alone                 kinds_     every second launch takes three times as long
//   caps_      2 / blocks, and 2 % more for each register below 64
//   some_      0.97 + 0.03 / warps                  waits_     without end, where not all blocks are resident
// Each time has a spread of a few parts in ten thousand, always the same.
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#undef cuCtxDestroy
#undef cuEventElapsedTime
#undef cuEventDestroy
#undef cuGetProcAddress
#undef cuDevicePrimaryCtxReset
#undef cuDeviceGetUuid
#undef cuCtxCreate
#undef cuDevicePrimaryCtxRelease

#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif

#define FAKE(type, name, parameters)                                                            \
  extern "C" __attribute__((visibility("default"))) type fake_##name parameters __asm__(#name); \
  type fake_##name parameters

namespace {

constexpr int sms = 132, smem_per_sm = 233'472, reserved = 1'024, optin = 232'448, most_threads = 2'048,
              most_blocks = 32, registers_per_sm = 65'536;

struct Function {
  std::string name;
  int registers = 32, static_smem = 0, max_dynamic = 49'152;
  bool is_kernel = false;  ///< a CUkernel, which is no function
  bool is_capped = false;  ///< compiled with .maxnreg
  Function* function = this;
};
struct Event {
  double time_us = -1;
  int context = 0, life = 0;
};

constexpr std::size_t parameters_bytes = 12;  // of each kernel: an address and a number

std::mutex mutex;
double clock_us = 0;
std::uint64_t launches = 0, changed = 0;

/// A CUPTI that is told of each launch, and of its kernel when it has run: the call, and times.
using Tracer = void (*)(std::uint32_t, double, double);
std::atomic<Tracer> tracer{nullptr};
void trace(double start_us = 0, double end_us = -1) {
  constexpr std::uint32_t launch_kernel = 307;
  if (const Tracer tell = tracer) tell(launch_kernel, start_us, end_us);
}

constexpr int contexts = 4;
int context_storage[contexts];
int lives[contexts];  ///< so many of each have ended
CUdevice device_of[contexts];
thread_local int current = 0;
Function pool[1 << 12];  ///< unloaded functions leave their addresses to later ones
std::size_t pooled = 0;
thread_local CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;

CUcontext handle_of(int context) { return reinterpret_cast<CUcontext>(&context_storage[context]); }

void end_context(int context) {
  const std::lock_guard lock(mutex);
  ++lives[context];
}

/// What a driver may not forgive.
Event& alive(CUevent event) {
  Event& e = *reinterpret_cast<Event*>(event);
  if (e.life == lives[e.context]) return e;
  std::fprintf(stderr, "an event is used that ended with its context\n");
  std::abort();
}

Function* function_of(CUfunction f) { return reinterpret_cast<Function*>(f); }

int blocks_of(const Function& f, int block, std::size_t dynamic) {
  if (static_cast<int>(dynamic) > f.max_dynamic || block < 1 || block > 1024) return 0;
  const int warps = (block + 31) / 32;
  const int by_threads = most_threads / (warps * 32);
  const int by_registers = registers_per_sm / (((f.registers + 7) / 8 * 8) * 32 * warps);
  const int smem = (static_cast<int>(dynamic) + f.static_smem + reserved + 127) / 128 * 128;
  return std::min({by_threads, by_registers, most_blocks, smem_per_sm / smem});
}

double spread() {
  static std::uint64_t state = 12345;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 40) / static_cast<double>(1 << 24) - 0.5;
}

double time_of(const Function& f, std::uint64_t grid, int block, std::size_t dynamic, bool is_pinned) {
  const int natural = blocks_of(f, block, 0), now = blocks_of(f, block, dynamic);
  const double warps = static_cast<double>(now) / natural;
  const auto waves = [&](int blocks) { return std::ceil(static_cast<double>(grid) / (blocks * sms)); };
  double time = 100;
  const auto is = [&](const char* law) { return f.name.rfind(law, 0) == 0; };
  if (is("latency_")) time /= warps;
  if (is("some_")) time *= 0.97 + 0.03 / warps;
  if (is("lower_")) time *= 0.6 + 0.4 * warps;
  if (is("l1_") && is_pinned) time *= 1.5;
  if (is("steps_")) time *= waves(now) * now / (waves(natural) * natural);
  if (is("caps_")) time *= (1 / warps) * (2.0 / now) * (1 + 0.02 * std::max(0, 64 - f.registers));
  if (is("kinds_") && launches % 2 == 1) time *= 3;
  return time * (1 + 4e-4 * spread());
}

/// For the tests: 'launches changed' of each process behind the end of a file.
__attribute__((destructor)) void log_launches() {
  const char* const path = std::getenv("FAKE_LOG");
  std::FILE* const file = path == nullptr || launches == 0 ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(launches),
               static_cast<unsigned long long>(changed));
  std::fclose(file);
}

std::atomic<bool> is_stuck{false};

/// A launch as it is asked for, and as a graph holds it: `params` point into `values`.
struct Asked {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;  ///< first, for cuGraphNodeGetType
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<unsigned char> values;
  void* pointers[2] = {};
  bool is_alive = true;

  void keep_values() {
    values.resize(parameters_bytes);
    std::memset(values.data(), 0, values.size());
    if (params.kernelParams == nullptr) return;
    std::memcpy(values.data(), params.kernelParams[0], 8);
    std::memcpy(values.data() + 8, params.kernelParams[1], 4);
    pointers[0] = values.data();
    pointers[1] = values.data() + 8;
    params.kernelParams = pointers;
  }
};
struct Graph {
  std::vector<Asked*> nodes;
};
struct ExecutableGraph {
  std::vector<std::pair<Asked*, Asked>> nodes;  ///< as they were captured, and are now
};
std::set<void*> graphs, executable_graphs;
thread_local Graph* captured = nullptr;
std::uint64_t result = 0;  ///< that all arguments of what was launched went into

void run(const Asked& asked, bool is_pinned) {
  const CUDA_KERNEL_NODE_PARAMS& p = asked.params;
  const Function& f = *function_of(p.func)->function;
  const std::uint64_t grid = std::uint64_t{p.gridDimX} * p.gridDimY * p.gridDimZ;
  const int block = static_cast<int>(p.blockDimX * p.blockDimY * p.blockDimZ);
  const int resident = blocks_of(f, block, p.sharedMemBytes);
  const double time_us = time_of(f, grid, block, p.sharedMemBytes, is_pinned);
  clock_us += time_us;
  trace(clock_us - time_us, clock_us);
  if (std::getenv("FAKE_WALL"))
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(time_us));
  if (f.name.rfind("waits_", 0) == 0 && grid > static_cast<std::uint64_t>(sms) * resident) is_stuck = true;
  for (const unsigned char byte : asked.values) result = (result ^ byte) * 0x100000001b3u;
}

CUresult launch(CUDA_KERNEL_NODE_PARAMS params, bool is_pinned, bool may_be_kernel = true) {
  trace();
  const std::lock_guard lock(mutex);
  Function* f = function_of(params.func);
  if (f == nullptr || (f->is_kernel && !may_be_kernel)) return CUDA_ERROR_INVALID_HANDLE;
  f = f->function;
  const int block = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  if (blocks_of(*f, block, params.sharedMemBytes) < 1) return CUDA_ERROR_INVALID_VALUE;
  if (is_pinned && std::getenv("FAKE_REFUSES")) return CUDA_ERROR_INVALID_VALUE;
  Asked asked{.params = params};
  asked.keep_values();
  if (capturing != CU_STREAM_CAPTURE_STATUS_NONE) {
    auto* const node = new Asked(asked);
    node->params.kernelParams = node->pointers;
    node->pointers[0] = node->values.data();
    node->pointers[1] = node->values.data() + 8;
    captured->nodes.push_back(node);
    return CUDA_SUCCESS;
  }
  clock_us += 1;
  run(asked, is_pinned);
  ++launches;
  changed += is_pinned || f->is_capped ? 1 : 0;
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
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, most_threads},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, most_blocks},
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
FAKE(CUresult, cuCtxGetCurrent, (CUcontext * context)) {
  *context = handle_of(current);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxGetDevice, (CUdevice * device)) {
  *device = device_of[current];
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxSetCurrent, (CUcontext context)) {
  current = static_cast<int>(reinterpret_cast<int*>(context) - context_storage);
  return CUDA_SUCCESS;
}
/// All stand from the first on; the first is the primary one.
FAKE(CUresult, cuCtxCreate_v2, (CUcontext * context, unsigned, CUdevice device)) {
  static int made = 0;
  if (made == contexts - 1) return CUDA_ERROR_OUT_OF_MEMORY;
  device_of[++made] = device;
  *context = handle_of(made);
  return fake_cuCtxSetCurrent(*context);
}
FAKE(CUresult, cuCtxDestroy_v2, (CUcontext context)) {
  end_context(static_cast<int>(reinterpret_cast<int*>(context) - context_storage));
  return CUDA_SUCCESS;
}
/// A green context is another handle of a context.
char green_storage[contexts];
FAKE(CUresult, cuGreenCtxCreate, (CUgreenCtx * green, CUdevResourceDesc, CUdevice device, unsigned)) {
  const int before = current;
  CUcontext context = nullptr;
  const CUresult result = fake_cuCtxCreate_v2(&context, 0, device);
  if (result == CUDA_SUCCESS) *green = reinterpret_cast<CUgreenCtx>(&green_storage[current]);
  current = before;
  return result;
}
FAKE(CUresult, cuCtxFromGreenCtx, (CUcontext * context, CUgreenCtx green)) {
  *context = handle_of(static_cast<int>(reinterpret_cast<char*>(green) - green_storage));
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGreenCtxDestroy, (CUgreenCtx green)) {
  end_context(static_cast<int>(reinterpret_cast<char*>(green) - green_storage));
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuDevicePrimaryCtxReset_v2, (CUdevice)) {
  end_context(0);
  return CUDA_SUCCESS;
}
/// Somebody else owns it as well.
FAKE(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice)) { return CUDA_SUCCESS; }
FAKE(CUresult, cuDevicePrimaryCtxGetState, (CUdevice, unsigned* flags, int* is_active)) {
  *flags = 0;
  *is_active = 1;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuModuleUnload, (CUmodule)) {
  const std::lock_guard lock(mutex);
  pooled = 0;
  return CUDA_SUCCESS;
}

FAKE(CUresult, cuEventCreate, (CUevent * event, unsigned)) {
  *event = reinterpret_cast<CUevent>(new Event{.context = current, .life = lives[current]});
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventDestroy_v2, (CUevent event)) {
  delete reinterpret_cast<Event*>(event);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventRecord, (CUevent event, CUstream)) {
  const std::lock_guard lock(mutex);
  if (alive(event).context != current) return CUDA_ERROR_INVALID_CONTEXT;
  alive(event).time_us = is_stuck ? -1 : clock_us;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventElapsedTime_v2, (float* milliseconds, CUevent start, CUevent stop)) {
  if (alive(stop).time_us < 0) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(1e-3 * (alive(stop).time_us - alive(start).time_us));
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuEventQuery, (CUevent event)) {
  const std::lock_guard lock(mutex);
  return alive(event).time_us < 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
FAKE(CUresult, cuCtxSynchronize, ()) {
  while (is_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return CUDA_SUCCESS;
}
#if FAKE_VERSION >= 10000
FAKE(CUresult, cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus* status)) {
  *status = capturing;
  return CUDA_SUCCESS;
}
#endif
FAKE(CUresult, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode)) {
  static thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(now, *mode);
  return CUDA_SUCCESS;
}
/// For the tests: what follows goes into a graph, or does so no longer.
FAKE(CUresult, fakeCapture, (int on)) {
  if (on != 0) graphs.insert(captured = new Graph);
  capturing = on != 0 ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE(CUgraph, fakeCaptured, ()) { return reinterpret_cast<CUgraph>(captured); }
FAKE(std::uint64_t, fakeChanged, ()) { return changed; }
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
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor,
     (int* blocks, CUfunction f, int block, size_t dynamic)) {
  if (function_of(f)->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *blocks = blocks_of(*function_of(f), block, dynamic);
  return CUDA_SUCCESS;
}

FAKE(CUresult, cuLaunchKernel,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, CUstream, void** p, void**)) {
  return launch({f, gx, gy, gz, bx, by, bz, smem, p, nullptr, nullptr, nullptr}, false);
}
FAKE(CUresult, cuLaunchKernel_ptsz,
     (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, CUstream, void** p, void**)) {
  return launch({f, gx, gy, gz, bx, by, bz, smem, p, nullptr, nullptr, nullptr}, false);
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
    is_pinned = is_pinned || c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  return launch({f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                 c->sharedMemBytes, p, nullptr, nullptr, nullptr},
                is_pinned);
}
FAKE(CUresult, cuLaunchKernelEx_ptsz, (const CUlaunchConfig* c, CUfunction f, void** p, void** e)) {
  return fake_cuLaunchKernelEx(c, f, p, e);
}
#endif
/// Beside those that were captured, each address is a graph of two kernels, a copy, and a graph of one kernel
/// within it.
FAKE(CUresult, cuGraphInstantiateWithFlags, (CUgraphExec * made, CUgraph graph, unsigned long long)) {
  const std::lock_guard lock(mutex);
  *made = reinterpret_cast<CUgraphExec>(graph);
  if (!graphs.contains(graph)) return CUDA_SUCCESS;
  auto* const executable = new ExecutableGraph;
  for (Asked* node : reinterpret_cast<Graph*>(graph)->nodes) executable->nodes.emplace_back(node, *node);
  executable_graphs.insert(executable);
  *made = reinterpret_cast<CUgraphExec>(executable);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count)) {
  static CUgraph_st* const within = reinterpret_cast<CUgraph_st*>(&pooled);
  static const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
                                          CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_KERNEL};
  const std::lock_guard lock(mutex);
  if (graphs.contains(graph)) {
    const auto& own = reinterpret_cast<Graph*>(graph)->nodes;
    for (std::size_t i = 0; nodes != nullptr && i < own.size(); ++i)
      nodes[i] = reinterpret_cast<CUgraphNode>(own[i]);
    *count = own.size();
    return CUDA_SUCCESS;
  }
  const std::size_t has = graph == within ? 1 : std::size(types);
  for (std::size_t i = 0; nodes != nullptr && i < has; ++i)
    nodes[i] = reinterpret_cast<CUgraphNode>(const_cast<CUgraphNodeType*>(types + i));
  *count = has;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* type)) {
  *type = *reinterpret_cast<CUgraphNodeType*>(node);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphChildGraphNodeGetGraph, (CUgraphNode, CUgraph* graph)) {
  *graph = reinterpret_cast<CUgraph>(&pooled);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphDestroy, (CUgraph graph)) {
  const std::lock_guard lock(mutex);
  if (graphs.erase(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  for (Asked* node : reinterpret_cast<Graph*>(graph)->nodes) node->is_alive = false;
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphExecDestroy, (CUgraphExec graph)) {
  const std::lock_guard lock(mutex);
  if (executable_graphs.erase(graph) != 0) delete reinterpret_cast<ExecutableGraph*>(graph);
  return CUDA_SUCCESS;
}
#if FAKE_VERSION >= 12000
namespace {
bool is_captured_node(CUgraphNode node) {
  for (void* graph : graphs)
    for (Asked* own : static_cast<Graph*>(graph)->nodes)
      if (own == reinterpret_cast<Asked*>(node)) return true;
  return false;
}
}  // namespace
FAKE(CUresult, cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params)) {
  const std::lock_guard lock(mutex);
  if (!is_captured_node(node)) return CUDA_ERROR_INVALID_VALUE;
  *params = reinterpret_cast<Asked*>(node)->params;
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphKernelNodeGetAttribute,
     (CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue* value)) {
  *value = {};
  return CUDA_SUCCESS;
}
FAKE(CUresult, cuGraphExecKernelNodeSetParams_v2,
     (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params)) {
  const std::lock_guard lock(mutex);
  if (!reinterpret_cast<Asked*>(node)->is_alive) {
    std::fprintf(stderr, "a node is used that ended with its graph\n");
    std::abort();
  }
  if (!executable_graphs.contains(graph) || std::getenv("FAKE_REFUSES")) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [own, asked] : reinterpret_cast<ExecutableGraph*>(graph)->nodes) {
    if (reinterpret_cast<CUgraphNode>(own) != node) continue;
    asked.params = *params;
    asked.keep_values();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE(CUresult, cuGraphNodeSetEnabled, (CUgraphExec, CUgraphNode, unsigned)) { return CUDA_SUCCESS; }
#endif
FAKE(CUresult, cuGraphLaunch, (CUgraphExec graph, CUstream)) {
  trace();
  const std::lock_guard lock(mutex);
  if (!executable_graphs.contains(graph)) {
    clock_us += 500;
    return CUDA_SUCCESS;
  }
  clock_us += 5;
  bool is_changed = false;
  for (const auto& [own, asked] : reinterpret_cast<ExecutableGraph*>(graph)->nodes) {
    const CUDA_KERNEL_NODE_PARAMS& p = asked.params;
    const int blocks =
        blocks_of(*function_of(p.func)->function, static_cast<int>(p.blockDimX), p.sharedMemBytes);
    constexpr double most_of_it = 0.9;  // of the L1's array, which the driver then gives to the blocks
    run(asked, (static_cast<double>(p.sharedMemBytes) + reserved) * blocks > most_of_it * smem_per_sm);
    is_changed = is_changed || p.sharedMemBytes != own->params.sharedMemBytes;
  }
  ++launches;
  changed += is_changed ? 1 : 0;
  return CUDA_SUCCESS;
}
FAKE(std::uint64_t, fakeResult, ()) { return result; }
/// Graphs that are there, with those that only the library keeps.
FAKE(std::uint64_t, fakeGraphs, ()) { return graphs.size(); }

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
      KNOWN(cuGraphLaunch),
      KNOWN(cuGraphExecDestroy),
      KNOWN(cuGraphDestroy),
      KNOWN(cuGraphNodeSetEnabled),
      {"cuGraphInstantiate", reinterpret_cast<void*>(&fake_cuGraphInstantiateWithFlags), nullptr},
      {"cuCtxCreate", reinterpret_cast<void*>(&fake_cuCtxCreate_v2), nullptr},
      KNOWN(cuGreenCtxCreate),
      KNOWN(cuGreenCtxDestroy),
      KNOWN(cuCtxFromGreenCtx),
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
