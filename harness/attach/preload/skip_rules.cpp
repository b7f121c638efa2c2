// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/skip_rules.hpp"

#include <cstdint>

#include "harness/io/demangle.hpp"

namespace occbench::attach {

SkipRules::SkipRules(const Options& options) : options_(options) {
  has_kernel_ =
      !options_.kernel.empty() && regcomp(&kernel_, options_.kernel.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}

SkipRules::~SkipRules() {
  if (has_kernel_) regfree(&kernel_);
}

SkipReason SkipRules::reason_for(const Request& request, const Handle& handle, const Context& context,
                                 int blocks_per_sm) const {
  if (request.kind != SkipReason::none) return request.kind;
  if (handle.name.find("ncclKernel") != std::string::npos ||
      handle.name.find("ncclDevKernel") != std::string::npos)
    return SkipReason::nccl;
  if (const SkipReason why = reason_in_attributes(request.config); why != SkipReason::none) return why;
  const bool has_fewer = options_.registers.empty();
  // The size of compile-time clusters is unknown here. Versions and graph nodes are launched without
  // clusters.
  if (handle.is_cluster || (cluster_size(request.config) > 1 && (!has_fewer || request.part_of != 0)))
    return SkipReason::cluster;
  if (!handle.is_known || blocks_per_sm < 1) return SkipReason::no_answer;
  const CUlaunchConfig& c = request.config;
  const std::uint64_t blocks = std::uint64_t{c.gridDimX} * c.gridDimY * c.gridDimZ;
  const auto sms = static_cast<std::uint64_t>(context.sms);
  if (has_fewer && blocks <= sms) return SkipReason::small_grid;
  // If the whole grid is resident, blocks may wait for each other: with fewer at a time it would hang.
  if (has_fewer && !options_.all && !is_independent(handle) &&
      blocks <= static_cast<std::uint64_t>(blocks_per_sm) * sms)
    return SkipReason::one_residency;
  if (has_fewer && blocks_per_sm == 1) return SkipReason::one_block;
  if (has_fewer && smem_readers_.contains(handle.name)) return SkipReason::smem_reader;
  return matches_kernel_filter(handle) ? SkipReason::none : SkipReason::not_asked;
}

void SkipRules::add(const SearchedCode& module) {
  smem_readers_.insert(module.smem_readers.begin(), module.smem_readers.end());
  independent_.insert(module.independent.begin(), module.independent.end());
  dependent_.insert(module.perhaps_dependent.begin(), module.perhaps_dependent.end());
  is_all_searched_ = is_all_searched_ && module.is_whole;
}

bool SkipRules::is_independent(const Handle& handle) const {
  return is_all_searched_ && independent_.contains(handle.name) && !dependent_.contains(handle.name);
}

bool SkipRules::matches_kernel_filter(const Handle& handle) const {
  return !has_kernel_ || regexec(&kernel_, handle.name.c_str(), 0, nullptr, 0) == 0 ||
         regexec(&kernel_, demangle(handle.name).c_str(), 0, nullptr, 0) == 0;
}

bool SkipRules::may_have_fewer_sms(SkipReason reason, const Handle& handle) const {
  switch (reason) {
    case SkipReason::none:
    case SkipReason::cluster:
    case SkipReason::one_residency:
    case SkipReason::one_block:
    case SkipReason::own_carveout:
    case SkipReason::no_level:
    case SkipReason::smem_reader:
    case SkipReason::small_grid:
      return matches_kernel_filter(handle);
    default:
      return false;
  }
}

}  // namespace occbench::attach
