// SPDX-License-Identifier: Apache-2.0
// A program whose kernels' need of occupancy is known from how they are made, for `occbench attach`. Prints a
// checksum of each kernel's output: what is attached to it may not change one bit.
//
//   attach_planted [LAUNCHES [graph|green|sms]]
//
// With `graph` three of the kernels are captured, and the graph is launched so often. With `green` two of
// them run on a part of the SMs: in a green context, and in a stream of one beside the primary context. With
// `sms` others run, whose need of SMs is known.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

namespace {

constexpr int threads = 256;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// One chain of FMAs in each thread, each waiting for the one before, and so much shared memory that a
/// scheduler has three warps: a fourth would be free.
__global__ void needs_occupancy(float* out, int steps) {
  extern __shared__ float unused[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i);
  for (int s = 0; s < steps; ++s) x = x * 0.999f + 0.5f;
  if (steps < 0) x = unused[threadIdx.x];
  out[i] = x;
}

/// Eight independent chains of FMAs in each thread: a few warps fill the pipe.
__global__ void saturated(float* out, int steps) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[8];
  for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(i + k);
  for (int s = 0; s < steps; ++s)
    for (int k = 0; k < 8; ++k) x[k] = x[k] * 0.999f + 0.5f;
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += x[k];
  out[i] = sum;
}

/// Each warp goes again and again over 16 KiB of its block's own: eight blocks fit in the L1 where all of it
/// is cache, and none where all of it is shared memory.
__global__ void needs_l1(const float* data, float* out, int floats, int rounds) {
  const float* const own = data + static_cast<size_t>(blockIdx.x) * floats;
  float sum = 0;
  for (int r = 0; r < rounds; ++r)
    for (int k = threadIdx.x; k < floats; k += blockDim.x) sum += __ldca(own + ((k * 33 + r) & (floats - 1)));
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// Shares of the L2: with few blocks at a time their data stays in it; with all of them it does not.
__global__ void faster_lower(const float4* data, float* out, int vectors, int rounds) {
  const float4* const own = data + static_cast<size_t>(blockIdx.x) * vectors;
  float sum = 0;
  for (int r = 0; r < rounds; ++r)
    for (int k = threadIdx.x; k < vectors; k += blockDim.x) {
      const float4 v = __ldcg(own + k);
      sum += v.x + v.y * v.z - v.w;
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// The same as `saturated` in fewer than three waves of blocks.
__global__ void few_waves(float* out, int steps) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[8];
  for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(i + k);
  for (int s = 0; s < steps; ++s)
    for (int k = 0; k < 8; ++k) x[k] = x[k] * 0.998f + 0.25f;
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += x[k];
  out[i] = sum;
}

/// Each thread goes from word to word of shared memory, four of a warp in each bank: the SM serves its warps
/// in turn, and ten of them keep it busy. Eight blocks of two are resident, and 32 of an SM are four waves.
/// By six at a time two are left over, which take as long as five would: a wave's end, no need of more warps.
__global__ void steps_by_waves(unsigned* out, int steps) {
  extern __shared__ unsigned next[];
  constexpr unsigned words = 4096, apart = 128;
  for (unsigned k = threadIdx.x; k < words; k += blockDim.x) next[k] = (k + apart) & (words - 1);
  __syncthreads();
  unsigned at = threadIdx.x * 4;
  for (int s = 0; s < steps; ++s) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

/// All of its blocks wait for each other: with fewer resident it would never end.
__global__ void barrier(unsigned* arrived, unsigned* out, unsigned round) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x * (round + 1)) {
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = round;
}

/// How long it runs is in what its pointer points to, which no signature shows.
__global__ void two_kinds(const int* steps, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i);
  for (int s = 0; s < *steps; ++s) x = x * 0.999f + 0.5f;
  out[i] = x;
}

/// What it writes is how much dynamic shared memory it has.
__global__ void asks_for_smem(unsigned* out) {
  unsigned bytes = 0;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  out[blockIdx.x * blockDim.x + threadIdx.x] = bytes;
}

/// Reads more than the L2 holds, in many waves: DRAM gives half of the SMs nearly as much.
__global__ void memory_bound(const float4* data, float* out, std::int64_t vectors) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t first = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  float sum = 0;
  for (std::int64_t i = first; i < vectors; i += step) sum += data[i].x + data[i].y + data[i].z + data[i].w;
  out[first] = sum;
}

/// Two FMAs in turn, in many waves.
__global__ void sm_bound(float* out, int steps) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i), y = 1;
  for (int s = 0; s < steps; ++s) {
    x = x * 0.999f + y;
    y = y * 0.998f + x;
  }
  out[i] = x + y;
}

/// The same in fewer blocks than SMs.
__global__ void small_grid(float* out, int steps) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i);
  for (int s = 0; s < steps; ++s) x = x * 0.999f + 0.5f;
  out[i] = x;
}

/// Begins while the one before still runs, and adds to what that one wrote.
__global__ void dependent(float* out, int steps) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = static_cast<float>(i), y = 1;
  for (int s = 0; s < steps; ++s) {
    x = x * 0.999f + y;
    y = y * 0.998f + x;
  }
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  out[i] += x + y;
}

/// Products of tensor cores by blocks of which one fits an SM.
__global__ void tensor_bound(float* out, int steps) {
  constexpr int chains = 8;
  float sums[chains][4] = {};
  const unsigned a = 0x3F803F80 + threadIdx.x, b = 0x3F003F00;  // pairs of bfloat16
  for (int s = 0; s < steps; ++s)
    for (auto& sum : sums)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
          "{%0,%1,%2,%3};"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a), "r"(b));
  float total = 0;
  for (const auto& sum : sums) total += sum[0] + sum[3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

/// In a graph that is updated from another: adds what that one's number is.
__global__ void in_updated_graph(float* out, int steps, float number) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = number;
  for (int s = 0; s < steps; ++s) x = x * 0.999f + 0.5f;
  out[i] += x;
}

template <class T>
T* device(std::size_t count) {
  T* p = nullptr;
  check(cudaMalloc(&p, count * sizeof(T)));
  check(cudaMemset(p, 0, count * sizeof(T)));
  return p;
}

template <class T>
void report(const char* name, const T* values, std::size_t count) {
  std::vector<T> host(count);
  check(cudaMemcpy(host.data(), values, count * sizeof(T), cudaMemcpyDeviceToHost));
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
  for (std::size_t i = 0; i < count * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

cudaGraph_t graph_of(cudaStream_t stream, const auto& launches) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  launches();
  check(cudaStreamEndCapture(stream, &graph));
  return graph;
}

/// Captured once, as PyTorch does it: the graph ends before the executable one is launched.
cudaGraphExec_t captured(cudaStream_t stream, const auto& launches) {
  cudaGraph_t const graph = graph_of(stream, launches);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  return executable;
}

void run_sms(int launches, int sms) {
  constexpr int tensor_smem = 120 * 1024;
  constexpr std::int64_t vectors = std::int64_t{16} << 20;
  constexpr int graph_launches = 16;  // a fifth of a percent of a graph takes thousands to tell
  const int many = sms * 8 * 16;
  const auto each = static_cast<std::size_t>(many) * threads;
  const char* const names[] = {"memory_bound", "sm_bound",     "small_grid",
                               "dependent",    "tensor_bound", "in_updated_graph"};
  constexpr std::size_t kernels = std::size(names);
  float* outs[kernels];
  for (float*& out : outs) out = device<float>(each);
  auto* const data = device<float4>(vectors);
  check(cudaFuncSetAttribute(tensor_bound, cudaFuncAttributeMaxDynamicSharedMemorySize, tensor_smem));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(many));
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaGraphExec_t updated = nullptr;
  for (int n = 0; n < launches; ++n) {
    memory_bound<<<many, threads, 0, stream>>>(data, outs[0], vectors);
    sm_bound<<<many, threads, 0, stream>>>(outs[1], 300);
    small_grid<<<sms / 2, 128, 0, stream>>>(outs[2], 20'000);
    for (int twice = 0; twice < 2; ++twice) check(cudaLaunchKernelEx(&config, dependent, outs[3], 300));
    tensor_bound<<<sms * 16, threads, tensor_smem, stream>>>(outs[4], 200);
    if (n % 4 == 0) {
      cudaGraph_t const graph = graph_of(stream, [&] {
        for (int twice = 0; twice < 2; ++twice)
          in_updated_graph<<<many, threads, 0, stream>>>(outs[5], 500, static_cast<float>(n + twice));
      });
      cudaGraphExecUpdateResultInfo info{};
      check(updated == nullptr ? cudaGraphInstantiate(&updated, graph, 0)
                               : cudaGraphExecUpdate(updated, graph, &info));
      check(cudaGraphDestroy(graph));
    }
    for (int more = 0; more < graph_launches; ++more) check(cudaGraphLaunch(updated, stream));
  }
  check(cudaStreamSynchronize(stream));
  check(cudaGraphExecDestroy(updated));
  for (std::size_t k = 0; k < kernels; ++k) report(names[k], outs[k], each);
  check(cudaGetLastError());
}

#if CUDA_VERSION >= 12050  // streams of green contexts

template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  constexpr unsigned since = 12050;
  check(cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, nullptr));
  return reinterpret_cast<Function*>(found);
}

void check(CUresult error) {
  if (error == CUDA_SUCCESS) return;
  std::fprintf(stderr, "the driver's error %d\n", static_cast<int>(error));
  std::exit(1);
}

/// Blocks enough for all SMs at once are many waves of a part of them.
void run_green(int launches, int sms) {
  constexpr unsigned part_sms = 32;
  CUdevResource all{}, part{}, rest{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUcontext primary = nullptr, context = nullptr;
  CUstream stream = nullptr;
  unsigned groups = 1;
  const int count = sms * 8 * threads;
  auto* const floats = device<float>(2 * static_cast<std::size_t>(count));
  check(driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(0, &all,
                                                                                    CU_DEV_RESOURCE_TYPE_SM));
  check(driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount")(
      &part, &groups, &all, &rest, 0, part_sms));
  check(driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(&description, &part,
                                                                                          1));
  check(driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(&green, description, 0,
                                                                        CU_GREEN_CTX_DEFAULT_STREAM));
  check(driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(
      &stream, green, CU_STREAM_NON_BLOCKING, 0));
  check(driver_function<decltype(cuCtxFromGreenCtx)>("cuCtxFromGreenCtx")(&context, green));
  check(driver_function<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&primary));
  auto* const make_current = driver_function<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
  for (int n = 0; n < launches; ++n) saturated<<<sms * 8, threads, 0, stream>>>(floats, 500);
  check(cudaDeviceSynchronize());
  check(make_current(context));
  for (int n = 0; n < launches; ++n) few_waves<<<sms * 8, threads>>>(floats + count, 500);
  check(cudaDeviceSynchronize());
  check(make_current(primary));
  check(driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy")(green));
  saturated<<<sms * 8, threads>>>(floats, 500);
  check(cudaDeviceSynchronize());
  report("saturated", floats, static_cast<std::size_t>(count));
  report("few_waves", floats + count, static_cast<std::size_t>(count));
}

#else

void run_green(int, int) {
  std::fprintf(stderr, "green contexts need CUDA 12.5\n");
  std::exit(1);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 300;
  cudaDeviceProp device_facts{};
  check(cudaGetDeviceProperties(&device_facts, 0));
  const int sms = device_facts.multiProcessorCount;

  if (argc > 2 && std::string_view(argv[2]) == "green") {
    run_green(launches, sms);
    return 0;
  }

  if (argc > 2 && std::string_view(argv[2]) == "sms") {
    run_sms(launches, sms);
    return 0;
  }

  constexpr int chain_threads = 128, chain_smem = 72 * 1024;  // three blocks: twelve warps
  constexpr int steps_threads = 64, steps_smem = 27 * 1024;   // eight blocks
  check(cudaFuncSetAttribute(needs_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, chain_smem));
  const int many = sms * 8 * 16;  // sixteen waves of eight blocks
  auto* const ids = device<unsigned>(static_cast<std::size_t>(many) * threads);
  auto* const asked = device<unsigned>(static_cast<std::size_t>(many) * threads);
  auto* const floats = device<float>(static_cast<std::size_t>(many) * threads);
  constexpr int l1_floats = 4096;  // 16 KiB a block
  auto* const l1_data = device<float>(static_cast<std::size_t>(many) * l1_floats);
  constexpr int l2_vectors = 8192;  // 128 KiB a block
  auto* const l2_data = device<float4>(static_cast<std::size_t>(many) * l2_vectors);
  auto* const arrived = device<unsigned>(1);
  auto* const steps = device<int>(2);
  const int two[2] = {2000, 8000};
  check(cudaMemcpy(steps, two, sizeof two, cudaMemcpyHostToDevice));

  if (argc > 2 && std::string_view(argv[2]) == "graph") {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream));
    auto* const own = device<float>(3 * static_cast<std::size_t>(many) * threads);
    float* const outs[] = {own, own + static_cast<std::size_t>(many) * threads,
                           own + 2 * static_cast<std::size_t>(many) * threads};
    const auto all = [&] {
      needs_occupancy<<<sms * 36, chain_threads, chain_smem, stream>>>(outs[0], 4000);
      // A third of the graph's time in all: attach takes each kernel for about a fifth.
      for (int twice = 0; twice < 2; ++twice) saturated<<<many, threads, 0, stream>>>(outs[1], 100);
      needs_l1<<<many, threads, 0, stream>>>(l1_data, outs[2], l1_floats, 16);
    };
    cudaGraphExec_t first = captured(stream, all);
    cudaGraphExec_t second = captured(stream, all);  // where the first one's nodes were
    for (int n = 0; n < launches; ++n) check(cudaGraphLaunch(n % 2 == 0 ? first : second, stream));
    check(cudaGraphExecDestroy(first));
    check(cudaStreamSynchronize(stream));
    check(cudaGraphExecDestroy(second));
    const char* const names[] = {"needs_occupancy", "saturated", "needs_l1"};
    for (int k = 0; k < 3; ++k) report(names[k], outs[k], static_cast<std::size_t>(many) * threads);
    check(cudaGetLastError());
    return 0;
  }
  for (int n = 0; n < launches; ++n) {
    needs_occupancy<<<sms * 36, chain_threads, chain_smem>>>(floats, 4000);
    saturated<<<many, threads>>>(floats, 500);
    needs_l1<<<many, threads>>>(l1_data, floats, l1_floats, 16);
    faster_lower<<<many, threads>>>(l2_data, floats, l2_vectors, 6);
    few_waves<<<sms * 22, threads>>>(floats, 2000);
    steps_by_waves<<<sms * 32, steps_threads, steps_smem>>>(ids, 1000);
    barrier<<<sms * 8, threads>>>(arrived, ids, n);
    two_kinds<<<many, threads>>>(steps + n % 2, floats);
    asks_for_smem<<<many, threads, 1024>>>(asked);
  }
  check(cudaDeviceSynchronize());
  report("barrier", ids, static_cast<std::size_t>(sms) * 8 * threads);
  report("asks_for_smem", asked, static_cast<std::size_t>(many) * threads);
  needs_occupancy<<<sms * 36, chain_threads, chain_smem>>>(floats, 4000);
  report("needs_occupancy", floats, static_cast<std::size_t>(sms) * 36 * chain_threads);
  saturated<<<many, threads>>>(floats, 500);
  report("saturated", floats, static_cast<std::size_t>(many) * threads);
  needs_l1<<<many, threads>>>(l1_data, floats, l1_floats, 16);
  report("needs_l1", floats, static_cast<std::size_t>(many) * threads);
  check(cudaDeviceSynchronize());
  check(cudaGetLastError());
}
