// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/level_planner.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/io/demangle.hpp"

namespace occbench::attach {

namespace {

constexpr int smem_unit = 128;  // allocation granularity of shared memory, in bytes

}  // namespace

std::string digits_of(std::uint64_t hash) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

/// Limits of an SM's shared memory for a kernel.
struct LevelPlanner::Smem {
  int per_sm, fixed, max_dynamic;

  Smem(const Context& context, const Handle& handle)
      : per_sm(context.smem_per_sm),
        fixed(context.smem_reserved + handle.static_smem),
        max_dynamic(context.smem_optin - handle.static_smem) {}
  /// The least dynamic shared memory that limits residency to `blocks`.
  [[nodiscard]] int least(int blocks) const {
    return (per_sm / (blocks + 1) / smem_unit + 1) * smem_unit - fixed;
  }
  /// The most dynamic shared memory that still allows `blocks`.
  [[nodiscard]] int most(int blocks) const {
    return std::min(per_sm / blocks / smem_unit * smem_unit - fixed, max_dynamic);
  }
};

LevelPlanner::LevelPlanner(const Options& options, const Driver& driver)
    : options_(options), driver_(driver) {
  if (options_.apply) advice_.read(options_.folder + '/' + advice_file);
}

std::vector<int> LevelPlanner::targets(const Request& request, const Signature& s, const Handle& h,
                                       const Context& context, std::uint64_t arguments) const {
  const CUlaunchConfig& c = request.config;
  std::vector<int> blocks;
  if (options_.apply) {
    const Advice query{.symbol = h.name,
                       .sms = context.sms,
                       .grid = {c.gridDimX, c.gridDimY, c.gridDimZ},
                       .block = {c.blockDimX, c.blockDimY, c.blockDimZ},
                       .dynamic_smem_bytes = c.sharedMemBytes,
                       .arguments = digits_of(arguments)};
    if (const auto found = advice_.blocks_for(query, demangle(h.name), s.blocks_per_sm))
      blocks.push_back(*found);
    return blocks;
  }
  for (const double share : options_.levels)
    if (const int target = blocks_at(share, s.blocks_per_sm);
        std::ranges::find(blocks, target) == blocks.end())
      blocks.push_back(target);
  return blocks;
}

/// Whether the driver calculates `target` resident blocks with this dynamic shared memory.
bool LevelPlanner::is_confirmed(const Smem& smem, const Signature& s, Handle& h, int dynamic,
                                int target) const {
  if (dynamic <= static_cast<int>(s.dynamic_smem) || dynamic > smem.max_dynamic) return false;
  if (dynamic > h.max_dynamic_smem) {
    // Sets the maximum: later requests of the program on its CUkernel no longer apply.
    if (driver_.func_set_attribute(h.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   smem.max_dynamic) != CUDA_SUCCESS)
      return false;
    h.max_dynamic_smem = smem.max_dynamic;
  }
  int blocks = 0;
  return driver_.occupancy(&blocks, h.function, s.block_size, static_cast<std::size_t>(dynamic)) ==
             CUDA_SUCCESS &&
         blocks == target && (!s.cluster || has_fewer_clusters(s, h, dynamic));
}

/// A cluster needs its SMs within one GPC: the device must still fit one, but fewer than before.
bool LevelPlanner::has_fewer_clusters(const Signature& s, const Handle& h, int dynamic) const {
  CUlaunchAttribute attribute = *s.cluster;
  const auto& size = attribute.value.clusterDim;
  CUlaunchConfig config{size.x,     size.y, size.z,         static_cast<unsigned>(s.block_size),
                        1,          1,      s.dynamic_smem, nullptr,
                        &attribute, 1};
  int before = 0, now = 0;
  if (driver_.max_clusters == nullptr || driver_.max_clusters(&before, h.function, &config) != CUDA_SUCCESS)
    return false;
  config.sharedMemBytes = static_cast<unsigned>(dynamic);
  return driver_.max_clusters(&now, h.function, &config) == CUDA_SUCCESS && now >= 1 && now < before;
}

void LevelPlanner::verify_padding(const Smem& smem, Signature& s, Handle& h) const {
  const int most = smem.most(s.blocks_per_sm);
  if (s.blocks.empty() && is_confirmed(smem, s, h, most, s.blocks_per_sm))
    s.smem_padding = static_cast<unsigned>(most) - s.dynamic_smem;
  h.verified[s.hash - 1] =
      s.smem_padding == 0 ||
      is_confirmed(smem, s, h, static_cast<int>(s.dynamic_smem + s.smem_padding), s.blocks_per_sm);
}

void LevelPlanner::verify(Signature& s, Handle& h, const Context& context) const {
  const Smem smem(context, h);
  if (s.is_in_graph) verify_padding(smem, s, h);
  for (std::size_t i = 0; i < s.blocks.size(); ++i)
    h.verified[s.hash + i] =
        is_confirmed(smem, s, h, static_cast<int>(s.added[i] + s.dynamic_smem), s.blocks[i]);
}

void LevelPlanner::find(Signature& s, Handle& h, const Context& context,
                        const std::vector<int>& targets) const {
  const Smem smem(context, h);
  if (s.is_in_graph) verify_padding(smem, s, h);
  for (const int target : targets) {
    const int least = smem.least(target), most = smem.most(target);
    // A graph cannot pin the carve-out; the driver sizes it for all resident blocks. Filling the SM's shared
    // memory leaves every level the same L1.
    const auto tried = s.is_in_graph ? std::array{most, least + smem_unit, least}
                                     : std::array{least, least + smem_unit, most};
    for (const int dynamic : tried)
      if (is_confirmed(smem, s, h, dynamic, target)) {
        h.verified[s.hash + s.blocks.size()] = true;
        s.blocks.push_back(target);
        s.added.push_back(static_cast<unsigned>(dynamic) - s.dynamic_smem);
        break;
      }
  }
}

bool LevelPlanner::is_padding_verified(const Signature& signature, const Handle& handle) {
  const auto found = handle.verified.find(signature.hash - 1);
  return found != handle.verified.end() && found->second;
}

bool LevelPlanner::is_verified(const Signature& signature, const Handle& handle, std::size_t level) {
  const auto found = handle.verified.find(signature.hash + level);
  return found != handle.verified.end() && found->second;
}

}  // namespace occbench::attach
