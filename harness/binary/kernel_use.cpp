// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/kernel_use.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace occbench::binary {
namespace {

/// Limits numbers in a file, so that sums of them stay exact or finite.
void bound(std::int64_t& launches, double& time_us) {
  constexpr std::int64_t max_launches = 1'000'000'000'000;
  constexpr double longest_us = 1e15;
  launches = std::clamp<std::int64_t>(launches, 1, max_launches);
  time_us = time_us > 0 ? std::min(time_us, longest_us) : 0;
}

}  // namespace

void Launches::add(KernelUse launch) {
  bound(launch.launches, launch.time_us);
  for (auto& [blocks, use] : launch.grids) bound(use.launches, use.time_us);
  std::string key = launch.name + '\n' + launch.cc + '\n' + launch.device_name;
  for (const std::int64_t number : {static_cast<std::int64_t>(launch.registers_per_thread.value_or(-1)),
                                    static_cast<std::int64_t>(launch.block_size.value_or(-1)),
                                    static_cast<std::int64_t>(launch.cluster_size.value_or(-1)),
                                    static_cast<std::int64_t>(launch.static_smem_bytes),
                                    static_cast<std::int64_t>(launch.dynamic_smem_bytes.value_or(0))})
    key += '\n' + std::to_string(number);
  // Launches whose rounded sizes are equal may differ; then their blocks differ as well.
  if (launch.rounded_static_smem || launch.rounded_dynamic_smem)
    key += '\n' + std::to_string(launch.smem_block_limit.value_or(-1)) + ' ' +
           std::to_string(launch.smem_config_bytes.value_or(0));
  const auto [index, is_new] = indices_.try_emplace(std::move(key), kernels_.size());
  if (is_new) {
    kernels_.push_back(std::move(launch));
    return;
  }
  KernelUse& known = kernels_[index->second];
  known.launches += launch.launches;
  known.time_us += launch.time_us;
  for (const auto& [blocks, use] : launch.grids) {
    GridUse& grid = known.grids[blocks];
    grid.launches += use.launches;
    grid.time_us += use.time_us;
  }
}

std::string cc_of(const std::string& architecture) {
  const std::size_t under = architecture.find('_');
  std::string digits = under == std::string::npos ? architecture : architecture.substr(under + 1);
  while (!digits.empty() && std::isalpha(static_cast<unsigned char>(digits.back())) != 0) digits.pop_back();
  if (digits.size() < 2 || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos)
    return {};
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

bool has_reserved_smem(const std::string& cc) { return cc.size() > 3 || cc.starts_with('9'); }

std::string short_name(const std::string& name, std::size_t max_length) {
  std::string text = demangle(name);
  if (text.starts_with("void ")) text.erase(0, 5);
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = text.find(unnamed, at)) != std::string::npos;)
    text.erase(at, unnamed.size());
  // Cut the arguments: the last pair of parentheses.
  if (text.ends_with(')')) {
    int depth = 0;
    std::size_t at = text.size();
    while (at > 0) {
      --at;
      depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
      if (depth == 0) break;
    }
    if (at > 0) text.erase(at);
  }
  if (text.size() <= max_length) return text;
  const std::size_t end = max_length / 3;
  return text.substr(0, max_length - end - 3) + "..." + text.substr(text.size() - end);
}

std::optional<BarrierCount> barriers_by_limit(const theory::SmLimits& sm, const KernelUse& use) {
  const auto all = theory::barriers_per_sm(sm);
  const auto slots = theory::max_blocks_per_sm(sm.cc_major, sm.cc_minor);
  if (use.barriers || !use.barrier_block_limit || !all || !slots) return std::nullopt;
  constexpr int max_barriers = 16;  // ids 0 to 15
  std::optional<BarrierCount> found;
  for (int count = 1; count <= max_barriers; ++count) {
    // ncu prints no more blocks than the SM has slots.
    if (std::min(*all / count, *slots) != *use.barrier_block_limit) continue;
    if (!found) found = {count, count, count};
    found->most = count;
  }
  // One means no report at all; the most, an id that is not constant, which reserves 16.
  if (found && found->least > 1) found->taken = found->most;
  return found;
}

}  // namespace occbench::binary
