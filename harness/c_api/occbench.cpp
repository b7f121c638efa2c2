// SPDX-License-Identifier: Apache-2.0
#include "harness/c_api/occbench.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "harness/theory/occupancy/answer.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace {

using namespace occbench::theory;

int to_int(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw std::invalid_argument(std::string(name) + " " + std::to_string(value) + " is not within " +
                                std::to_string(least) + " and " + std::to_string(most));
  return static_cast<int>(value);
}

std::size_t to_size(const char* name, std::int64_t value) {
  if (value < 0)
    throw std::invalid_argument(std::string(name) + " " + std::to_string(value) + " is negative");
  return static_cast<std::size_t>(value);
}

Query query_of(const occbench_launch& l) {
  return {.footprint = {.block_size = to_int("block_size", l.block_size, 0, INT_MAX),
                        .registers_per_thread = to_int("registers", l.registers_per_thread, 0, INT_MAX),
                        .static_smem_bytes = to_size("static_smem", l.static_smem_bytes),
                        .dynamic_smem_bytes = to_size("dynamic_smem", l.dynamic_smem_bytes),
                        .barriers = to_int("barriers", l.barriers, 0, INT_MAX),
                        .carveout_percent = to_int("carveout", l.carveout_percent, -1, 100),
                        .max_block_size = to_int("max_block_size", l.max_block_size, 1, INT_MAX),
                        .virtual_resources = to_int("virtual_resources", l.virtual_resources, 0, INT_MAX)},
          .cluster_size = to_int("cluster_size", l.cluster_size, 1, 16),
          .grid_blocks = static_cast<std::int64_t>(to_size("grid_size", l.grid_size))};
}

void copy_message(const std::string& text, char* message, std::size_t size) {
  if (message == nullptr || size == 0) return;
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

/// Runs `work`; no exception leaves the library.
template <typename Work>
int call_guarded(char* message, std::size_t size, Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    copy_message(error.what(), message, size);
    return 1;
  }
}

}  // namespace

int occbench_abi(void) { return OCCBENCH_ABI; }

int occbench_occupancy(const char* device, size_t count, const occbench_launch* launches,
                       occbench_residency* answers, char* message, size_t size) {
  return call_guarded(message, size, [&] {
    const SmLimits sm = find_device(device).sm;
    for (std::size_t i = 0; i < count; ++i) {
      const Answer a = answer(sm, query_of(launches[i]));
      answers[i] = {.blocks_per_sm = a.occupancy.blocks_per_sm,
                    .warps_per_sm = a.occupancy.warps_per_sm,
                    .occupancy = a.occupancy.fraction,
                    .limiters = static_cast<std::uint32_t>(a.occupancy.limiters),
                    .waves = a.grid ? a.grid->waves : NAN,
                    .idle_sms = a.grid ? a.grid->idle_sms : NAN,
                    .tail_share = a.grid ? a.grid->tail_share : NAN,
                    .occupancy_device = a.grid ? a.grid->occupancy : NAN,
                    .has_remark = a.status != "ok"};
    }
  });
}

int occbench_status(const char* device, const occbench_launch* launch, char* message, size_t size) {
  return call_guarded(message, size, [&] {
    copy_message(answer(find_device(device).sm, query_of(*launch)).status, message, size);
  });
}

const char* occbench_devices(void) {
  static const std::string names = [] {
    std::string text;
    for (const std::string& name : device_names()) text += (text.empty() ? "" : " ") + name;
    return text;
  }();
  return names.c_str();
}
