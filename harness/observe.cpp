// SPDX-License-Identifier: Apache-2.0
#include "harness/observe.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdint>
#include <limits>

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

std::vector<int> first_residents(std::span<const CensusRecord> records, int sm_count) {
  const auto sms = static_cast<std::size_t>(sm_count);
  std::vector<std::uint64_t> first_end(sms, std::numeric_limits<std::uint64_t>::max());
  for (const CensusRecord& r : records)
    if (r.sm < sms) first_end[r.sm] = std::min(first_end[r.sm], r.end_ns);
  std::vector<int> residents(sms);
  for (const CensusRecord& r : records)
    if (r.sm < sms && r.begin_ns < first_end[r.sm]) ++residents[r.sm];
  return residents;
}

int resident_blocks_per_sm(const Launch& launch, const Problem& problem, int sm_count, const Stream& stream) {
  const auto blocks = static_cast<std::size_t>(launch.grid_size);
  DeviceBuffer<CensusRecord> records(blocks);
  std::vector<CensusRecord> host(blocks);
  check(cudaMemsetAsync(records.data(), 0xFF, blocks * sizeof(CensusRecord), stream.get()),
        "clearing the census");
  launch_kernel(launch, problem, Census{records.data()}, stream);
  check(cudaMemcpyAsync(host.data(), records.data(), blocks * sizeof(CensusRecord), cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the census");
  stream.synchronize();
  std::vector<int> residents = first_residents(host, sm_count);
  std::erase(residents, 0);  // a number past sm_count is not seen; the other SMs speak for it
  if (residents.empty()) return 0;
  const auto middle = residents.begin() + std::ssize(residents) / 2;
  std::ranges::nth_element(residents, middle);
  return *middle;
}

}  // namespace occbench::observe
