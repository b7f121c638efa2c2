// SPDX-License-Identifier: Apache-2.0
// Which kernels read their shared memory's size, by their machine code and text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/attach/preload/machine_code.hpp"

namespace occbench::attach {
namespace {

const std::vector<std::string> askers = {"asks", "asks_by_a_call", "asks_for_all", "fills"};

std::string image(const std::string& name) {
  std::ifstream file(OCCBENCH_IMAGES "/" + name, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(content.empty()) << name;
  return content;
}

TEST(AttachCode, FindsSmemSizeReadersInEveryImageFormat) {
  for (const char* name : {"attach_smem_size.cubin", "attach_smem_size.fatbin",
                           "attach_smem_size-packed.fatbin", "attach_smem_size.ptx"}) {
    const std::string content = image(name);
    const SearchedCode found = search_code(content.c_str(), {});
    EXPECT_EQ(found.smem_readers, askers) << name;
    EXPECT_TRUE(found.is_whole) << name;
  }
}

TEST(AttachCode, SearchesOnlyCodeOfTheGivenArchitectures) {
  const std::string content = image("attach_smem_size.fatbin");
  EXPECT_EQ(search_code(content.c_str(), {90}).smem_readers, askers);
  EXPECT_TRUE(search_code(content.c_str(), {75}).smem_readers.empty());
}

TEST(AttachCode, SearchesPtxOnlyWhereTheDriverWouldJitIt) {
  std::string content = image("attach_smem_size-text.fatbin");  // code for 9.0, and text
  const std::size_t text = content.find(".version");
  ASSERT_NE(text, std::string::npos);
  EXPECT_EQ(search_code(content.c_str(), {100}).smem_readers, askers);
  content.replace(text, std::strlen(content.c_str() + text), std::strlen(content.c_str() + text), ' ');
  EXPECT_EQ(search_code(content.c_str(), {90}).smem_readers, askers);
  EXPECT_TRUE(search_code(content.c_str(), {100}).smem_readers.empty());
  content = image("attach_smem_size-text.fatbin");
  EXPECT_EQ(search_code(content.c_str(), {90, 100}).smem_readers, askers);
}

TEST(AttachCode, UnwrapsTheRuntimesFatbinWrapper) {
  const std::string content = image("attach_smem_size.fatbin");
  struct {
    unsigned magic = 0x466243b1, version = 1;
    const char* data;
    void* unused = nullptr;
  } const wrapper{.data = content.data()};
  EXPECT_EQ(search_code(&wrapper, {}).smem_readers, askers);
}

TEST(AttachCode, ReportsUnreadableImages) {
  std::string content = image("attach_smem_size-packed.fatbin");
  std::fill(content.begin() + 200, content.end(), 'x');
  EXPECT_FALSE(search_code(content.c_str(), {}).is_whole);
  EXPECT_FALSE(search_code("neither text nor code", {}).is_whole);
}

// As nvdisasm shows them.
TEST(AttachCode, RecognizesInstructionsThatReadTheSmemSize) {
  struct {
    const char* text;
    std::uint64_t low, high;
    int capability;
    bool reads;
  } const instructions[] = {
      {"MOV R5, c[0x0][0x2c]", 0x00000b0000057a02, 0x000fe20000000f00, 80, true},
      {"MOV R1, c[0x0][0x28]", 0x00000a0000017a02, 0x000fe40000000f00, 80, false},
      {"S2R R5, SR_SMEMSZ", 0x0000000000057919, 0x000e220000003200, 80, true},
      {"IADD3 R5, R5, -c[0x0][0x114], RZ", 0x8000450005057a10, 0x001fcc0007ffe0ff, 80, false},
      {"LDC R5, c[0x0][0x2c]", 0x00000b00ff057b82, 0x000e620000000800, 90, true},
      {"ULDC UR4, c[0x0][0x2c]", 0x00000b0000047ab9, 0x000fe20000000800, 90, true},
      {"LDC R1, c[0x0][0x28]", 0x00000a00ff017b82, 0x000fe20000000800, 90, false},
      {"S2UR UR4, SR_SMEMSZ", 0x00000000000479c3, 0x000e700000003200, 90, true},
      {"LDC R1, c[0x0][0x37c]", 0x0000df00ff017b82, 0x000fe20000000800, 100, false},
      {"LDC R5, c[0x0][R5+0x2ac]", 0x0000ab0005057b82, 0x000e620000000800, 100, true},
      {"LDCU UR6, c[0x0][UR6+0x2ac]", 0x00005580060677ac, 0x000e220008000800, 100, true},
      {"LDC R5, c[0x0][0x16c]", 0x00005b00ff057b82, 0x000e620000000800, 100, false},
      {"MOV R5, c[0x0][0x2c], of an older device", 0x00000b0000057a02, 0x000fe20000000f00, 100, false},
  };
  for (const auto& i : instructions)
    EXPECT_EQ(reads_smem_size(i.low, i.high, i.capability), i.reads) << i.text;
}

TEST(AttachCode, DetectsKernelsThatWaitForOtherBlocks) {
  const std::vector<std::string> independent = {"divides", "loads_once", "sums", "sums_in_the_last_block"};
  for (const char* name :
       {"attach_block_waits-80.cubin", "attach_block_waits-90.cubin", "attach_block_waits-100.cubin"}) {
    const SearchedCode found = search_code(image(name).c_str(), {});
    EXPECT_EQ(found.independent, independent) << name;
    EXPECT_EQ(found.perhaps_dependent.size(), 7) << name;
    for (const std::string& kernel : found.perhaps_dependent)
      EXPECT_EQ(kernel.rfind("waits_", 0), 0) << kernel;
  }
}

TEST(AttachCode, TreatsPtxKernelsAsPossiblyDependent) {
  const SearchedCode found = search_code(image("attach_block_waits.ptx").c_str(), {});
  EXPECT_TRUE(found.independent.empty());
  EXPECT_EQ(found.perhaps_dependent.size(), 11);
}

}  // namespace
}  // namespace occbench::attach
