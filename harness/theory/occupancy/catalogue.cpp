// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/occupancy/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "harness/theory/edit_distance.hpp"
#include "harness/theory/occupancy/cards.hpp"

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
// Arithmetic Instructions' (the 12.x editions for what 13 dropped). Block slots, carve-outs and granularity
// come from cuda_occupancy.h. Dense bf16 FMAs with FP32 accumulation per cycle: white papers of A100, GA102,
// AD102, H100, B200 and RTX Blackwell (half of it on GeForce boards of cc 8.6, 8.9 and 12.0); 0: not
// published. cc 3.0 and 3.2 are not supported: that header lacks their limit of 63 registers.
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

std::string join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

constexpr std::size_t max_name_length = 100;  // bounds the search for close names

/// Normalises a name for comparison: removes case, spaces, hyphens, brackets and words that some tools omit.
/// An embedded GPU equals the laptop's.
std::string key_of(std::string_view name) {
  constexpr std::string_view ignored = " -()";
  std::string key;
  for (const char c : name.substr(0, max_name_length))
    if (ignored.find(c) == std::string_view::npos)
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word :
       {"nvidia", "geforce", "tesla", "blackwell", "generation", "edition", "nvgpu", "gpu"})
    if (const std::size_t at = key.find(word); at != std::string::npos && key.size() > word.size())
      key.erase(at, word.size());
  constexpr std::string_view embedded = "embedded";
  if (const std::size_t at = key.find(embedded); at != std::string::npos)
    key.replace(at, embedded.size(), "laptop");
  return key;
}

/// Finds a card by its catalogue name, also without "rtx", or by its product name.
const Card* find_card(std::string key) {
  if (key == "dgxspark") key = "gb10";
  const auto find = [&](auto key_of_card) {
    const auto* const found =
        std::ranges::find_if(cards, [&](const Card& card) { return key_of_card(card) == key; });
    return found == std::end(cards) ? nullptr : found;
  };
  if (const Card* card = find([](const Card& c) { return key_of(c.name); })) return card;
  if (const Card* card = find([](const Card& c) { return key_of(c.product); })) return card;
  key.insert(0, "rtx");
  return find([](const Card& c) { return key_of(c.name); });
}

/// "8.6" for "cc8.6", "8.6", "sm_86", "compute_86" and "sm_86a"; other texts give something else.
std::string cc_in(std::string key) {
  if (key.starts_with("cc")) return key.substr(2);
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (!key.starts_with(prefix)) continue;
    key.erase(0, prefix.size());
    if (key.ends_with('a') || key.ends_with('f')) key.pop_back();
    if (key.find('.') != std::string::npos || key.size() < 2) return {};
    return key.insert(key.size() - 1, 1, '.');
  }
  return key;
}

/// At most four names that contain or are contained in this one, or within two edits; closest first.
std::vector<std::string> close_names(const std::string& key) {
  constexpr std::size_t max_distance = 2, least_part = 3, most = 4;
  if (key.size() < least_part) return {};
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const Card& card : cards) {
    const std::string own = key_of(card.name);
    const std::size_t distance = edit_distance(key, own);
    const bool is_part = own.find(key) != std::string::npos ||
                         (own.size() >= least_part && key.find(own) != std::string::npos);
    if (is_part || distance <= max_distance) close.emplace_back(distance, card.name);
  }
  std::ranges::stable_sort(close, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  for (auto& [distance, name] : close)
    if (names.size() < most) names.push_back(std::move(name));
  return names;
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
  const std::string key = key_of(name);
  if (const Card* card = find_card(key)) {
    DeviceSpec e = entry(card->name, *find_arch(card->cc / 10, card->cc % 10));
    e.sm.sm_count = card->sm_count;
    e.memory_bytes = static_cast<std::uint64_t>(card->memory_gib * (1 << 30));
    e.l2_bytes = static_cast<std::size_t>(card->l2_mib * (1 << 20));
    e.sm_clock_max_hz = card->sm_clock_mhz * 1e6;
    e.dram_bytes_per_s = card->dram_gb_per_s * 1e9;
    return e;
  }
  const std::string cc = cc_in(key);
  for (const Arch& arch : archs)
    if (cc == cc_text(arch)) return entry("cc" + cc, arch);
  const std::string close = join(close_names(key), ", ");
  throw std::invalid_argument("unknown device '" + std::string(name.substr(0, max_name_length)) + "'; " +
                              (close.empty() ? "" : "close names: " + close + "; ") +
                              "`occbench calc --device list` has all names; or ccX.Y with X.Y one of " +
                              join(compute_capabilities(), " "));
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Card& card : cards) names.emplace_back(card.name);
  return names;
}

std::vector<std::string> compute_capabilities() {
  std::vector<std::string> names;
  for (const Arch& arch : archs) names.push_back(cc_text(arch));
  return names;
}

}  // namespace occbench::theory
