// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <occbench/program.hpp>

#include "benchmarks/commands/cards.hpp"
#include "benchmarks/commands/devices/query.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/device/device.hpp"
#include "harness/device/launch.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

namespace {

struct DeviceRow {
  const Device& device;
  bool is_default;
};

Value rounded(double value) { return text("%.0f", value); }
Value dimensions(const std::array<int, 3>& most) { return text("%d x %d x %d", most[0], most[1], most[2]); }
Value known(const std::string& value) { return value.empty() ? Value() : Value(value); }

/// Clusters of 2 to 16 blocks that are resident at once, with one block on an SM: "2:66 3:39 4:30". SMs of a
/// GPC that fill no cluster stay idle.
Value active_clusters_by_size(const DeviceRow& row) {
  constexpr int most_blocks = 16;
  if (row.device.max_blocks_per_cluster == 0) return {};
  const theory::Footprint alone{.block_size = row.device.sm.max_threads_per_block,
                                .registers_per_thread = 64};
  std::string all;
  for (int size = 2; size <= most_blocks; ++size)
    if (const auto clusters = active_clusters(row.device, alone, size))
      all += (all.empty() ? "" : " ") + std::to_string(size) + ":" + std::to_string(*clusters);
  return known(all);
}

constexpr Column<DeviceRow> device_columns[] = {
    {"default", [](const auto& r) { return Value(r.is_default); }},
    {"index", [](const auto& r) { return digits(r.device.index); }},
    {"name", [](const auto& r) { return known(r.device.name); }},
    {"uuid", [](const auto& r) { return known(r.device.uuid); }},
    {"compute_capability", [](const auto& r) { return known(r.device.compute_capability()); }},
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
    {"sm_clock_max_mhz", [](const auto& r) { return rounded(r.device.sm_clock_max_hz * 1e-6); }},
    {"memory_clock_mhz", [](const auto& r) { return rounded(r.device.memory_clock_hz * 1e-6); }},
    {"memory_bus_bits", [](const auto& r) { return digits(r.device.memory_bus_bits); }},
    {"dram_theoretical_gb_per_s", [](const auto& r) { return rounded(r.device.dram_bytes_per_s * 1e-9); }},
    {"ecc", [](const auto& r) { return Value(r.device.ecc ? "on" : "off"); }},
    {"mig",
     [](const auto& r) { return r.device.nvml.mig ? Value(*r.device.nvml.mig ? "on" : "off") : Value(); }},
    {"power_limit_w",
     [](const auto& r) {
       return r.device.nvml.power_limit_w ? rounded(*r.device.nvml.power_limit_w) : Value();
     }},
    {"throttle_reasons", [](const auto& r) { return known(r.device.nvml.throttle_reasons.value_or("")); }},
    {"driver_version", [](const auto& r) { return known(r.device.nvml.driver_version); }},
    {"cuda_driver_version",
     [](const auto& r) {
       return Value(text("%d.%d", r.device.driver_version / 1000, r.device.driver_version % 1000 / 10));
     }},
};

void print_devices(const std::vector<Device>& devices, const std::string& format) {
  const Choice choice = choose_device(devices, "");
  std::vector<DeviceRow> rows;
  for (const Device& d : devices) rows.push_back({d, &d == choice.device});
  if (format == "csv") return print_csv(std::cout, device_columns, rows);
  if (format == "json") {
    auto all = nlohmann::json::array();
    for (const DeviceRow& row : rows) all.emplace_back(nlohmann::json(json_of(device_columns, row)));
    std::cout << all.dump(2) << '\n';
    return;
  }
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
  auto listed = std::make_shared<std::string>();
  command
      .add_option(
          "--device", *listed,
          "A device query from the catalogue, without the GPU: its name or ccX.Y, each value beside its "
          "field of cudaDeviceProp; `list` lists the names")
      ->type_name("NAME");
  command.callback([format, listed] {
    if (*listed == "list") return print_cards(std::cout);
    if (!listed->empty()) return print_device_query(std::cout, catalogue_entry(*listed), *format);
    std::string why_none;
    const auto devices = enumerate_devices(&why_none);
    if (devices.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
    print_devices(devices, *format);
  });
}

}  // namespace

extern const Command devices_command{
    .name = "devices",
    .group = "Look",
    .description = "Every CUDA device and its occupancy limits",
    .footer = "Example\n  occbench devices --format json\n  occbench devices --device t4",
    .define = define_devices,
};

}  // namespace occbench::commands
