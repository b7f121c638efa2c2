/* SPDX-License-Identifier: Apache-2.0
 * A driver program for tests of `occbench attach` beside the fake driver.
 *
 *   program WAY KERNEL LAUNCHES [END [GRID]]
 *
 * WAY: linked (this file is built twice, once linked to the driver), opened (dlsym of each name), asked
 * (cuGetProcAddress at both levels, as the static runtime does), kernel (the same, and a CUkernel), own_stream
 * (per-thread default stream), ex (cuLaunchKernelEx). END: return, exit42, _exit, crash, fork, exec, reset,
 * capture, graph, threads, cooperative, shapes.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#undef cuGetProcAddress
#undef cuDevicePrimaryCtxReset

typedef CUresult (*Init)(unsigned);
typedef CUresult (*GetFunction)(CUfunction*, CUmodule, const char*);
typedef CUresult (*GetKernel)(CUkernel*, CUlibrary, const char*);
typedef CUresult (*Launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           CUstream, void**, void**);
typedef CUresult (*Cooperative)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, CUstream, void**);
typedef CUresult (*LaunchEx)(const CUlaunchConfig*, CUfunction, void**, void**);
typedef CUresult (*Ask)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
typedef CUresult (*WithInt)(int);
typedef CUresult (*Graph)(CUgraphExec, CUstream);

static void* library;
static Ask ask;
static cuuint64_t flags;

static void* get(const char* name) {
  void* found = NULL;
  if (ask == NULL) return dlsym(library, name);
  ask(name, &found, 13000, flags, NULL);
  return found;
}

static Launch launch;
static LaunchEx launch_ex;
static CUfunction function;
static unsigned grid = 132 * 8 * 20, failed;

static void one(int n) {
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
    result = launch_ex(&config, function, parameters, NULL);
  } else {
    result = launch(function, grid, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
  }
  if (result != CUDA_SUCCESS) ++failed;
}

static void* many(void* count) {
  for (int n = 0; n < *(int*)count; ++n) one(n);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* const way = argv[1];
  const char* const end = argc > 4 ? argv[4] : "return";
  int launches = atoi(argv[3]);
  if (argc > 5) grid = (unsigned)atoi(argv[5]);
#ifdef LINKED
  extern CUresult cuInit(unsigned);
  cuInit(0);
  cuModuleGetFunction(&function, NULL, argv[2]);
  launch = cuLaunchKernel;
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
  if (((Init)get("cuInit"))(0) != CUDA_SUCCESS) {
    fprintf(stderr, "no device\n");
    return 3;
  }
  if (strcmp(way, "kernel") == 0) {
    CUkernel kernel;
    ((GetKernel)get("cuLibraryGetKernel"))(&kernel, NULL, argv[2]);
    function = (CUfunction)kernel;
  } else {
    ((GetFunction)get("cuModuleGetFunction"))(&function, NULL, argv[2]);
  }
  launch = (Launch)get("cuLaunchKernel");
  if (strcmp(way, "ex") == 0) launch_ex = (LaunchEx)get("cuLaunchKernelEx");
#endif
  if (strcmp(end, "capture") == 0) ((WithInt)dlsym(library, "fakeCapture"))(1);
  if (strcmp(end, "shapes") == 0) {
    for (int n = 0; n < launches; ++n) {
      grid = 3000u + (unsigned)n;
      one(n);
    }
  } else if (strcmp(end, "threads") == 0) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, many, &launches);
    for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  } else {
    many(&launches);
  }
  printf("failed %u\n", failed);
  fflush(stdout);
  if (strcmp(end, "exit42") == 0) return 42;
  if (strcmp(end, "_exit") == 0) _exit(7);
  if (strcmp(end, "crash") == 0) raise(SIGSEGV);
  if (strcmp(end, "term") == 0) raise(SIGTERM);
  if (strcmp(end, "fork") == 0) {
    if (fork() == 0) {
      many(&launches);
      _exit(0);
    }
    wait(NULL);
  }
  if (strcmp(end, "exec") == 0) {
    char* again[] = {argv[0], argv[1], argv[2], argv[3], NULL};
    execv(argv[0], again);
  }
  if (strcmp(end, "reset") == 0) {
    ((WithInt)get("cuDevicePrimaryCtxReset"))(0);
    ((GetFunction)get("cuModuleGetFunction"))(&function, NULL, argv[2]);
    many(&launches);
  }
  if (strcmp(end, "graph") == 0) ((Graph)get("cuGraphLaunch"))(NULL, NULL);
  if (strcmp(end, "cooperative") == 0)
    for (int n = 0; n < launches; ++n)
      ((Cooperative)get("cuLaunchCooperativeKernel"))(function, grid, 1, 1, 256, 1, 1, 0, NULL, NULL);
  return 0;
}
