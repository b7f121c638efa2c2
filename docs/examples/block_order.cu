// SPDX-License-Identifier: Apache-2.0
// Which SM gets which block, and when does the next block start?
// Expected: a small grid spreads over the SMs, one block each. In a grid of two waves each SM gets its next
//   block when its own block ends, not when the wave ends. Two launches need not place blocks alike.
// Source: CUDA Programming Guide, Scalable Programming Model: blocks run in any order.
//
//   nvcc -std=c++17 -arch=native -o block_order block_order.cu
//   ./block_order order && occbench explain order --order
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int block_size = 128;
constexpr int launches = 2;
constexpr std::uint64_t unit_ns = 20'000;  // some GPUs advance their global timer once per microsecond

struct Record {
  std::uint64_t begin_ns, end_ns;
  std::uint32_t sm;
};

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "block_order: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__device__ std::uint64_t timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Neighbouring blocks run for one to four units, so that the blocks of a wave end apart.
__global__ void record_block(Record* records) {
  if (threadIdx.x != 0) return;
  Record own{timer_ns(), 0, 0};
  asm volatile("mov.u32 %0, %%smid;" : "=r"(own.sm));
  const std::uint64_t lasts_ns = unit_ns * (1 + blockIdx.x % 4);
  do own.end_ns = timer_ns();
  while (own.end_ns - own.begin_ns < lasts_ns);
  records[blockIdx.x] = own;
}

void write_launches(std::FILE* file, const char* name, int grid, int smem_bytes, Record* records) {
  std::vector<Record> found(grid);
  for (int launch = 0; launch < launches; ++launch) {
    record_block<<<grid, block_size, smem_bytes>>>(records);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(found.data(), records, grid * sizeof(Record), cudaMemcpyDeviceToHost), "copy");
    std::uint64_t first_ns = found[0].begin_ns;
    for (const Record& each : found) first_ns = each.begin_ns < first_ns ? each.begin_ns : first_ns;
    for (int block = 0; block < grid; ++block)
      std::fprintf(file, "%s,%d,%d,%u,%llu,%llu\n", name, launch, block, found[block].sm,
                   static_cast<unsigned long long>(found[block].begin_ns - first_ns),
                   static_cast<unsigned long long>(found[block].end_ns - first_ns));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::filesystem::path folder = count > 1 ? arguments[1] : "order";
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "device 0");
  // More than half of an SM's shared memory: one block per SM.
  const int smem_bytes = static_cast<int>(device.sharedMemPerBlockOptin);
  check(cudaFuncSetAttribute(record_block, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes), "smem");
  const int sms = device.multiProcessorCount;
  Record* records = nullptr;
  check(cudaMalloc(&records, 2 * sms * sizeof(Record)), "memory");
  record_block<<<sms, block_size, smem_bytes>>>(records);  // loads the code
  check(cudaDeviceSynchronize(), "first launch");

  std::filesystem::create_directories(folder);
  const std::string path = (folder / "block_order.csv").string();
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return std::perror(path.c_str()), 1;
  std::fprintf(file, "grid,launch,block,sm,begin_ns,end_ns\n");
  write_launches(file, "small", 8, smem_bytes, records);
  write_launches(file, "two waves", 2 * sms, smem_bytes, records);
  if (std::fclose(file) != 0) return std::perror(path.c_str()), 1;
  std::printf("%s: %d SMs, %d launches of 8 and of %d blocks\n", path.c_str(), sms, launches, 2 * sms);
  return 0;
}
