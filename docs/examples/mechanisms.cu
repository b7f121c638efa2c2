// SPDX-License-Identifier: Apache-2.0
// What barriers, warps and the shared-memory carve-out do when they are used right and when they are not.
// Expected: a barrier that a warp never reaches, and blocks that wait for a block which has no place, never
//   end. grid.sync refuses such a grid. Lanes of one warp may wait for each other since Volta.
// Source: CUDA Programming Guide, Synchronization Functions and Independent Thread Scheduling.
//
//   nvcc -std=c++17 -arch=native -o mechanisms mechanisms.cu && ./mechanisms     # or ./mechanisms NAME
//   compute-sanitizer --tool synccheck ./mechanisms --here barrier-in-branch
//
// Each example runs in a child process under a time limit, because some never end.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace {

constexpr int limit_s = 5;
constexpr int warp_size = 32;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("  failed: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// Device memory of zeros, which the end of the child frees.
template <typename T>
T* zeros(std::size_t count) {
  T* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)));
  check(cudaMemset(data, 0, count * sizeof(T)));
  return data;
}

template <typename T>
std::vector<T> fetch(const T* data, std::size_t count) {
  std::vector<T> copy(count);
  check(cudaGetLastError());
  check(cudaMemcpy(copy.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
  return copy;
}

// --- __syncthreads in a divergent branch

__global__ void barrier_in_branch(int* out) {
  __shared__ int shared[64];
  const int i = static_cast<int>(threadIdx.x);
  shared[i] = i;
  if (i % 2 == 0) {
    __syncthreads();
    out[i] = shared[63 - i];
  } else {
    __syncthreads();
    out[i] = shared[63 - i] + 100;
  }
}

void run_barrier_in_branch() {
  int* out = zeros<int>(64);
  barrier_in_branch<<<1, 64>>>(out);
  const std::vector<int> found = fetch(out, 64);
  int right = 0;
  for (int i = 0; i < 64; ++i) right += found[i] == 63 - i + 100 * (i % 2);
  std::printf("  ended; %d of 64 results are right. The behaviour is undefined: do not rely on it.\n", right);
}

__global__ void barrier_not_reached(volatile int* flag) {
  if (threadIdx.x < warp_size) {
    __syncthreads();  // waits for warp 1
    *flag = 1;
  } else {
    while (*flag == 0) {
    }  // waits for warp 0
  }
}

void run_barrier_not_reached() {
  barrier_not_reached<<<1, 2 * warp_size>>>(zeros<int>(1));
  check(cudaDeviceSynchronize());
  std::printf("  ended\n");
}

// --- blocks that wait for blocks

__global__ void __launch_bounds__(1024) blocks_wait(int* arrived) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {
    }
  }
  __syncthreads();
}

__global__ void __launch_bounds__(1024) grid_sync(int* arrived) {
  if (threadIdx.x == 0) atomicAdd(arrived, 1);
  cooperative_groups::this_grid().sync();
}

int resident_grid(const void* kernel) {
  int blocks = 0;
  int sms = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  return blocks * sms;
}

void wait_for_blocks(int beyond) {
  const int grid = resident_grid(reinterpret_cast<const void*>(blocks_wait)) + beyond;
  std::printf("  %d blocks of 1024 threads wait for each other, %d more than are resident\n", grid, beyond);
  std::fflush(stdout);
  blocks_wait<<<grid, 1024>>>(zeros<int>(1));
  check(cudaDeviceSynchronize());
  std::printf("  ended\n");
}

void run_blocks_wait_resident() { wait_for_blocks(0); }
void run_blocks_wait_beyond() { wait_for_blocks(1); }

void run_grid_sync() {
  const void* kernel = reinterpret_cast<const void*>(grid_sync);
  const int most = resident_grid(kernel);
  int* arrived = zeros<int>(1);
  void* arguments[] = {&arrived};
  for (const int grid : {most, most + 1}) {
    const cudaError_t error = cudaLaunchCooperativeKernel(kernel, grid, 1024, arguments, 0, nullptr);
    if (error == cudaSuccess) check(cudaDeviceSynchronize());
    std::printf("  %d blocks: %s\n", grid, error == cudaSuccess ? "ended" : cudaGetErrorString(error));
    cudaGetLastError();
  }
}

// --- lanes of a warp

__global__ void lanes_wait(volatile int* flag) {
  if (threadIdx.x != 0) {
    while (*flag == 0) {
    }
  } else {
    *flag = 1;
  }
}

void run_lanes_wait() {
  lanes_wait<<<1, warp_size>>>(zeros<int>(1));
  check(cudaDeviceSynchronize());
  std::printf("  ended: 31 lanes waited for lane 0 of their own warp. Before Volta this could never end.\n");
}

template <bool syncs>
__global__ void exchange(int* out) {
  __shared__ volatile int shared[warp_size];
  const int lane = static_cast<int>(threadIdx.x);
  shared[lane] = -1;
  __syncwarp();
  if (lane % 2 == 1) {
    const long long begin = clock64();
    while (clock64() - begin < 10'000) {
    }
  }
  shared[lane] = lane;
  if (syncs) __syncwarp();
  out[lane] = shared[lane ^ 1];
}

template <bool syncs>
int wrong_lanes() {
  int* out = zeros<int>(warp_size);
  exchange<syncs><<<1, warp_size>>>(out);
  const std::vector<int> found = fetch(out, warp_size);
  int wrong = 0;
  for (int lane = 0; lane < warp_size; ++lane) wrong += found[lane] != (lane ^ 1);
  return wrong;
}

void run_syncwarp() {
  std::printf("  after a branch %d of 32 lanes read a stale value with __syncwarp, %d without.\n",
              wrong_lanes<true>(), wrong_lanes<false>());
  std::printf("  Without it the compiler may join the lanes, but does not have to.\n");
}

// --- the carve-out

constexpr int smem_16k = 16 * 1024;

/// Peak number of blocks at once on each SM.
__global__ void count_resident(int* now, int* peak) {
  __shared__ volatile char held[smem_16k];
  if (threadIdx.x != 0) return;
  held[blockIdx.x % smem_16k] = 1;
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  atomicMax(&peak[sm], atomicAdd(&now[sm], 1) + 1);
  const long long begin = clock64();
  while (clock64() - begin < 200'000) {
  }
  atomicSub(&now[sm], 1);
}

void print_resident(const char* name) {
  constexpr int max_sms = 1024;
  constexpr int block_size = 64;
  int* now = zeros<int>(max_sms);
  int* peak = zeros<int>(max_sms);
  int sms = 0;
  int api = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&api, count_resident, block_size, 0));
  count_resident<<<64 * sms, block_size>>>(now, peak);
  const std::vector<int> found = fetch(peak, max_sms);
  std::printf("  %-34s API %2d blocks/SM, resident at most %2d\n", name, api,
              *std::max_element(found.begin(), found.end()));
}

void run_cache_config() {
  const std::pair<cudaFuncCache, const char*> settings[] = {
      {cudaFuncCachePreferNone, "cudaFuncCachePreferNone"},
      {cudaFuncCachePreferShared, "cudaFuncCachePreferShared"},
      {cudaFuncCachePreferEqual, "cudaFuncCachePreferEqual"},
      {cudaFuncCachePreferL1, "cudaFuncCachePreferL1"}};
  for (const auto& [setting, name] : settings) {
    check(cudaFuncSetCacheConfig(count_resident, setting));
    print_resident(name);
  }
  check(cudaFuncSetCacheConfig(count_resident, cudaFuncCachePreferNone));
  for (const int percent : {100, 50, 0}) {
    check(cudaFuncSetAttribute(count_resident, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
    char name[40];
    std::snprintf(name, sizeof name, "preferred carve-out %d %%", percent);
    print_resident(name);
  }
}

// --- the exercise of PMPP 5.6: calculate_appropriate_SM_usage

/// Most dynamic shared memory per block, in bytes, with which `blocks` still fit on an SM.
/// Not sharedMemPerBlock: that is the limit of one block, and it does not depend on how many there are.
int calculate_appropriate_SM_usage(const cudaDeviceProp& device, int blocks) {
  const int unit_bytes = device.major < 8 ? 256 : 128;  // of an allocation: cuda_occupancy.h
  const int sm_bytes = static_cast<int>(device.sharedMemPerMultiprocessor);
  const int own_bytes = sm_bytes / blocks / unit_bytes * unit_bytes;
  return std::min(own_bytes - static_cast<int>(device.reservedSharedMemPerBlock),
                  static_cast<int>(device.sharedMemPerBlockOptin));
}

__global__ void uses_dynamic_smem(float* out) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  if (out != nullptr) out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

void run_smem_budget() {
  constexpr int block_size = 256;
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  const int optin = static_cast<int>(device.sharedMemPerBlockOptin);
  check(cudaFuncSetAttribute(uses_dynamic_smem, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
  int wrong = 0;
  const int most =
      std::min(device.maxBlocksPerMultiProcessor, device.maxThreadsPerMultiProcessor / block_size);
  for (int blocks = 1; blocks <= most; ++blocks) {
    const int bytes = calculate_appropriate_SM_usage(device, blocks);
    int fit = 0;
    int beyond = 0;  // 0 where one byte more is refused
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, uses_dynamic_smem, block_size, bytes));
    if (bytes < optin)
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&beyond, uses_dynamic_smem, block_size, bytes + 1));
    wrong += fit < blocks || beyond >= blocks;
    std::printf("  %d blocks of %d threads: %6d B each; the API fits %d, with one byte more %d\n", blocks,
                block_size, bytes, fit, beyond);
  }
  std::printf("  %d of %d answers differ from the API\n", wrong, most);
  if (wrong != 0) std::exit(1);
}

enum class Expected { ends, hangs, either };

struct Example {
  const char* name;
  const char* text;
  void (*run)();
  Expected expected = Expected::ends;
};

const Example examples[] = {
    {"barrier-in-branch", "__syncthreads in both branches of an if, within a warp", run_barrier_in_branch,
     Expected::either},
    {"barrier-not-reached", "warp 0 at __syncthreads, warp 1 waits for warp 0", run_barrier_not_reached,
     Expected::hangs},
    {"blocks-wait-resident", "blocks wait for each other, all resident", run_blocks_wait_resident},
    {"blocks-wait-beyond", "the same with one block too many", run_blocks_wait_beyond, Expected::hangs},
    {"grid-sync", "grid.sync of a cooperative launch, and with one block too many", run_grid_sync},
    {"lanes-wait", "lanes of a warp wait for another lane", run_lanes_wait},
    {"syncwarp", "lanes of a warp exchange values after a branch", run_syncwarp},
    {"cache-config", "cudaFuncSetCacheConfig and the carve-out, 16 KiB per block", run_cache_config},
    {"smem-budget", "calculate_appropriate_SM_usage, checked with the occupancy API", run_smem_budget}};

/// The child's status; -1: it did not end within the limit and was killed.
int wait_for(pid_t child) {
  for (int tenths = 0; tenths < 10 * limit_s; ++tenths) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    const timespec tenth{0, 100'000'000};
    nanosleep(&tenth, nullptr);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

/// Whether it went as expected.
bool run_in_child(const Example& example, const char* program) {
  std::printf("%s: %s\n", example.name, example.text);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "--here", example.name, nullptr);
    _exit(127);
  }
  if (child < 0) return std::perror("fork"), false;
  const int status = wait_for(child);
  const bool is_expected =
      status == -1 ? example.expected != Expected::ends : status == 0 && example.expected != Expected::hangs;
  const char* undefined = example.expected == Expected::either ? "the behaviour is undefined" : "as expected";
  if (status == -1)
    std::printf("  did not end in %d s, %s\n", limit_s, is_expected ? undefined : "which was not expected");
  else if (example.expected == Expected::hangs && status == 0)
    std::printf("  this was expected not to end\n");
  return is_expected;
}

const Example* find_example(const char* name) {
  for (const Example& each : examples)
    if (std::strcmp(each.name, name) == 0) return &each;
  std::fprintf(stderr, "mechanisms: no example %s; there are:\n", name);
  for (const Example& each : examples) std::fprintf(stderr, "  %-22s%s\n", each.name, each.text);
  std::exit(2);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::strcmp(arguments[1], "--here") == 0) {
    find_example(arguments[2])->run();
    return 0;
  }
  std::vector<Example> chosen;
  for (int i = 1; i < count; ++i) chosen.push_back(*find_example(arguments[i]));
  if (chosen.empty()) chosen.assign(std::begin(examples), std::end(examples));
  int unexpected = 0;
  for (const Example& each : chosen) unexpected += !run_in_child(each, "/proc/self/exe");
  std::printf("%zu examples, %d not as expected\n", chosen.size(), unexpected);
  return unexpected == 0 ? 0 : 1;
}
