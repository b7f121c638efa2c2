// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/gpcs.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "harness/device/instruments.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

void join_clusters(std::vector<int>& sets, std::span<const CensusRecord> records, int cluster_size) {
  const auto size = static_cast<std::size_t>(cluster_size);
  for (std::size_t block = 0; block < records.size(); ++block) {
    const auto first = records[block - block % size].sm, sm = records[block].sm;
    if (std::max(first, sm) >= sets.size()) continue;  // no record, or a number past the count of SMs
    const auto [least, other] = std::minmax(sets[first], sets[sm]);
    if (const int kept = least, joined = other; kept != joined) std::ranges::replace(sets, joined, kept);
  }
}

std::vector<int> gpc_of_sms(const Device& device, const Stream& stream) {
  if (device.max_blocks_per_cluster == 0) return {};
  constexpr int clusters = 512;
  constexpr std::uint64_t stay_ns = 10'000;  // SMs fill up: clusters reach all of them
  std::vector<int> sets(static_cast<std::size_t>(device.sm.sm_count));
  std::iota(sets.begin(), sets.end(), 0);
  Problem problem;
  problem.set_parameters(stay_ns);
  for (const int size : {2, 3, 5, 7, 8}) {  // a single size may split a GPC in the same way each time
    Launch launch{.entry = instruments::resident_entry(),
                  .grid_size = clusters * size,
                  .block_size = 128,
                  .dynamic_smem_bytes = device.sm.smem_per_block_optin_bytes,  // one block per SM
                  .cluster_size = size};
    configure(launch);
    const auto launch_with = [&](Census census) { launch_kernel(launch, problem, census, stream); };
    join_clusters(sets, observe::census_of(launch.grid_size, launch_with, stream), size);
  }
  return sets;
}

std::string sms_by_gpc(std::span<const CensusRecord> records, std::span<const int> gpc_of_sm) {
  std::map<int, std::set<std::uint32_t>> by_gpc;
  for (const CensusRecord& r : records) {
    if (r.sm >= gpc_of_sm.size()) return "";
    by_gpc[gpc_of_sm[r.sm]].insert(r.sm);
  }
  std::vector<std::size_t> counts;
  for (const auto& [gpc, sms] : by_gpc) counts.push_back(sms.size());
  std::ranges::sort(counts, std::greater<>());
  std::string text;
  for (const std::size_t count : counts) text += (text.empty() ? "" : "+") + std::to_string(count);
  return text;
}

}  // namespace occbench
