// SPDX-License-Identifier: Apache-2.0
// The catalogue's names and facts, against the driver's names and cuda_occupancy.h.
#include "harness/theory/occupancy/catalogue.hpp"

#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "harness/theory/occupancy/cards.hpp"
#include "harness/theory/occupancy/occupancy.hpp"

namespace occbench::theory {
namespace {

constexpr std::size_t kib = 1024;

TEST(Catalogue, FindsEveryDeviceAndComputeCapability) {
  for (const std::string& name : device_names()) {
    const DeviceSpec e = find_device(name);
    EXPECT_EQ(e.name, name);
    EXPECT_GT(e.sm.sm_count, 0);
    EXPECT_GT(e.l2_bytes, 0u);
    EXPECT_TRUE(e.sm_clock_max_hz == 0 || e.sm_clock_max_hz > 6e8) << name;  // 0: not published
    EXPECT_GT(e.dram_bytes_per_s, 3e10) << name;
    EXPECT_GT(e.fp32_lanes_per_sm, 0);
  }
  for (const std::string& cc : compute_capabilities()) {
    const DeviceSpec e = find_device("cc" + cc);
    EXPECT_EQ(e.sm.sm_count, 0);
    const Occupancy o = occupancy(e.sm, {.block_size = 256, .registers_per_thread = 32});
    EXPECT_TRUE(o.is_launchable()) << cc << ' ' << o.launch_error;
    EXPECT_EQ(o.fraction, 1) << cc;
    for (int carveout = 0; carveout <= 100; ++carveout)  // the header knows this much shared memory
      EXPECT_TRUE(
          occupancy(e.sm, {.block_size = 32, .registers_per_thread = 32, .carveout_percent = carveout})
              .is_launchable())
          << cc;
  }
}

TEST(Catalogue, AcceptsNvidiaSmiProductNames) {
  for (const Card& card : cards) {
    const DeviceSpec e = find_device(card.product);
    EXPECT_EQ(10 * e.sm.cc_major + e.sm.cc_minor, card.cc) << card.product;
    const auto* const first = std::ranges::find(cards, std::string_view(e.name), &Card::name);
    EXPECT_STREQ(first->product, card.product);  // two cards may share a product's name
  }
  const std::pair<const char*, const char*> others[] = {{"Tesla T4", "t4"},
                                                        {"GeForce RTX 2080 Ti", "rtx2080ti"},
                                                        {"Orin (nvgpu)", "orin"},
                                                        {"DGX Spark", "gb10"},
                                                        {"RTX 6000 Ada", "rtx6000-ada"},
                                                        {"A6000", "rtxa6000"},
                                                        {"sm_86", "cc8.6"},
                                                        {"8.6", "cc8.6"},
                                                        {"sm_120f", "cc12.0"},
                                                        {"NVIDIA H20", "h20"},
                                                        {"NVIDIA GB200", "gb200"},
                                                        {"compute_90", "cc9.0"}};
  for (const auto& [written, name] : others) EXPECT_EQ(find_device(written).name, name) << written;
}

/// Of each compute capability since 7.0, cuda_occupancy.h takes the SM's shared memory, and not a byte more.
TEST(Catalogue, SharedMemoryMatchesCudaOccupancyHeader) {
  for (const std::string& cc : compute_capabilities()) {
    const SmLimits sm = find_device("cc" + cc).sm;
    if (sm.cc_major < 7) continue;
    cudaOccDeviceProp properties;
    properties.computeMajor = sm.cc_major;
    properties.computeMinor = sm.cc_minor;
    std::size_t all = sm.smem_per_sm_bytes;
    EXPECT_EQ(cudaOccAlignUpShmemSizeVoltaPlus(&all, &properties), CUDA_OCC_SUCCESS) << cc;
    EXPECT_EQ(all, sm.smem_per_sm_bytes) << cc;
    std::size_t more = sm.smem_per_sm_bytes + 1;
    EXPECT_NE(cudaOccAlignUpShmemSizeVoltaPlus(&more, &properties), CUDA_OCC_SUCCESS) << cc;
  }
}

/// Compute capability (times ten) of NVIDIA's chips, by the first half of their PCI device ids.
int cc_of_chip(const std::string& id) {
  constexpr std::pair<const char*, int> chips[] = {
      {"1D", 70},  {"1E", 75},  {"1F", 75},  {"21", 75},  {"20", 80}, {"22", 86},  {"24", 86},
      {"25", 86},  {"26", 89},  {"27", 89},  {"28", 89},  {"23", 90}, {"29", 100}, {"31", 103},
      {"2B", 120}, {"2C", 120}, {"2D", 120}, {"2F", 120}, {"2E", 121}};
  const auto* const chip =
      std::ranges::find(chips, id.substr(0, 2), [](const auto& c) { return std::string(c.first); });
  return chip == std::end(chips) ? 0 : chip->second;
}

/// Every name that the driver has for a GPU since Volta, and the compute capability of its device id.
TEST(Catalogue, DriverNamesMapToTheirComputeCapability) {
  std::ifstream file("tests/data/nvidia_smi_names.txt");
  std::size_t known = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::string id, name, why_not;
    std::istringstream cells(line);
    std::getline(cells, id, '\t'), std::getline(cells, name, '\t'), std::getline(cells, why_not);
    if (!why_not.empty()) {
      EXPECT_THROW(static_cast<void>(find_device(name)), std::invalid_argument) << name;
      continue;
    }
    const DeviceSpec device = find_device(name);
    EXPECT_EQ(10 * device.sm.cc_major + device.sm.cc_minor, cc_of_chip(id)) << name;
    EXPECT_GT(device.sm.sm_count, 0) << name;
    ++known;
  }
  EXPECT_GT(known, 200u);
}

TEST(Catalogue, AcceptsSpellingVariantsAndRejectsUnknownNames) {
  EXPECT_EQ(find_device("H200").name, "h200");
  EXPECT_EQ(find_device("RTX 5090").name, "rtx5090");
  EXPECT_EQ(find_device("CC9.0").sm.smem_per_block_optin_bytes, 227 * kib);
  for (const char* unknown : {"", "h", "cc9", "cc13.0", "h2000"})
    EXPECT_THROW(static_cast<void>(find_device(unknown)), std::invalid_argument) << unknown;
  try {
    static_cast<void>(find_device("h300"));
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("h200"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Catalogue, ComputesTheFp32PeakOfH200) {
  const DeviceSpec e = find_device("h200");
  EXPECT_NEAR(2.0 * e.fp32_lanes_per_sm * e.sm.sm_count * e.sm_clock_max_hz, 66.9e12, 0.05e12);
  EXPECT_EQ(e.fp64_lanes_per_sm, 64);
  DeviceSpec unknown{.sm = {.cc_major = 99}};
  set_sm_rates(unknown);
  EXPECT_EQ(unknown.fp32_lanes_per_sm, 0);
}

}  // namespace
}  // namespace occbench::theory
