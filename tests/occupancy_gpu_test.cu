// SPDX-License-Identifier: Apache-2.0
// theory against the CUDA runtime on this machine's device: real kernels of many register counts and
// barriers, every block size x dynamic shared memory x carve-out. No kernel is launched. 0 differences.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/io/check.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench {
namespace {

/// `Registers` registers or a little fewer: all loads stand before the barrier and all stores, which may
/// alias, after it. Without the cap the compiler rounds long live ranges up to 128, 168 and 254 registers.
template <int Registers>
__global__ void __maxnreg__(Registers) hold(float* data) {
  constexpr int values = Registers - 10;
  float value[values];
#pragma unroll
  for (int i = 0; i < values; ++i) value[i] = data[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < values; ++i) data[(values - 1 - i) * 1024 + threadIdx.x] = value[i];
}

template <int Values>
__global__ void __launch_bounds__(128) hold_bounded(float* data) {
  data[threadIdx.x] += Values;
  __syncthreads();
  data[threadIdx.x + 1] += Values;
}

template <int Id>
__device__ void wait_at() {
  asm volatile("bar.sync %0;" ::"n"(Id) : "memory");
}

template <int... Ids>
__device__ void wait_at_each(std::integer_sequence<int, Ids...>) {
  (wait_at<Ids>(), ...);
}

/// Reserves ids 0 to Barriers - 1.
template <int Barriers, int Values>
__global__ void wait_constant(float* data) {
  float value[Values];
#pragma unroll
  for (int i = 0; i < Values; ++i) value[i] = data[i * 1024 + threadIdx.x];
  wait_at_each(std::make_integer_sequence<int, Barriers>());
#pragma unroll
  for (int i = 0; i < Values; ++i) data[(Values - 1 - i) * 1024 + threadIdx.x] = value[i];
}

/// An id that the compiler cannot know: all 16 are reserved.
__global__ void wait_variable(float* data, int id) {
  data[threadIdx.x] += 1;
  asm volatile("bar.sync %0;" ::"r"(id) : "memory");
  data[threadIdx.x + 1] += 1;
}

__global__ void wait_never(float* data) { data[threadIdx.x] += 1; }

template <int Bytes>
__global__ void hold_static(float* data) {
  __shared__ char kept[Bytes];
  kept[threadIdx.x % Bytes] = static_cast<char>(data[threadIdx.x]);
  __syncthreads();
  data[threadIdx.x] = kept[(threadIdx.x + 1) % Bytes];
}

struct Variant {
  std::string name;
  const void* kernel;
  int barriers;  // not in cudaFuncAttributes: declared here
};

template <int... Steps>
void add_register_variants(std::vector<Variant>& all, std::integer_sequence<int, Steps...>) {
  (all.push_back(
       {"hold " + std::to_string(24 + 7 * Steps), reinterpret_cast<const void*>(hold<24 + 7 * Steps>), 1}),
   ...);
}

template <int Barriers>
void add_barrier_variants(std::vector<Variant>& all) {
  const std::string name = std::to_string(Barriers) + " barriers, ";
  all.push_back(
      {name + "few registers", reinterpret_cast<const void*>(wait_constant<Barriers, 4>), Barriers});
  all.push_back(
      {name + "many registers", reinterpret_cast<const void*>(wait_constant<Barriers, 60>), Barriers});
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  add_register_variants(all, std::make_integer_sequence<int, 33>());  // 24 (the least), 31, ... 248
  all.push_back({"hold 255", reinterpret_cast<const void*>(hold<255>), 1});
  add_barrier_variants<2>(all);
  add_barrier_variants<3>(all);
  add_barrier_variants<4>(all);
  add_barrier_variants<8>(all);
  add_barrier_variants<16>(all);
  all.push_back({"variable barrier", reinterpret_cast<const void*>(wait_variable), 16});
  all.push_back({"no barrier", reinterpret_cast<const void*>(wait_never), 0});
  all.push_back({"static 1 B", reinterpret_cast<const void*>(hold_static<1>), 1});
  all.push_back({"static 1,001 B", reinterpret_cast<const void*>(hold_static<1001>), 1});
  all.push_back({"static 48 KiB", reinterpret_cast<const void*>(hold_static<48 * 1024>), 1});
  all.push_back({"launch bounds 128", reinterpret_cast<const void*>(hold_bounded<1>), 1});
  return all;
}

std::vector<int> block_sizes() {
  std::vector<int> sizes = {1, 33, 100, 1000};
  for (int size = 32; size <= 1024; size += 32) sizes.push_back(size);
  return sizes;
}

constexpr int carveouts_percent[] = {-1, 0, 25, 50, 75, 100};

/// Blocks per SM as the runtime says; 0 when it refuses the question.
int runtime_blocks(const void* kernel, int block_size, std::size_t dynamic_smem_bytes) {
  int blocks = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_size, dynamic_smem_bytes) !=
      cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return blocks;
}

class OccupancyOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    const std::vector<Device> devices = enumerate_devices(&why_none);
    if (devices.empty()) GTEST_SKIP() << "needs a GPU: " << why_none;
    const Device& device = *choose_device(devices, "").device;
    check(cudaSetDevice(device.index));
    sm_ = device.sm;
    std::printf("device: %s, cc %s\n", device.name.c_str(), device.compute_capability().c_str());
  }

  /// Opts the kernel in to all shared memory and calls `visit` at every carve-out.
  template <typename Visit>
  void for_each_kernel_and_carveout(Visit visit) {
    for (const Variant& variant : variants()) {
      cudaFuncAttributes attributes{};
      check(cudaFuncGetAttributes(&attributes, variant.kernel), "reading kernel attributes");
      const auto most = theory::smem_limit_per_block_bytes(sm_) - attributes.sharedSizeBytes;
      check(cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(most)),
            "opting in to shared memory");
      for (const int carveout : carveouts_percent) {
        check(cudaFuncSetAttribute(variant.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout),
              "setting the carve-out");
        visit(variant, theory::Footprint{.registers_per_thread = attributes.numRegs,
                                         .static_smem_bytes = attributes.sharedSizeBytes,
                                         .barriers = variant.barriers,
                                         .carveout_percent = carveout,
                                         .max_block_size = attributes.maxThreadsPerBlock});
      }
    }
  }

  void expect_the_runtimes_blocks(const Variant& variant, const theory::Footprint& f) {
    const int runtime = runtime_blocks(variant.kernel, f.block_size, f.dynamic_smem_bytes);
    const int ours = theory::occupancy(sm_, f).blocks_per_sm;
    ++points_;
    if (ours == runtime || ++differences_ > 20) return;
    std::printf(
        "  DIFFERENCE %s: %d registers, %zu B static, %d threads, %zu B dynamic, carve-out %d, kernel limit "
        "%d: runtime %d, theory %d\n",
        variant.name.c_str(), f.registers_per_thread, f.static_smem_bytes, f.block_size, f.dynamic_smem_bytes,
        f.carveout_percent, f.max_block_size, runtime, ours);
  }

  theory::SmLimits sm_;
  long points_ = 0, differences_ = 0;
};

/// Whether the device takes a launch of this shape. The pointer is never followed: refused launches do not
/// run.
bool launches(const void* kernel, int block_size, std::size_t dynamic_smem_bytes, float* data) {
  int id = 1;
  void* arguments[] = {&data, &id};  // wait_variable alone takes the second
  const cudaError_t error = cudaLaunchKernel(kernel, dim3(1), dim3(static_cast<unsigned>(block_size)),
                                             arguments, dynamic_smem_bytes, nullptr);
  static_cast<void>(cudaGetLastError());
  return error == cudaSuccess;
}

TEST_F(OccupancyOnDevice, BlocksPerSmMatchTheRuntime) {
  std::vector<std::size_t> sizes_bytes = {0,     1,     127,   128,   129,   1000,  1024,   1025,   3000,
                                          4096,  6143,  8192,  9999,  12288, 16384, 20000,  24577,  32768,
                                          33000, 40960, 49152, 49153, 65536, 81921, 100352, 131072, 166912};
  const std::size_t limit = theory::smem_limit_per_block_bytes(sm_);
  for (const std::size_t below : {2048, 1025, 1024, 1, 0}) sizes_bytes.push_back(limit - below);
  sizes_bytes.push_back(limit + 1);
  std::set<int> register_counts;
  long beyond_the_kernel = 0;
  for_each_kernel_and_carveout([&](const Variant& variant, theory::Footprint f) {
    register_counts.insert(f.registers_per_thread);
    for (const int block_size : block_sizes()) {
      for (const std::size_t bytes : sizes_bytes) {
        f.block_size = block_size;
        f.dynamic_smem_bytes = bytes;
        if (block_size > f.max_block_size) {  // the runtime counts blocks that it would refuse to launch
          ++beyond_the_kernel;
          EXPECT_EQ(theory::occupancy(sm_, f).blocks_per_sm, 0);
          if (bytes == 0) EXPECT_FALSE(launches(variant.kernel, block_size, bytes, nullptr));
          continue;
        }
        expect_the_runtimes_blocks(variant, f);
      }
    }
  });
  std::printf(
      "blocks per SM: %ld points over %zu register counts (%d to %d), %ld differences; %ld more past a "
      "kernel's "
      "own block size limit, where nothing launches\n",
      points_, register_counts.size(), *register_counts.begin(), *register_counts.rbegin(), differences_,
      beyond_the_kernel);
  EXPECT_GE(points_, 100000);
  EXPECT_GE(register_counts.size(), 25u);
  EXPECT_EQ(differences_, 0);
}

TEST_F(OccupancyOnDevice, BlocksPerSmMatchTheRuntimeAtAvailableSmem) {
  long overstated = 0;  // by the runtime: at its answer, its own count has fewer blocks than asked for
  for_each_kernel_and_carveout([&](const Variant& variant, theory::Footprint f) {
    for (const int block_size : block_sizes()) {
      if (block_size > f.max_block_size) continue;
      for (const int blocks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 31, 32, 33}) {
        f.block_size = block_size;
        std::size_t available = 0;
        const bool known = cudaOccupancyAvailableDynamicSMemPerBlock(&available, variant.kernel, blocks,
                                                                     block_size) == cudaSuccess;
        if (!known) static_cast<void>(cudaGetLastError());
        if (known && runtime_blocks(variant.kernel, block_size, available) < blocks) ++overstated;
        for (const std::size_t bytes : {available, available + 1}) {
          f.dynamic_smem_bytes = bytes;
          expect_the_runtimes_blocks(variant, f);
        }
      }
    }
  });
  std::printf(
      "available dynamic shared memory: %ld points, %ld differences; at %ld of the runtime's answers it "
      "counts fewer blocks than were asked for\n",
      points_, differences_, overstated);
  EXPECT_EQ(differences_, 0);
}

}  // namespace
}  // namespace occbench
