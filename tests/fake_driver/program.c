/* SPDX-License-Identifier: Apache-2.0
 * A driver program for tests of `occbench attach` beside the fake driver.
 *
 *   program WAY KERNEL LAUNCHES [END [GRID]]
 *
 * WAY: linked (this file is built twice, once linked to the driver), opened (dlsym of each name), proc
 * (cuGetProcAddress at both levels, as the static runtime does), kernel (the same, and a CUkernel), own_stream
 * (per-thread default stream), ex (cuLaunchKernelEx), ptx (a module of PTX with that kernel, of 128 registers).
 * IMAGE in the environment: a file that is loaded as a module first.
 * END, before or after the launches: return, variable (that the PTX then has), asks (for its shared memory's
 * size, in PTX), exit42, _exit, crash, term, kill, wait (for a signal), fork, exec, reset, release (of the
 * primary context), contexts, raises (by kernel: then so much dynamic shared memory that it must ask for it),
 * unload (and another kernel at the same address), green, green_streams (of two contexts), close (all files),
 * capture, graph, threads, streams, cooperative, shapes, ranges (NVTX's), profiled (the launches three times,
 * the second time between the profiler's calls), between (two others, in turn), early, event (by ex:
 * dependent launches), clusters (by ex: of 4), update, resize (a captured graph whose arguments, and grid,
 * the program sets), set_node (the same arguments, by cuGraphExecNodeSetParams), recapture, recapture_resized
 * (the graph of replay, updated from one that is captured again, with another grid from half its launches
 * on), replay, replay2, replay_green, disable (a captured graph of KERNEL three times and, behind a comma,
 * another twice, which is destroyed once there is an executable one; from two captures; into a green
 * context's stream; of which a node is set at half its launches; prints what was computed), says (whether a
 * launch was changed), fails (with code 9 if one was), sync (waits for the device).
 */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiles.h"

#undef cuGetProcAddress

CUresult cuProfilerStart(void), cuProfilerStop(void); /* of cudaProfiler.h */

typedef CUresult (*WithInt)(int);
typedef CUgraph (*Captured)(void);
typedef CUresult (*MakeContext)(CUcontext*, unsigned, CUdevice);
typedef unsigned long long (*Number)(void);
typedef CUresult (*WithoutWords)(void);

static void* library;
static __typeof__(cuGetProcAddress_v2)* ask;
static cuuint64_t flags;

static void* get(const char* name) {
  void* found = NULL;
  if (ask == NULL) return dlsym(library, name);
  ask(name, &found, 13000, flags, NULL);
  return found;
}

/* The driver's function of that name, as the program gets it. */
#define DRIVER(function) ((__typeof__(function)*)get(#function))

static __typeof__(cuLaunchKernel)* launch;
static __typeof__(cuLaunchKernelEx)* launch_ex;
static CUfunction function;
static unsigned grid = 132 * 8 * 20, dynamic = 0, failed;
static CUlaunchAttribute attribute; /* of each launch by cuLaunchKernelEx, where it has an id */

static CUresult launch_on(CUstream stream, void** parameters) {
  return launch(function, grid, 1, 1, 256, 1, 1, dynamic, stream, parameters, NULL);
}

static void one(int n, CUstream stream) {
  unsigned long long address = 0x7f0000000000ull + 4096ull * (unsigned)n;
  int number = 7;
  void* parameters[] = {&address, &number};
  CUresult result;
  if (launch_ex != NULL) {
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 256;
    config.attrs = &attribute;
    config.numAttrs = attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE;
    result = launch_ex(&config, function, parameters, NULL);
  } else {
    result = launch_on(stream, parameters);
  }
  if (result != CUDA_SUCCESS) ++failed;
}

static int launches;
static const char* end = "return";

static int ends(const char* how) { return strcmp(end, how) == 0; }

static void* on_stream(void* stream) {
  for (int n = 0; n < launches; ++n) one(n, (CUstream)stream);
  return NULL;
}

static void many(void) { on_stream(NULL); }

/* The kernel behind one other, then behind another. */
static void between(void) {
  const CUfunction own = function;
  CUfunction others[2];
  DRIVER(cuModuleGetFunction)(&others[0], NULL, "flat_k");
  DRIVER(cuModuleGetFunction)(&others[1], NULL, "some_k");
  for (int n = 0; n < launches; ++n) {
    function = others[n % 2];
    one(n, NULL);
    function = own;
    one(n, NULL);
  }
}

static void shapes(void) {
  for (int n = 0; n < launches; ++n) {
    grid = 3000u + (unsigned)n;
    one(n, NULL);
  }
}

static void threads(int have_streams) {
  static char streams[4];
  pthread_t all[4];
  for (int t = 0; t < 4; ++t)
    pthread_create(&all[t], NULL, on_stream, have_streams ? (void*)&streams[t] : NULL);
  for (int t = 0; t < 4; ++t) pthread_join(all[t], NULL);
}

/* Profiles while other threads launch; whether all went well. */
static void wait_a_little(void) { usleep(20000); }
static void profile_beside(void) {
  pthread_t all[2];
  for (int t = 0; t < 2; ++t) pthread_create(&all[t], NULL, on_stream, NULL);
  wait_a_little();
  const int kernels = profiled_kernels(wait_a_little);
  for (int t = 0; t < 2; ++t) pthread_join(all[t], NULL);
  printf("profiled %s\n", kernels > 0 ? "some" : "none");
}

/* Takes turns in two contexts, the second on this device, ends it, and goes on in the other. */
static void contexts(const char* name, CUdevice device, int is_green) {
  CUcontext first, second;
  CUgreenCtx green;
  CUfunction functions[2];
  DRIVER(cuCtxGetCurrent)(&first);
  functions[0] = function;
  if (is_green) {
    DRIVER(cuGreenCtxCreate)(&green, NULL, device, CU_GREEN_CTX_DEFAULT_STREAM);
    DRIVER(cuCtxFromGreenCtx)(&second, green);
  } else {
    ((MakeContext)get("cuCtxCreate"))(&second, 0, device);
  }
  DRIVER(cuModuleGetFunction)(&functions[1], NULL, name);
  for (int n = 0; n < launches; ++n) {
    DRIVER(cuCtxSetCurrent)(n % 2 == 0 ? first : second);
    function = functions[n % 2];
    one(n, NULL);
  }
  DRIVER(cuCtxSetCurrent)(first);
  if (is_green)
    DRIVER(cuGreenCtxDestroy)(green);
  else
    DRIVER(cuCtxDestroy)(second);
  function = functions[0];
  many();
}

/* In streams of green contexts that are never current, one after another; then in a stream that is of none, while
 * the last is current. */
static void green_streams(void) {
  static char other;
  CUcontext first, second;
  DRIVER(cuCtxGetCurrent)(&first);
  for (int n = 0; n < 2; ++n) {
    CUgreenCtx green;
    CUstream stream;
    DRIVER(cuGreenCtxCreate)(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    DRIVER(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0);
    on_stream(stream);
    if (n == 1) {
      DRIVER(cuCtxFromGreenCtx)(&second, green);
      DRIVER(cuCtxSetCurrent)(second);
      on_stream(&other);
      DRIVER(cuCtxSetCurrent)(first);
    }
    DRIVER(cuGreenCtxDestroy)(green);
  }
}

/* Ranges within others, of a domain too, whose end apart; more than can be told apart. */
static void ranges(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "solve");
  for (int n = 0; n < launches; ++n) {
    nvtxRangePushA("step");
    one(n, NULL);
    nvtxRangePushA("forward");
    one(n, NULL);
    nvtxDomainRangePushEx(domain, &event);
    one(n, NULL);
    nvtxRangePop();
    one(n, NULL);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    one(n, NULL);
    nvtxRangePop(); /* one too many */
  }
  for (int n = 0; n < 100; ++n) nvtxRangePushW(L"deep");
  for (int n = 0; n < 100; ++n) nvtxRangePop();
  for (int n = 0; n < 3000; ++n) {
    char name[32];
    snprintf(name, sizeof name, "number %d", n);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  nvtxRangePushA("late");
  one(0, NULL);
  nvtxRangePop();
}

/* One that was made before anybody looked, and one that is made, launched ten times and destroyed. */
static void graphs(void) {
  static char graph;
  CUgraphExec made;
  DRIVER(cuGraphLaunch)(NULL, NULL);
  DRIVER(cuGraphInstantiate)(&made, (CUgraph)(void*)&graph, 0);
  for (int n = 0; n < 10; ++n) DRIVER(cuGraphLaunch)(made, NULL);
  DRIVER(cuGraphExecDestroy)(made);
}

/* `number` goes into the arguments of its kernels. */
static CUgraph capture(const char* names, int number) {
  const CUfunction first = function;
  const char* const second = strchr(names, ',');
  ((WithInt)dlsym(library, "fakeCapture"))(1);
  for (int n = 0; n < 3; ++n) one(number + n, NULL);
  if (second != NULL) DRIVER(cuModuleGetFunction)(&function, NULL, second + 1);
  for (int n = 0; second != NULL && n < 2; ++n) one(number + 100 + n, NULL);
  function = first;
  ((WithInt)dlsym(library, "fakeCapture"))(0);
  return ((Captured)dlsym(library, "fakeCaptured"))();
}

static CUgraphExec captured(const char* names) {
  CUgraphExec made;
  const CUgraph graph = capture(names, 0);
  DRIVER(cuGraphInstantiate)(&made, graph, 0);
  if (DRIVER(cuGraphDestroy)(graph) != CUDA_SUCCESS) ++failed;
  return made;
}

/* One captured kernel, whose arguments the program sets again and again, and in the end its grid. */
static void updates(int is_resized, int is_any) {
  CUgraphExec made;
  CUgraphNode node;
  CUDA_KERNEL_NODE_PARAMS params;
  size_t count = 1;
  ((WithInt)dlsym(library, "fakeCapture"))(1);
  one(0, NULL);
  ((WithInt)dlsym(library, "fakeCapture"))(0);
  const CUgraph graph = ((Captured)dlsym(library, "fakeCaptured"))();
  DRIVER(cuGraphInstantiate)(&made, graph, 0);
  if (DRIVER(cuGraphGetNodes)(graph, &node, &count) != CUDA_SUCCESS || count != 1) ++failed;
  if (DRIVER(cuGraphKernelNodeGetParams)(node, &params) != CUDA_SUCCESS) ++failed;
  for (int n = 0; n < launches; ++n) {
    unsigned long long address = 0x1000ull + (unsigned long long)(n / 10);
    int number = n / 10;
    void* arguments[] = {&address, &number};
    params.kernelParams = arguments;
    if (is_resized && n == launches / 2) params.gridDimX *= 2;
    CUgraphNodeParams any = {CU_GRAPH_NODE_TYPE_KERNEL, {0}};
    memcpy(&any.kernel, &params, sizeof params);
    if (n % 10 == 0 && (is_any ? DRIVER(cuGraphExecNodeSetParams)(made, node, &any)
                               : DRIVER(cuGraphExecKernelNodeSetParams)(made, node, &params)) != CUDA_SUCCESS)
      ++failed;
    if (DRIVER(cuGraphLaunch)(made, NULL) != CUDA_SUCCESS) ++failed;
  }
  DRIVER(cuGraphExecDestroy)(made);
  printf("result %llx\n", ((Number)dlsym(library, "fakeResult"))());
}

static void recaptures(const char* names, int is_resized) {
  const CUgraphExec made = captured(names);
  for (int n = 0; n < launches; ++n) {
    if (is_resized && n == launches / 2) grid *= 2;
    if (n % 10 == 0) {
      const CUgraph graph = capture(names, n);
      if (DRIVER(cuGraphExecUpdate)(made, graph, NULL) != CUDA_SUCCESS) ++failed;
      if (DRIVER(cuGraphDestroy)(graph) != CUDA_SUCCESS) ++failed;
    }
    if (DRIVER(cuGraphLaunch)(made, NULL) != CUDA_SUCCESS) ++failed;
  }
  DRIVER(cuGraphExecDestroy)(made);
  printf("result %llx, graphs %llu\n", ((Number)dlsym(library, "fakeResult"))(),
         ((Number)dlsym(library, "fakeGraphs"))());
}

static void replays(const char* names, int times, int is_set, int is_green) {
  CUgraphExec made[2];
  CUgreenCtx green;
  CUstream stream = NULL;
  if (is_green) {
    DRIVER(cuGreenCtxCreate)(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    DRIVER(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0);
  }
  for (int g = 0; g < times; ++g) made[g] = captured(names);
  for (int n = 0; n < launches; ++n) {
    if (is_set && n == launches / 2) DRIVER(cuGraphNodeSetEnabled)(made[0], NULL, 1);
    for (int g = 0; g < times; ++g)
      if (DRIVER(cuGraphLaunch)(made[g], stream) != CUDA_SUCCESS) ++failed;
  }
  for (int g = 0; g < times; ++g) DRIVER(cuGraphExecDestroy)(made[g]);
  printf("result %llx, graphs %llu\n", ((Number)dlsym(library, "fakeResult"))(),
         ((Number)dlsym(library, "fakeGraphs"))());
}

/* What is opened then has numbers that somebody else may remember. */
static void close_all(void) {
  for (int file = 3; file < 100; ++file) close(file);
  for (int n = 0; n < 16; ++n)
    if (open("own.txt", O_RDWR | O_CREAT, 0600) < 0) ++failed;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* const way = argv[1];
  if (argc > 4) end = argv[4];
  launches = atoi(argv[3]);
  if (argc > 5) grid = (unsigned)atoi(argv[5]);
#ifdef LINKED
  cuInit(0);
  cuModuleGetFunction(&function, NULL, argv[2]);
  launch = cuLaunchKernel;
  const WithoutWords profiler_calls[2] = {cuProfilerStart, cuProfilerStop};
  library = dlopen("libcuda.so.1", RTLD_NOW);
#else
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "no driver\n");
    return 3;
  }
  if (strcmp(way, "opened") != 0) {
    void* at = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&ask, &at, sizeof at);
    if (strcmp(way, "own_stream") == 0) flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    void* again = get("cuGetProcAddress");
    memcpy(&ask, &again, sizeof again);
  }
  if (DRIVER(cuInit)(0) != CUDA_SUCCESS) {
    fprintf(stderr, "no device\n");
    return 3;
  }
  if (strcmp(way, "kernel") == 0) {
    CUkernel kernel;
    DRIVER(cuLibraryGetKernel)(&kernel, NULL, argv[2]);
    function = (CUfunction)kernel;
  } else {
    CUmodule module = NULL;
    if (strcmp(way, "ptx") == 0) {
      char text[1000];
      const char* const variable = ends("variable") ? "ld.global.u32 %r1, [count];"
                                   : ends("asks")   ? "mov.u32 %r1, %dynamic_smem_size;"
                                                    : "";
      snprintf(text, sizeof text,
               "// registers 128\n.version 9.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"
               ".visible .entry %s(\n.param .u64 p)\n.maxntid 256, 1, 1\n{ %s ret; }\n",
               argv[2], variable);
      DRIVER(cuModuleLoadData)(&module, text);
    }
    if (getenv("IMAGE") != NULL) {
      static char image[1 << 20];
      FILE* const file = fopen(getenv("IMAGE"), "rb");
      if (file == NULL || fread(image, 1, sizeof image - 1, file) == 0) return 3;
      DRIVER(cuModuleLoadData)(&module, image);
    }
    DRIVER(cuModuleGetFunction)(&function, module, argv[2]);
  }
  launch = DRIVER(cuLaunchKernel);
  if (strcmp(way, "ex") == 0) launch_ex = DRIVER(cuLaunchKernelEx);
  const WithoutWords profiler_calls[2] = {DRIVER(cuProfilerStart), DRIVER(cuProfilerStop)};
#endif
  if (ends("capture")) ((WithInt)dlsym(library, "fakeCapture"))(1);
  if (ends("shapes"))
    shapes();
  else if (ends("between"))
    between();
  else if (ends("threads") || ends("streams"))
    threads(ends("streams"));
  else if (ends("profiled")) {
    many();
    profiler_calls[0]();
    many();
    profiler_calls[1]();
    many();
  } else if (ends("green_streams"))
    green_streams();
  else if (ends("ranges"))
    ranges();
  else if (ends("early") || ends("event")) {
    attribute.id = ends("early") ? CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
                                 : CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    many();
    printf("dependent %llu\n", ((Number)dlsym(library, "fakeDependent"))());
  } else if (ends("clusters")) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 4;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    many();
  } else if (ends("update") || ends("resize") || ends("set_node"))
    updates(ends("resize"), ends("set_node"));
  else if (strncmp(end, "recapture", 9) == 0)
    recaptures(argv[2], ends("recapture_resized"));
  else if (strncmp(end, "replay", 6) == 0 || ends("disable"))
    replays(argv[2], ends("replay2") ? 2 : 1, ends("disable"), ends("replay_green"));
  else if (ends("contexts") || ends("devices") || ends("green"))
    contexts(argv[2], ends("devices"), ends("green"));
  else
    many();
  if (ends("release"))
    for (int n = 0; n < 20; ++n) {
      DRIVER(cuDevicePrimaryCtxRelease)(0);
      many();
    }
  if (ends("raises")) {
    dynamic = 100 * 1024;
    ((__typeof__(cuKernelSetAttribute)*)dlsym(library, "cuKernelSetAttribute"))(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic, (CUkernel)function, 0);
    many();
  }
  if (ends("unload")) {
    DRIVER(cuModuleUnload)(NULL);
    DRIVER(cuModuleGetFunction)(&function, NULL, "latency_k:40");
    many();
  }
  if (ends("profiles_beside")) profile_beside();
  if (ends("profiles")) { /* by CUPTI, with launches before and after */
    printf("profiled %d\n", profiled_kernels(many));
    many();
  }
  if (ends("sync")) ((WithoutWords)dlsym(library, "cuCtxSynchronize"))();
  if (ends("close")) {
    close_all();
    shapes();
  }
  printf("failed %u\n", failed);
  fflush(stdout);
  const int is_changed = ((Number)dlsym(library, "fakeChanged"))() > 0;
  if (ends("says")) printf("%s\n", is_changed ? "changed" : "as it was");
  if (ends("fails") && is_changed) {
    fprintf(stderr, "it went wrong\n");
    return 9;
  }
  if (ends("exit42")) return 42;
  if (ends("_exit")) _exit(7);
  if (ends("crash")) raise(SIGSEGV);
  if (ends("term")) raise(SIGTERM);
  if (ends("kill")) raise(SIGKILL);
  if (ends("wait"))
    for (;;) pause();
  if (ends("fork")) {
    fflush(NULL);
    if (fork() == 0) {
      many();
      exit(0);
    }
    wait(NULL);
  }
  if (ends("exec")) {
    char* again[] = {argv[0], argv[1], argv[2], argv[3], NULL};
    execv(argv[0], again);
  }
  if (ends("reset")) {
    DRIVER(cuDevicePrimaryCtxReset)(0);
    DRIVER(cuModuleGetFunction)(&function, NULL, argv[2]);
    many();
  }
  if (ends("graph")) graphs();
  if (ends("cooperative"))
    for (int n = 0; n < launches; ++n)
      DRIVER(cuLaunchCooperativeKernel)(function, grid, 1, 1, 256, 1, 1, 0, NULL, NULL);
  return 0;
}
