// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/devices/query.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"

namespace occbench::commands {

namespace {

using Spec = theory::DeviceSpec;

/// 0 is not known.
Value known(auto number) { return number > 0 ? digits(static_cast<std::int64_t>(number)) : Value(); }

/// A value, its field of cudaDeviceProp, its cudaDeviceGetAttribute() name, and what is to know of them.
struct QueryField {
  const char* name;  ///< as `occbench devices` has it
  Value (*value)(const Spec& device);
  const char* property;
  const char* attribute;
  const char* note = "";
};

// Names: driver_types.h of CUDA 13.0 and, of what is gone from there, 12.9.
constexpr QueryField query_fields[] = {
    {"name", [](const Spec& d) { return Value(d.name); }, "name", ""},
    {"compute_capability", [](const Spec& d) { return Value(text("%d.%d", d.sm.cc_major, d.sm.cc_minor)); },
     "major, minor", "cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor"},
    {"sm_count", [](const Spec& d) { return known(d.sm.sm_count); }, "multiProcessorCount",
     "cudaDevAttrMultiProcessorCount"},
    {"warp_size", [](const Spec& d) { return known(d.sm.warp_size); }, "warpSize", "cudaDevAttrWarpSize"},
    {"max_threads_per_block", [](const Spec& d) { return known(d.sm.max_threads_per_block); },
     "maxThreadsPerBlock", "cudaDevAttrMaxThreadsPerBlock"},
    {"max_threads_per_sm", [](const Spec& d) { return known(d.sm.max_threads_per_sm); },
     "maxThreadsPerMultiProcessor", "cudaDevAttrMaxThreadsPerMultiProcessor"},
    {"max_warps_per_sm", [](const Spec& d) { return known(d.sm.max_warps_per_sm()); }, "", "",
     "no field: maxThreadsPerMultiProcessor / warpSize"},
    {"max_blocks_per_sm", [](const Spec& d) { return known(d.sm.max_blocks_per_sm); },
     "maxBlocksPerMultiProcessor", "cudaDevAttrMaxBlocksPerMultiprocessor", "since CUDA 11"},
    {"registers_per_block", [](const Spec& d) { return known(d.sm.registers_per_block); }, "regsPerBlock",
     "cudaDevAttrMaxRegistersPerBlock", "of one block, not of the SM"},
    {"registers_per_sm", [](const Spec& d) { return known(d.sm.registers_per_sm); }, "regsPerMultiprocessor",
     "cudaDevAttrMaxRegistersPerMultiprocessor"},
    {"smem_per_block_bytes", [](const Spec& d) { return known(d.sm.smem_per_block_bytes); },
     "sharedMemPerBlock", "cudaDevAttrMaxSharedMemoryPerBlock",
     "of one block that has not opted in, not of the SM"},
    {"smem_per_block_optin_bytes", [](const Spec& d) { return known(d.sm.smem_per_block_optin_bytes); },
     "sharedMemPerBlockOptin", "cudaDevAttrMaxSharedMemoryPerBlockOptin",
     "of one block after cudaFuncAttributeMaxDynamicSharedMemorySize"},
    {"smem_per_sm_bytes", [](const Spec& d) { return known(d.sm.smem_per_sm_bytes); },
     "sharedMemPerMultiprocessor", "cudaDevAttrMaxSharedMemoryPerMultiprocessor", "of all resident blocks"},
    {"smem_reserved_per_block_bytes",
     [](const Spec& d) { return digits(d.sm.smem_reserved_per_block_bytes); }, "reservedSharedMemPerBlock",
     "cudaDevAttrReservedSharedMemoryPerBlock", "taken from every block in addition to its own"},
    {"fp32_lanes_per_sm", [](const Spec& d) { return known(d.fp32_lanes_per_sm); }, "", "",
     "no field: follows from the compute capability"},
    {"l2_bytes", [](const Spec& d) { return known(d.l2_bytes); }, "l2CacheSize", "cudaDevAttrL2CacheSize"},
    {"memory_bytes", [](const Spec& d) { return known(d.memory_bytes); }, "totalGlobalMem", "",
     "by the data sheet; the driver reports a few per cent less"},
    {"sm_clock_max_mhz", [](const Spec& d) { return known(d.sm_clock_max_hz * 1e-6); },
     "clockRate (removed in CUDA 13)", "cudaDevAttrClockRate", "CUDA has it in kHz"},
    {"dram_theoretical_gb_per_s", [](const Spec& d) { return known(d.dram_bytes_per_s * 1e-9); },
     "memoryClockRate (removed in CUDA 13), memoryBusWidth",
     "cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth",
     "no field: clock x bus width, times two for double data rate"},
};

struct QueryRow {
  const QueryField* field;
  Value value;
};

constexpr Column<QueryRow> query_columns[] = {
    {"name", [](const QueryRow& r) { return Value(r.field->name); }},
    {"value", [](const QueryRow& r) { return r.value; }},
    {"cuda_device_prop", [](const QueryRow& r) { return Value(r.field->property); }},
    {"cuda_attribute", [](const QueryRow& r) { return Value(r.field->attribute); }},
    {"note", [](const QueryRow& r) { return Value(r.field->note); }},
};

std::string words_of(const QueryField& field) {
  std::string words = field.property;
  if (*field.attribute) words += (words.empty() ? "" : "; ") + std::string(field.attribute);
  if (*field.note) words += (words.empty() ? "" : "; ") + std::string(field.note);
  return words;
}

}  // namespace

void print_device_query(std::ostream& out, const theory::DeviceSpec& device, const std::string& format) {
  std::vector<QueryRow> rows;
  for (const QueryField& field : query_fields) rows.push_back({&field, field.value(device)});
  if (format == "csv") return print_csv(out, query_columns, rows);
  if (format == "json") {
    auto all = nlohmann::json::array();
    for (const QueryRow& row : rows) all.emplace_back(nlohmann::json(json_of(query_columns, row)));
    out << all.dump(2) << '\n';
    return;
  }
  for (const QueryRow& row : rows) {
    const std::string value = cell(row.value);
    print_wrapped(out, words_of(*row.field),
                  text("  %-30s %-24s ", row.field->name, value.empty() ? "not known" : value.c_str()));
  }
}

}  // namespace occbench::commands
