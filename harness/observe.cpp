// SPDX-License-Identifier: Apache-2.0
#include "harness/observe.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <utility>

namespace occbench::observe {

namespace {

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t handle = nvtxDomainCreateA("occbench");
  return handle;
}

}  // namespace

CaseRange::CaseRange(const std::string& case_id) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = case_id.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}

CaseRange::~CaseRange() { nvtxDomainRangePop(domain()); }

std::vector<int> most_resident_blocks(std::span<const CensusRecord> records, int sm_count) {
  using Change = std::pair<std::uint64_t, int>;  // time, +1 or -1; at equal times the leaving block sorts first
  std::vector<std::vector<Change>> changes(static_cast<std::size_t>(sm_count));
  for (const CensusRecord& r : records) {
    if (r.sm >= changes.size()) continue;
    changes[r.sm].emplace_back(r.begin_ns, +1);
    changes[r.sm].emplace_back(r.end_ns, -1);
  }
  std::vector<int> most;
  for (auto& of_one_sm : changes) {
    std::ranges::sort(of_one_sm);
    int now = 0;
    int peak = 0;
    for (const auto& [time, change] : of_one_sm) peak = std::max(peak, now += change);
    most.push_back(peak);
  }
  return most;
}

int resident_blocks_per_sm(const Launch& launch, const Problem& problem, int sm_count, const Stream& stream) {
  const auto blocks = static_cast<std::size_t>(launch.grid_size);
  DeviceBuffer<CensusRecord> records(blocks);
  std::vector<CensusRecord> host(blocks);
  check(cudaMemsetAsync(records.data(), 0xFF, blocks * sizeof(CensusRecord), stream.get()), "clearing the census");
  launch_kernel(launch, problem, Census{records.data()}, stream);
  check(cudaMemcpyAsync(host.data(), records.data(), blocks * sizeof(CensusRecord), cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the census");
  stream.synchronize();
  std::vector<int> most = most_resident_blocks(host, sm_count);
  std::ranges::nth_element(most, most.begin() + sm_count / 2);
  return most[static_cast<std::size_t>(sm_count / 2)];
}

}  // namespace occbench::observe
