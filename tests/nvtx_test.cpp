// SPDX-License-Identifier: Apache-2.0
// What a tool sees of a case's NVTX range, by a tool of our own inside this program; and what a range costs
// without one. Which launches a range has, without the warm-up: cli_test.py, by ncu.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "harness/measure/observe.hpp"

namespace occbench {
namespace {

struct Range {
  std::string domain, name, category, payload_names;
  double occupancy = 0;
  int blocks_per_sm = 0, registers = 0;
};

/// What the tool was told. Handles are indices + 1.
struct Tool {
  bool attaches = true;
  std::vector<std::string> domains, names, categories;
  std::string payload_names;  ///< of the one schema
  std::vector<Range> open, closed;
};
Tool tool;

template <class Handle>
Handle handle_of(std::size_t index) {
  return reinterpret_cast<Handle>(index + 1);
}
template <class Handle>
const std::string& at(const std::vector<std::string>& all, Handle handle) {
  return all.at(reinterpret_cast<std::size_t>(handle) - 1);
}

nvtxDomainHandle_t create(const char* name) {
  tool.domains.emplace_back(name);
  return handle_of<nvtxDomainHandle_t>(tool.domains.size() - 1);
}
nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  tool.names.emplace_back(text);
  return handle_of<nvtxStringHandle_t>(tool.names.size() - 1);
}
void name_category(nvtxDomainHandle_t, std::uint32_t id, const char* name) {
  tool.categories.resize(std::max<std::size_t>(tool.categories.size(), id));
  tool.categories[id - 1] = name;
}
int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  Range range{.domain = at(tool.domains, domain), .category = tool.categories.at(a->category - 1)};
  if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED) range.name = at(tool.names, a->message.registered);
  if (a->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE) range.occupancy = a->payload.dValue;
#ifdef NVTX_PAYLOAD_TYPE_EXT
  if (a->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(a->payload.ullValue);
    const auto* bytes = static_cast<const char*>(data->payload);
    range.payload_names = tool.payload_names;
    std::memcpy(&range.occupancy, bytes, sizeof range.occupancy);
    std::memcpy(&range.blocks_per_sm, bytes + 8, sizeof(int));
    std::memcpy(&range.registers, bytes + 12, sizeof(int));
  }
#endif
  tool.open.push_back(range);
  return static_cast<int>(tool.open.size());
}
int pop(nvtxDomainHandle_t) {
  tool.closed.push_back(tool.open.back());
  tool.open.pop_back();
  return static_cast<int>(tool.open.size());
}

int attach(NvtxGetExportTableFunc_t export_table) {
  if (!tool.attaches) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  const auto hook = [&](int id, auto* function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  hook(NVTX_CBID_CORE2_DomainCreateA, create);
  hook(NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  hook(NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  hook(NVTX_CBID_CORE2_DomainRangePushEx, push);
  hook(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

#ifdef NVTX_PAYLOAD_TYPE_EXT
std::uint64_t register_schema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  for (std::size_t i = 0; i < schema->numEntries; ++i)
    tool.payload_names += (i ? "," : "") + std::string(schema->entries[i].name);
  return std::uint64_t{1} << 32;
}
int attach_extension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  module->segments->functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
      reinterpret_cast<intptr_t>(register_schema);
  return 1;
}
#endif

/// NVTX looks here at its first call.
const bool injected = [] {
  InitializeInjectionNvtx2_fnptr = attach;
#ifdef NVTX_PAYLOAD_TYPE_EXT
  InitializeInjectionNvtxExtension_fnptr = attach_extension;
#endif
  return true;
}();

Case planned(const std::string& experiment, const std::string& id) {
  Case c;
  c.spec.experiment = experiment;
  c.id = id;
  c.occupancy = {.blocks_per_sm = 6, .warps_per_sm = 48, .fraction = 0.75};
  c.attributes.registers_per_thread = 33;
  return c;
}

TEST(Nvtx, EachCaseIsARangeWithPayload) {
  ASSERT_TRUE(injected);
  const Case first = planned("registers", "registers.a.b256");
  const Case second = planned("waves", "waves.a.b256");
  for (int i = 0; i < 2; ++i) {
    const observe::CaseRange range(first);
    EXPECT_EQ(tool.open.size(), 1U);
  }
  { const observe::CaseRange range(second); }
  EXPECT_TRUE(tool.open.empty());
  ASSERT_EQ(tool.closed.size(), 3U);
  EXPECT_EQ(tool.domains, std::vector<std::string>{"occbench"});
  EXPECT_EQ(tool.names, (std::vector<std::string>{first.id, second.id})) << "each case's name once";
  EXPECT_EQ(tool.categories, (std::vector<std::string>{"registers", "waves"}));
  const Range& seen = tool.closed[1];
  EXPECT_EQ(seen.domain, "occbench");
  EXPECT_EQ(seen.name, first.id);
  EXPECT_EQ(seen.category, "registers");
  EXPECT_EQ(seen.occupancy, 0.75);
#ifdef NVTX_PAYLOAD_TYPE_EXT
  EXPECT_EQ(seen.payload_names, "occupancy_theoretical,blocks_per_sm,registers_per_thread");
  EXPECT_EQ(seen.blocks_per_sm, 6);
  EXPECT_EQ(seen.registers, 33);
#endif
  EXPECT_EQ(tool.closed[2].name, second.id);
}

/// In a process of its own: whether a tool is there is asked once.
TEST(NvtxCost, WithoutAToolNothingIsRegistered) {
  tool.attaches = false;
  const Case c = planned("registers", "registers.register_pressure.load-live19-maxnreg33.b256");
  constexpr int count = 10'000'000;
  double ns = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) const observe::CaseRange range(c);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    ns = std::min(ns, took.count() / count);
  }
  EXPECT_TRUE(tool.domains.empty());
  EXPECT_TRUE(tool.names.empty()) << "without a tool nothing is registered";
  std::cout << "an NVTX range without a tool: " << ns << " ns\n";
}

}  // namespace
}  // namespace occbench
