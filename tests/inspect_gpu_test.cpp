// SPDX-License-Identifier: Apache-2.0
// What inspect reads of machine code against the driver, which loads the same code: registers, static shared
// memory, largest block, and resident blocks at five block sizes. No kernel is launched. 0 differences.
// OCCBENCH: a program; OCCBENCH_INSPECT_FILES: more programs and libraries, with colons between.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/commands/calc/calc.hpp"
#include "benchmarks/commands/inspect/query.hpp"
#include "harness/binary/cubin.hpp"
#include "harness/binary/fatbin.hpp"
#include "harness/device/device.hpp"
#include "harness/io/check.hpp"

namespace occbench {
namespace {

constexpr std::array block_sizes = {64, 128, 256, 512, 1024};

/// The calls of the driver, as cuda.h declares them; libcuda.so.1 is there where a device is.
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  decltype(&cuModuleLoadData) load = find<decltype(load)>("cuModuleLoadData");
  decltype(&cuModuleUnload) unload = find<decltype(unload)>("cuModuleUnload");
  decltype(&cuModuleGetFunction) function = find<decltype(function)>("cuModuleGetFunction");
  decltype(&cuFuncGetAttribute) attribute = find<decltype(attribute)>("cuFuncGetAttribute");
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) resident =
      find<decltype(resident)>("cuOccupancyMaxActiveBlocksPerMultiprocessor");

 private:
  template <typename Call>
  Call find(const char* name) {
    void* const call = library == nullptr ? nullptr : dlsym(library, name);
    if (call == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    return reinterpret_cast<Call>(call);
  }
};

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const char* variable : {"OCCBENCH", "OCCBENCH_INSPECT_FILES"}) {
    const char* const value = std::getenv(variable);
    std::istringstream words(value == nullptr ? "" : value);
    for (std::string name; std::getline(words, name, ':');) names.push_back(name);
  }
  return names;
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class InspectOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    const std::vector<Device> devices = enumerate_devices(&why_none);
    if (devices.empty()) GTEST_SKIP() << "needs a GPU: " << why_none;
    const Device& device = *choose_device(devices, "").device;
    check(cudaSetDevice(device.index));
    check(cudaFree(nullptr));  // makes the context that the driver's calls want
    cc_ = "cc" + device.compute_capability();
    std::printf("device: %s, %s\n", device.name.c_str(), cc_.c_str());
  }

  void compare(const Driver& driver, const binary::CompiledKernel& kernel, CUfunction function) {
    SCOPED_TRACE(kernel.use.name + " for " + kernel.architecture);
    const auto attribute = [&](CUfunction_attribute which) {
      int value = -1;
      EXPECT_EQ(driver.attribute(&value, which, function), CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(kernel.use.registers_per_thread, attribute(CU_FUNC_ATTRIBUTE_NUM_REGS));
    EXPECT_EQ(static_cast<int>(kernel.use.static_smem_bytes), attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    const int largest = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    for (const int size : block_sizes) {
      commands::Inspector inspector(cc_, commands::resolve_offline, {.least = size, .most = size}, 0);
      const commands::InspectedKernel row = inspector.rows_of(kernel).front();
      EXPECT_EQ(row.largest_block, largest);
      const int block = row.query.footprint.block_size;  // the kernel's own where it has one
      if (row.query.cluster_size > 1) continue;          // the driver's call knows blocks, not clusters
      int resident = 0;
      if (block <= largest) {
        EXPECT_EQ(driver.resident(&resident, function, block, 0), CUDA_SUCCESS);
      }
      EXPECT_EQ(row.answer.occupancy.blocks_per_sm, resident) << "blocks of " << block;
      ++launches_;
    }
  }

  void compare(const Driver& driver, binary::Bytes cubin) {
    const commands::Inspector inspector(cc_, commands::resolve_offline, {}, 0);
    const std::vector<binary::CompiledKernel> kernels = binary::kernels_of(binary::ElfFile(cubin));
    if (kernels.empty() || !kernels.front().is_linked || !inspector.runs(kernels.front())) return;
    CUmodule module = nullptr;
    ASSERT_EQ(driver.load(&module, cubin.data()), CUDA_SUCCESS);
    for (const binary::CompiledKernel& kernel : kernels) {
      CUfunction function = nullptr;
      ASSERT_EQ(driver.function(&function, module, kernel.use.name.c_str()), CUDA_SUCCESS) << kernel.use.name;
      compare(driver, kernel, function);
      ++kernels_;
    }
    ASSERT_EQ(driver.unload(module), CUDA_SUCCESS);
  }

  std::string cc_;
  int kernels_ = 0, launches_ = 0;
};

TEST_F(InspectOnDevice, MatchesTheDriversAttributes) {
  const Driver driver;
  for (const std::string& file : files()) {
    const std::string content = content_of(file);
    const binary::Bytes bytes = std::as_bytes(std::span(content));
    const binary::ElfFile host(bytes);
    binary::Unpacking unpacking(bytes.size());
    for (const binary::Section& section : host.sections()) {
      if (section.name != ".nv_fatbin") continue;
      const std::string rest =
          binary::for_each_part(section.bytes, unpacking, [&](const binary::FatbinPart& part) {
            if (!part.content.empty()) compare(driver, part.content);
          });
      EXPECT_EQ(rest, "") << file;
    }
  }
  std::printf("%d kernels, %d answers\n", kernels_, launches_);
  EXPECT_GE(kernels_, 500);
}

}  // namespace
}  // namespace occbench
