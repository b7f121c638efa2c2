// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "benchmarks/commands/commands.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/device/device.hpp"
#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

namespace {

using Fact = std::pair<const char*, std::string>;  // column name, value; empty: not known

std::string rounded(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string by_dimension(const std::array<int, 3>& most) {
  return std::to_string(most[0]) + " x " + std::to_string(most[1]) + " x " + std::to_string(most[2]);
}

std::vector<Fact> facts(const Device& d) {
  const theory::SmLimits& sm = d.sm;
  const auto n = [](auto value) { return std::to_string(value); };
  return {
      {"index", n(d.index)},
      {"name", d.name},
      {"uuid", d.uuid},
      {"compute_capability", d.compute_capability()},
      {"sm_count", n(sm.sm_count)},
      {"warp_size", n(sm.warp_size)},
      {"max_threads_per_block", n(sm.max_threads_per_block)},
      {"max_block_dimensions", by_dimension(d.max_block_dimensions)},
      {"max_grid_dimensions", by_dimension(d.max_grid_dimensions)},
      {"max_threads_per_sm", n(sm.max_threads_per_sm)},
      {"max_warps_per_sm", n(sm.max_warps_per_sm())},
      {"max_blocks_per_sm", n(sm.max_blocks_per_sm)},
      {"registers_per_block", n(sm.registers_per_block)},
      {"registers_per_sm", n(sm.registers_per_sm)},
      {"smem_per_block_bytes", n(sm.smem_per_block_bytes)},
      {"smem_per_block_optin_bytes", n(sm.smem_per_block_optin_bytes)},
      {"smem_per_sm_bytes", n(sm.smem_per_sm_bytes)},
      {"smem_reserved_per_block_bytes", n(sm.smem_reserved_per_block_bytes)},
      {"max_blocks_per_cluster", d.max_blocks_per_cluster > 0 ? n(d.max_blocks_per_cluster) : ""},
      {"fp32_lanes_per_sm", n(d.fp32_lanes_per_sm)},
      {"fp64_lanes_per_sm", n(d.fp64_lanes_per_sm)},
      {"l2_bytes", n(d.l2_bytes)},
      {"memory_bytes", n(d.memory_bytes)},
      {"sm_clock_max_mhz", rounded(d.sm_clock_max_hz * 1e-6, "%.0f")},
      {"memory_clock_mhz", rounded(d.memory_clock_hz * 1e-6, "%.0f")},
      {"memory_bus_bits", n(d.memory_bus_bits)},
      {"dram_theoretical_gb_per_s", rounded(d.dram_bytes_per_s * 1e-9, "%.0f")},
      {"ecc", d.ecc ? "on" : "off"},
      {"mig", d.nvml.mig ? (*d.nvml.mig ? "on" : "off") : ""},
      {"power_limit_w", d.nvml.power_limit_w ? rounded(*d.nvml.power_limit_w, "%.0f") : ""},
      {"throttle_reasons", d.nvml.throttle_reasons.value_or("")},
      {"driver_version", d.nvml.driver_version},
      {"cuda_driver_version", n(d.driver_version / 1000) + "." + n(d.driver_version % 1000 / 10)},
  };
}

void print(const std::vector<Device>& devices, const std::string& format) {
  const Choice choice = choose_device(devices, "");
  if (format == "json") {
    auto all = nlohmann::json::array();
    for (const Device& d : devices) {
      nlohmann::json one;
      for (const auto& [name, value] : facts(d))
        one[name] = value.empty() ? nlohmann::json(nullptr) : nlohmann::json(value);
      one["default"] = &d == choice.device;
      all.push_back(one);
    }
    std::cout << all.dump(2) << '\n';
    return;
  }
  if (format == "csv") {
    csv::Row header{"default"};
    for (const auto& [name, value] : facts(devices.front())) header.emplace_back(name);
    std::cout << csv::format(header);
    for (const Device& d : devices) {
      csv::Row row{&d == choice.device ? "1" : "0"};
      for (const auto& [name, value] : facts(d)) row.push_back(value);
      std::cout << csv::format(row);
    }
    return;
  }
  for (const Device& d : devices) {
    for (const auto& [name, value] : facts(d))
      std::cout << "  " << std::left << std::setw(32) << name << (value.empty() ? "not known" : value)
                << '\n';
    std::cout << '\n';
  }
  print_wrapped(std::cout, "default: " + std::to_string(choice.device->index) + " " + choice.device->name +
                               ", " + choice.why);
  print_wrapped(std::cout, "models, which `occbench run` takes as a device without a GPU: " + model_names());
}

}  // namespace

void add_devices(CLI::App& app) {
  auto* command = app.add_subcommand("devices", "Every CUDA device, and all that governs occupancy on it");
  command->group("Look")->footer("Example\n  occbench devices --format json");
  auto format = std::make_shared<std::string>("table");
  command->add_option("--format", *format, "table, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  command->callback([format] {
    std::string why_none;
    const auto devices = enumerate_devices(&why_none);
    if (devices.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
    print(devices, *format);
  });
}

}  // namespace occbench::commands
