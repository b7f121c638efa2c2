// SPDX-License-Identifier: Apache-2.0
#include "harness/observe.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

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

Residency residency_of(std::span<const CensusRecord> records, int sm_count) {
  Residency seen;
  std::vector<int> per_sm = first_residents(records, sm_count);
  std::erase(per_sm, 0);  // idle, or a number past sm_count; the other SMs speak for it
  if (per_sm.empty()) return seen;
  const auto middle = per_sm.begin() + std::ssize(per_sm) / 2;
  std::ranges::nth_element(per_sm, middle);
  seen.blocks_per_sm = *middle;

  const std::uint64_t first_end = std::ranges::min(records, {}, &CensusRecord::end_ns).end_ns;
  std::set<std::uint32_t> busy;
  for (const CensusRecord& r : records)
    if (r.begin_ns < first_end) {
      ++seen.blocks;
      busy.insert(r.sm);
    }
  seen.idle_sms = sm_count - static_cast<int>(busy.size());
  return seen;
}

std::vector<CensusRecord> census_of(int blocks, const std::function<void(Census)>& launch,
                                    const Stream& stream) {
  const auto count = static_cast<std::size_t>(blocks);
  DeviceBuffer<CensusRecord> records(count);
  std::vector<CensusRecord> host(count);
  check(cudaMemsetAsync(records.data(), 0xFF, count * sizeof(CensusRecord), stream.get()),
        "clearing the census");
  launch(Census{records.data()});
  check(cudaMemcpyAsync(host.data(), records.data(), count * sizeof(CensusRecord), cudaMemcpyDeviceToHost,
                        stream.get()),
        "reading the census");
  stream.synchronize();
  return host;
}

Residency residency(const Launch& launch, const Problem& problem, int sm_count, const Stream& stream) {
  const auto launched = [&](Census census) { launch_kernel(launch, problem, census, stream); };
  return residency_of(census_of(launch.grid_size, launched, stream), sm_count);
}

}  // namespace occbench::observe
