// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>
#include <vector>

#include "benchmarks/commands/cards.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/device/device.hpp"
#include "harness/device/launch.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {

namespace {

struct DeviceRow {
  const Device& device;
  bool is_default;
};

Value whole_number(double value) { return text("%.0f", value); }
Value dimensions(const std::array<int, 3>& most) { return text("%d x %d x %d", most[0], most[1], most[2]); }
Value text_or_unknown(const std::string& value) { return value.empty() ? Value() : Value(value); }

/// Clusters of 2 to 16 blocks that are resident at once, with one block on an SM: "2:66 3:39 4:30". SMs of a
/// GPC that fill no cluster stay idle.
Value active_clusters_by_size(const DeviceRow& row) {
  constexpr int max_blocks = 16;
  if (row.device.max_blocks_per_cluster == 0) return {};
  const theory::Footprint alone{.block_size = row.device.sm.max_threads_per_block,
                                .registers_per_thread = 64};
  std::string all;
  for (int size = 2; size <= max_blocks; ++size)
    if (const auto clusters = active_clusters(row.device, alone, size))
      all += (all.empty() ? "" : " ") + std::to_string(size) + ":" + std::to_string(*clusters);
  return text_or_unknown(all);
}

constexpr Column<DeviceRow> device_columns[] = {
    {"default", [](const auto& r) { return Value(r.is_default); }},
    {"index", [](const auto& r) { return digits(r.device.index); }},
    {"name", [](const auto& r) { return text_or_unknown(r.device.name); }},
    {"uuid", [](const auto& r) { return text_or_unknown(r.device.uuid); }},
    {"compute_capability", [](const auto& r) { return text_or_unknown(r.device.compute_capability()); }},
    {"sm_count", [](const auto& r) { return digits(r.device.sm.sm_count); }},
    {"warp_size", [](const auto& r) { return digits(r.device.sm.warp_size); }},
    {"max_threads_per_block", [](const auto& r) { return digits(r.device.sm.max_threads_per_block); }},
    {"max_block_dimensions", [](const auto& r) { return dimensions(r.device.max_block_dimensions); }},
    {"max_grid_dimensions", [](const auto& r) { return dimensions(r.device.max_grid_dimensions); }},
    {"max_threads_per_sm", [](const auto& r) { return digits(r.device.sm.max_threads_per_sm); }},
    {"max_warps_per_sm", [](const auto& r) { return digits(r.device.sm.max_warps_per_sm()); }},
    {"max_blocks_per_sm", [](const auto& r) { return digits(r.device.sm.max_blocks_per_sm); }},
    {"registers_per_block", [](const auto& r) { return digits(r.device.sm.registers_per_block); }},
    {"registers_per_sm", [](const auto& r) { return digits(r.device.sm.registers_per_sm); }},
    {"smem_per_block_bytes", [](const auto& r) { return digits(r.device.sm.smem_per_block_bytes); }},
    {"smem_per_block_optin_bytes",
     [](const auto& r) { return digits(r.device.sm.smem_per_block_optin_bytes); }},
    {"smem_per_sm_bytes", [](const auto& r) { return digits(r.device.sm.smem_per_sm_bytes); }},
    {"smem_reserved_per_block_bytes",
     [](const auto& r) { return digits(r.device.sm.smem_reserved_per_block_bytes); }},
    {"max_blocks_per_cluster",
     [](const auto& r) {
       return r.device.max_blocks_per_cluster > 0 ? digits(r.device.max_blocks_per_cluster) : Value();
     }},
    {"active_clusters_by_size", active_clusters_by_size},
    {"fp32_lanes_per_sm", [](const auto& r) { return digits(r.device.fp32_lanes_per_sm); }},
    {"fp64_lanes_per_sm", [](const auto& r) { return digits(r.device.fp64_lanes_per_sm); }},
    {"l2_bytes", [](const auto& r) { return digits(r.device.l2_bytes); }},
    {"memory_bytes", [](const auto& r) { return digits(r.device.memory_bytes); }},
    {"sm_clock_max_mhz", [](const auto& r) { return whole_number(r.device.sm_clock_max_hz * 1e-6); }},
    {"memory_clock_mhz", [](const auto& r) { return whole_number(r.device.memory_clock_hz * 1e-6); }},
    {"memory_bus_bits", [](const auto& r) { return digits(r.device.memory_bus_bits); }},
    {"dram_theoretical_gb_per_s",
     [](const auto& r) { return whole_number(r.device.dram_bytes_per_s * 1e-9); }},
    {"ecc", [](const auto& r) { return Value(r.device.ecc ? "on" : "off"); }},
    {"mig",
     [](const auto& r) { return r.device.nvml.mig ? Value(*r.device.nvml.mig ? "on" : "off") : Value(); }},
    {"power_limit_w",
     [](const auto& r) {
       return r.device.nvml.power_limit_w ? whole_number(*r.device.nvml.power_limit_w) : Value();
     }},
    {"throttle_reasons",
     [](const auto& r) { return text_or_unknown(r.device.nvml.throttle_reasons.value_or("")); }},
    {"driver_version", [](const auto& r) { return text_or_unknown(r.device.nvml.driver_version); }},
    {"cuda_driver_version",
     [](const auto& r) {
       return Value(text("%d.%d", r.device.driver_version / 1000, r.device.driver_version % 1000 / 10));
     }},
};

/// Keys in alphabetical order.
template <class Columns, class Row>
void print_json(std::ostream& out, const Columns& columns, const std::vector<Row>& rows) {
  auto all = nlohmann::json::array();
  for (const Row& row : rows) all.emplace_back(nlohmann::json(json_of(columns, row)));
  out << all.dump(2) << '\n';
}

void print_devices(const std::vector<Device>& devices, const std::string& format) {
  const Choice choice = choose_device(devices, "");
  std::vector<DeviceRow> rows;
  for (const Device& d : devices) rows.push_back({d, &d == choice.device});
  if (format == "csv") return print_csv(std::cout, device_columns, rows);
  if (format == "json") return print_json(std::cout, device_columns, rows);
  for (const DeviceRow& row : rows) {
    for (const Column<DeviceRow>& column : std::span(device_columns).subspan(1)) {
      const std::string value = cell(column.value(row));
      print_wrapped(std::cout, value.empty() ? "not known" : value, text("  %-32s", column.name));
    }
    std::cout << '\n';
  }
  print_wrapped(std::cout, "default: " + std::to_string(choice.device->index) + " " + choice.device->name +
                               ", " + choice.why);
  print_wrapped(std::cout, "models, which `occbench run` takes as a device without a GPU: " + model_names());
}

using Spec = theory::DeviceSpec;

/// Unknown where it is 0.
Value number_or_unknown(auto number) {
  return number > 0 ? digits(static_cast<std::int64_t>(number)) : Value();
}

/// A value, its field of cudaDeviceProp, its cudaDeviceGetAttribute() name, and a note.
struct QueryField {
  const char* name;  ///< as `occbench devices` has it
  Value (*value)(const Spec& device);
  const char* property;
  const char* attribute;
  const char* note = "";
};

// Names: driver_types.h of CUDA 13.0; of 12.9 for those that 13.0 removed.
constexpr QueryField query_fields[] = {
    {"name", [](const Spec& d) { return Value(d.name); }, "name", ""},
    {"compute_capability", [](const Spec& d) { return Value(text("%d.%d", d.sm.cc_major, d.sm.cc_minor)); },
     "major, minor", "cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor"},
    {"sm_count", [](const Spec& d) { return number_or_unknown(d.sm.sm_count); }, "multiProcessorCount",
     "cudaDevAttrMultiProcessorCount"},
    {"warp_size", [](const Spec& d) { return number_or_unknown(d.sm.warp_size); }, "warpSize",
     "cudaDevAttrWarpSize"},
    {"max_threads_per_block", [](const Spec& d) { return number_or_unknown(d.sm.max_threads_per_block); },
     "maxThreadsPerBlock", "cudaDevAttrMaxThreadsPerBlock"},
    {"max_threads_per_sm", [](const Spec& d) { return number_or_unknown(d.sm.max_threads_per_sm); },
     "maxThreadsPerMultiProcessor", "cudaDevAttrMaxThreadsPerMultiProcessor"},
    {"max_warps_per_sm", [](const Spec& d) { return number_or_unknown(d.sm.max_warps_per_sm()); }, "", "",
     "no field: maxThreadsPerMultiProcessor / warpSize"},
    {"max_blocks_per_sm", [](const Spec& d) { return number_or_unknown(d.sm.max_blocks_per_sm); },
     "maxBlocksPerMultiProcessor", "cudaDevAttrMaxBlocksPerMultiprocessor", "since CUDA 11"},
    {"registers_per_block", [](const Spec& d) { return number_or_unknown(d.sm.registers_per_block); },
     "regsPerBlock", "cudaDevAttrMaxRegistersPerBlock", "of one block, not of the SM"},
    {"registers_per_sm", [](const Spec& d) { return number_or_unknown(d.sm.registers_per_sm); },
     "regsPerMultiprocessor", "cudaDevAttrMaxRegistersPerMultiprocessor"},
    {"smem_per_block_bytes", [](const Spec& d) { return number_or_unknown(d.sm.smem_per_block_bytes); },
     "sharedMemPerBlock", "cudaDevAttrMaxSharedMemoryPerBlock",
     "of one block that has not opted in, not of the SM"},
    {"smem_per_block_optin_bytes",
     [](const Spec& d) { return number_or_unknown(d.sm.smem_per_block_optin_bytes); },
     "sharedMemPerBlockOptin", "cudaDevAttrMaxSharedMemoryPerBlockOptin",
     "of one block after cudaFuncAttributeMaxDynamicSharedMemorySize"},
    {"smem_per_sm_bytes", [](const Spec& d) { return number_or_unknown(d.sm.smem_per_sm_bytes); },
     "sharedMemPerMultiprocessor", "cudaDevAttrMaxSharedMemoryPerMultiprocessor", "of all resident blocks"},
    {"smem_reserved_per_block_bytes",
     [](const Spec& d) { return digits(d.sm.smem_reserved_per_block_bytes); }, "reservedSharedMemPerBlock",
     "cudaDevAttrReservedSharedMemoryPerBlock", "taken from every block in addition to its own"},
    {"fp32_lanes_per_sm", [](const Spec& d) { return number_or_unknown(d.fp32_lanes_per_sm); }, "", "",
     "no field: follows from the compute capability"},
    {"l2_bytes", [](const Spec& d) { return number_or_unknown(d.l2_bytes); }, "l2CacheSize",
     "cudaDevAttrL2CacheSize"},
    {"memory_bytes", [](const Spec& d) { return number_or_unknown(d.memory_bytes); }, "totalGlobalMem", "",
     "by the data sheet; the driver reports a few per cent less"},
    {"sm_clock_max_mhz", [](const Spec& d) { return number_or_unknown(d.sm_clock_max_hz * 1e-6); },
     "clockRate (removed in CUDA 13)", "cudaDevAttrClockRate", "CUDA has it in kHz"},
    {"dram_theoretical_gb_per_s", [](const Spec& d) { return number_or_unknown(d.dram_bytes_per_s * 1e-9); },
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

std::string describe_field(const QueryField& field) {
  std::string words = field.property;
  if (*field.attribute) words += (words.empty() ? "" : "; ") + std::string(field.attribute);
  if (*field.note) words += (words.empty() ? "" : "; ") + std::string(field.note);
  return words;
}

/// A device query from the catalogue, without the device: each value beside the CUDA names for it. `format`:
/// table, csv or json. An SM given by compute capability alone has rows without a value.
void print_device_query(std::ostream& out, const theory::DeviceSpec& device, const std::string& format) {
  std::vector<QueryRow> rows;
  for (const QueryField& field : query_fields) rows.push_back({&field, field.value(device)});
  if (format == "csv") return print_csv(out, query_columns, rows);
  if (format == "json") return print_json(out, query_columns, rows);
  for (const QueryRow& row : rows) {
    const std::string value = cell(row.value);
    print_wrapped(out, describe_field(*row.field),
                  text("  %-30s %-24s ", row.field->name, value.empty() ? "not known" : value.c_str()));
  }
}

theory::DeviceSpec catalogue_entry(const std::string& name) {
  try {
    return theory::find_device(name);
  } catch (const std::invalid_argument& error) {
    throw UserError(Exit::usage, std::string("--device: ") + error.what());
  }
}

void define_devices(CLI::App& command, Invocation&) {
  auto format = std::make_shared<std::string>("table");
  command.add_option("--format", *format, "table, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  auto catalogue_name = std::make_shared<std::string>();
  command
      .add_option(
          "--device", *catalogue_name,
          "A device query from the catalogue, without the GPU: its name or ccX.Y, each value beside its "
          "field of cudaDeviceProp; `list` lists the names")
      ->type_name("NAME");
  command.callback([format, catalogue_name] {
    if (*catalogue_name == "list") return print_cards(std::cout);
    if (!catalogue_name->empty())
      return print_device_query(std::cout, catalogue_entry(*catalogue_name), *format);
    std::string why_none;
    const auto devices = enumerate_devices(&why_none);
    if (devices.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
    print_devices(devices, *format);
  });
}

}  // namespace

extern const Command devices_command{
    .name = "devices",
    .group = "Query",
    .description = "Every CUDA device and its occupancy limits",
    .footer = "Example\n  occbench devices --format json\n  occbench devices --device t4",
    .define = define_devices,
};

}  // namespace occbench::commands
