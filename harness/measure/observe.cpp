// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/observe.hpp"

#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)  // older toolkits lack it; NVTX_PAYLOAD_TYPE_EXT tells
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace occbench::observe {

namespace {

/// The payload; its schema is below.
struct Payload {
  double occupancy_theoretical;
  std::int32_t blocks_per_sm;
  std::int32_t registers_per_thread;
};

/// 0 where the tool has no schemas.
std::uint64_t register_payload(nvtxDomainHandle_t domain) {
#ifdef NVTX_PAYLOAD_TYPE_EXT
  std::array<nvtxPayloadSchemaEntry_t, 3> entries{};
  const auto describe = [](nvtxPayloadSchemaEntry_t& entry, std::uint64_t type, const char* name,
                           std::size_t offset) {
    entry.type = type;
    entry.name = name;
    entry.offset = offset;
  };
  describe(entries[0], NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "occupancy_theoretical",
           offsetof(Payload, occupancy_theoretical));
  describe(entries[1], NVTX_PAYLOAD_ENTRY_TYPE_INT32, "blocks_per_sm", offsetof(Payload, blocks_per_sm));
  describe(entries[2], NVTX_PAYLOAD_ENTRY_TYPE_INT32, "registers_per_thread",
           offsetof(Payload, registers_per_thread));
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "case";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  schema.payloadStaticSize = sizeof(Payload);
  return nvtxPayloadSchemaRegister(domain, &schema);
#else
  static_cast<void>(domain);
  return 0;
#endif
}

/// Registered once with a tool. Without a tool the handle is null.
struct Domain {
  nvtxDomainHandle_t handle = nvtxDomainCreateA("occbench");
  std::uint64_t payload_schema = handle ? register_payload(handle) : 0;
  std::map<std::string, nvtxStringHandle_t> cases;
  std::map<std::string, std::uint32_t> experiments;

  nvtxStringHandle_t name_of(const Case& c) {
    const auto [found, is_new] = cases.try_emplace(c.id);
    if (is_new) found->second = nvtxDomainRegisterStringA(handle, c.id.c_str());
    return found->second;
  }

  std::uint32_t category_of(const Case& c) {
    const auto next = static_cast<std::uint32_t>(experiments.size() + 1);  // 0 is not a category
    const auto [found, is_new] = experiments.try_emplace(c.spec.experiment, next);
    if (is_new) nvtxDomainNameCategoryA(handle, next, c.spec.experiment.c_str());
    return found->second;
  }
};

Domain& domain() {
  static Domain one;
  return one;
}

}  // namespace

CaseRange::CaseRange(const Case& c) {
  Domain& d = domain();
  if (!d.handle) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = d.category_of(c);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = d.name_of(c);
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  attributes.payload.dValue = c.occupancy.fraction;
#ifdef NVTX_PAYLOAD_TYPE_EXT
  const Payload payload{c.occupancy.fraction, c.occupancy.blocks_per_sm, c.attributes.registers_per_thread};
  nvtxPayloadData_t data{};
  if (d.payload_schema != 0) {
    NVTX_PAYLOAD_EVTATTR_SET_DATA(attributes, &data, d.payload_schema, &payload, sizeof payload)
  }
#endif
  nvtxDomainRangePushEx(d.handle, &attributes);
}

CaseRange::~CaseRange() {
  if (domain().handle) nvtxDomainRangePop(domain().handle);
}

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
  std::erase(per_sm, 0);  // idle, or a number past sm_count: ignored
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

}  // namespace occbench::observe
