// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/kernel_table.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

namespace occbench::attach {

namespace {

void join(Kernel& to, const Kernel& from) {
  to.launches += from.launches;
  to.captured += from.captured;
  to.changed += from.changed;
  to.timed += from.timed;
  to.by_record += from.by_record;
  to.overlapping += from.overlapping;
  to.seen.add(from.seen);
  to.seen_whole.add(from.seen_whole);
  to.untouched_us += from.untouched_us;
  to.untouched_timed += from.untouched_timed;
  to.uncapped_us.insert(to.uncapped_us.end(), from.uncapped_us.begin(), from.uncapped_us.end());
  for (const auto& [number, version] : from.versions) {
    CappedVersion& all = to.versions[number];
    const std::vector<double> before = std::move(all.times_us);
    all = version;
    all.times_us.insert(all.times_us.begin(), before.begin(), before.end());
  }
  for (const auto& [sms, arm] : from.fewer_sms) {
    std::vector<double>& all = to.fewer_sms[sms].times_us;
    all.insert(all.end(), arm.times_us.begin(), arm.times_us.end());
  }
  for (const auto& [number, arm] : from.arms) {
    Arm& all = to.arms[number];
    all.blocks_per_sm = arm.blocks_per_sm;
    all.added_smem_bytes = arm.added_smem_bytes;
    all.times_us.insert(all.times_us.end(), arm.times_us.begin(), arm.times_us.end());
  }
}

}  // namespace

std::size_t KernelTable::find_or_add(Kernel kernel, const SignatureRecord& r) {
  std::ostringstream shape;
  shape << r.grid_x << ',' << r.grid_y << ',' << r.grid_z << ',' << r.block_x << ',' << r.block_y << ','
        << r.block_z << ',' << r.dynamic_smem_bytes << ',' << r.graph << ',' << r.before << ',' << r.sm_count;
  const Key key{.name = kernel.name,
                .device = kernel.device,
                .shape = shape.str(),
                .arguments = kernel.arguments,
                .registers = kernel.footprint.registers_per_thread,
                .skip_reason = r.skip_reason,
                .range = kernel.range};
  const auto [place, is_new] = places_.try_emplace(key, static_cast<std::uint32_t>(kernels_.size()));
  if (is_new) kernels_.push_back(std::move(kernel));
  return place->second;
}

std::vector<std::uint32_t> KernelTable::finish() {
  std::vector<std::uint32_t> place(kernels_.size());
  std::iota(place.begin(), place.end(), 0U);
  std::vector<std::uint32_t> order = merge_rest(place);
  move_times_to_graphs();
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t k) { return kernels_[k].total_us(); });
  std::vector<Kernel> sorted;
  std::vector<std::uint32_t> row(place.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.push_back(std::move(kernels_[order[i]]));
    row[order[i]] = static_cast<std::uint32_t>(i);
  }
  kernels_ = std::move(sorted);
  for (std::uint32_t& index : place) index = row[index];
  for (Kernel& k : kernels_)
    if (k.whole) k.whole = place[*k.whole];
  return place;
}

std::vector<std::uint32_t> KernelTable::merge_rest(std::vector<std::uint32_t>& place) {
  std::map<Key, std::uint32_t> rest;
  const std::string none(16, '0');
  const auto without = [](Key key) {
    key.arguments.clear();
    return key;
  };
  for (const auto& [key, i] : places_)
    if (key.arguments == none) rest[without(key)] = i;
  std::vector<std::uint32_t> stay;
  for (const auto& [key, own] : places_) {
    const auto found = rest.find(without(key));
    if (found == rest.end() || found->second == own) {
      stay.push_back(own);
      continue;
    }
    place[own] = found->second;
    join(kernels_[found->second], kernels_[own]);
  }
  std::ranges::sort(stay);
  return stay;
}

void KernelTable::move_times_to_graphs() {
  std::map<std::tuple<std::string, std::size_t, std::string>, std::size_t> graphs;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    if (const Kernel& k = kernels_[i]; k.is_graph()) graphs[{k.graph, k.device, k.range}] = i;
  for (Kernel& k : kernels_) {
    const auto found = k.is_in_graph() ? graphs.find({k.graph, k.device, k.range}) : graphs.end();
    if (found == graphs.end()) continue;
    Kernel& whole = kernels_[*(k.whole = found->second)];
    whole.untouched_us += std::exchange(k.untouched_us, 0);
    whole.untouched_timed += std::exchange(k.untouched_timed, 0);
    k.launches = whole.launches;
  }
}

}  // namespace occbench::attach
