// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace occbench::theory {
namespace {

struct Arch {
  int cc_major, cc_minor;
  int threads_per_sm;
  int registers_per_block_ki, registers_per_sm_ki;
  int smem_per_sm_kib, smem_optin_kib;
  int fp32_lanes, fp64_lanes;
  int tensor_bf16_fma;
};

// CUDA C++ Programming Guide: 'Technical Specifications per Compute Capability' and 'Throughput of Native
// Arithmetic Instructions' (the 12.x editions for what 13 dropped). Block slots and granularity come from
// cuda_occupancy.h. Dense bf16 FMAs with FP32 accumulation per cycle: white papers of A100, GA102, AD102,
// H100, B200 and RTX Blackwell (half of it on GeForce boards of cc 8.6, 8.9 and 12.0); 0: not published. cc
// 3.0 and 3.2 are not supported: that header lacks their limit of 63 registers.
// clang-format off
constexpr Arch archs[] = {
    // cc; threads per SM; Ki registers per block, SM; KiB shared memory per SM, opt-in; fp32, fp64 lanes;
    // bf16 FMAs
    { 3, 5, 2048, 64,  64,  48,  48, 192, 64,    0},
    { 3, 7, 2048, 64, 128, 112,  48, 192, 64,    0},
    { 5, 0, 2048, 64,  64,  64,  48, 128,  4,    0},
    { 5, 2, 2048, 64,  64,  96,  48, 128,  4,    0},
    { 5, 3, 2048, 32,  64,  64,  48, 128,  4,    0},
    { 6, 0, 2048, 64,  64,  64,  48,  64, 32,    0},
    { 6, 1, 2048, 64,  64,  96,  48, 128,  4,    0},
    { 6, 2, 2048, 32,  64,  64,  48, 128,  4,    0},
    { 7, 0, 2048, 64,  64,  96,  96,  64, 32,    0},
    { 7, 2, 2048, 64,  64,  96,  96,  64, 32,    0},
    { 7, 5, 1024, 64,  64,  64,  64,  64,  2,    0},
    { 8, 0, 2048, 64,  64, 164, 163,  64, 32, 1024},
    { 8, 6, 1536, 64,  64, 100,  99, 128,  2,  512},
    { 8, 7, 1536, 64,  64, 164, 163, 128,  2,    0},
    { 8, 8, 1536, 64,  64, 100,  99, 128,  2,    0},
    { 8, 9, 1536, 64,  64, 100,  99, 128,  2,  512},
    { 9, 0, 2048, 64,  64, 228, 227, 128, 64, 2048},
    {10, 0, 2048, 64,  64, 228, 227, 128, 64, 4096},
    {10, 1, 1536, 64,  64, 228, 227, 128,  2,    0}, // Thor, which CUDA 13 names 11.0
    {10, 3, 2048, 64,  64, 228, 227, 128,  2, 4096},
    {11, 0, 1536, 64,  64, 228, 227, 128,  2,    0},
    {12, 0, 1536, 64,  64, 100,  99, 128,  2,  512},
    {12, 1, 1536, 64,  64, 100,  99, 128,  2,  512},
};
// clang-format on

struct Chip {
  const char* name;
  int cc_major, cc_minor;
  int sm_count;
  double l2_mib;
  double sm_clock_mhz;
  double dram_gb_per_s;
  std::size_t memory_gib;
};

// NVIDIA data sheets and architecture white papers, used without a GPU only: a real device reports its own
// values, including a few per cent less memory. A data sheet's GB of memory is closer to a GiB.
// clang-format off
constexpr Chip chips[] = {
    {"p100", 6, 0, 56, 4, 1480, 732, 16},         // SXM2 16 GB
    {"v100", 7, 0, 80, 6, 1530, 898, 32},         // SXM2
    {"t4", 7, 5, 40, 4, 1590, 320, 16},
    {"rtx2080ti", 7, 5, 68, 5.5, 1545, 616, 11},
    {"a100", 8, 0, 108, 40, 1410, 2039, 80},      // SXM4 80 GB
    {"a30", 8, 0, 56, 24, 1440, 933, 24},
    {"a40", 8, 6, 84, 6, 1740, 696, 48},
    {"a10", 8, 6, 72, 6, 1695, 600, 24},
    {"rtx3090", 8, 6, 82, 6, 1695, 936, 24},
    {"orin", 8, 7, 16, 4, 1300, 204.8, 64},       // Jetson AGX Orin 64 GB
    {"l4", 8, 9, 58, 48, 2040, 300, 24},
    {"l40", 8, 9, 142, 96, 2490, 864, 48},
    {"l40s", 8, 9, 142, 96, 2520, 864, 48},
    {"rtx4090", 8, 9, 128, 72, 2520, 1008, 24},
    {"h100", 9, 0, 132, 50, 1980, 3352, 80},      // SXM5 80 GB
    {"h200", 9, 0, 132, 60, 1980, 4814, 141},     // SXM
    {"gh200", 9, 0, 132, 60, 1980, 4023, 96},     // 96 GB HBM3
    {"b200", 10, 0, 148, 126.5, 1965, 8000, 180}, // SXM
    {"b300", 10, 3, 148, 126.5, 1920, 8000, 288}, // SXM
    {"thor", 11, 0, 20, 32, 1575, 273, 128},      // Jetson AGX Thor T5000
    {"rtx5090", 12, 0, 170, 96, 2407, 1792, 32},
};
// clang-format on

const Arch* find_arch(int cc_major, int cc_minor) {
  const auto* const found = std::ranges::find_if(
      archs, [&](const Arch& a) { return a.cc_major == cc_major && a.cc_minor == cc_minor; });
  return found == std::end(archs) ? nullptr : found;
}

std::string cc_text(const Arch& arch) {
  return std::to_string(arch.cc_major) + "." + std::to_string(arch.cc_minor);
}

DeviceSpec entry(std::string name, const Arch& arch) {
  constexpr std::size_t kib = 1024;
  DeviceSpec device{.name = std::move(name),
                    .sm = {.cc_major = arch.cc_major,
                           .cc_minor = arch.cc_minor,
                           .max_threads_per_block = 1024,
                           .max_threads_per_sm = arch.threads_per_sm,
                           .max_blocks_per_sm = max_blocks_per_sm(arch.cc_major, arch.cc_minor).value_or(0),
                           .registers_per_block = arch.registers_per_block_ki * 1024,
                           .registers_per_sm = arch.registers_per_sm_ki * 1024,
                           .smem_per_block_bytes = 48 * kib,
                           .smem_per_block_optin_bytes = arch.smem_optin_kib * kib,
                           .smem_per_sm_bytes = arch.smem_per_sm_kib * kib,
                           .smem_reserved_per_block_bytes = arch.cc_major >= 8 ? kib : 0}};
  set_sm_rates(device);
  return device;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void set_sm_rates(DeviceSpec& device) {
  const auto [major, minor] = std::pair(device.sm.cc_major, device.sm.cc_minor);
  device.smem_bytes_per_cycle = 128;
  const Arch* arch = find_arch(major, minor);
  if (arch == nullptr) return;
  device.fp32_lanes_per_sm = arch->fp32_lanes;
  device.fp64_lanes_per_sm = arch->fp64_lanes;
  device.tensor_bf16_fma_per_sm = arch->tensor_bf16_fma;
  // Turing's L1 has half the bandwidth of Volta's and its successors' (Jia et al. 2019, 3.2); the L1s before
  // Volta are not modelled.
  device.l1_bytes_per_cycle = major < 7 ? 0 : major == 7 && minor == 5 ? 64 : 128;
}

DeviceSpec find_device(std::string_view name) {
  std::string key;
  for (const unsigned char c : name)
    if (c != ' ' && c != '-') key += static_cast<char>(std::tolower(c));
  for (const Chip& chip : chips) {
    if (key != chip.name) continue;
    DeviceSpec e = entry(chip.name, *find_arch(chip.cc_major, chip.cc_minor));
    e.sm.sm_count = chip.sm_count;
    e.memory_bytes = chip.memory_gib << 30;
    e.l2_bytes = static_cast<std::size_t>(chip.l2_mib * 1024 * 1024);
    e.sm_clock_max_hz = chip.sm_clock_mhz * 1e6;
    e.dram_bytes_per_s = chip.dram_gb_per_s * 1e9;
    return e;
  }
  for (const Arch& arch : archs)
    if (key == "cc" + cc_text(arch)) return entry(key, arch);
  throw std::invalid_argument("unknown device '" + std::string(name) + "'; known: " + joined(device_names()) +
                              ", or ccX.Y with X.Y one of " + joined(compute_capabilities()));
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Chip& chip : chips) names.emplace_back(chip.name);
  return names;
}

std::vector<std::string> compute_capabilities() {
  std::vector<std::string> names;
  for (const Arch& arch : archs) names.push_back(cc_text(arch));
  return names;
}

}  // namespace occbench::theory
