// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_launch.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/binary/rounded_smem.hpp"

namespace occbench::binary {
namespace {

/// "(16, 16, 1)" -> 256; "256" -> 256
std::optional<std::int64_t> product_of(const std::string& text, std::int64_t most) {
  std::int64_t product = 1;
  int found = 0;
  for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string::npos; ++found) {
    std::int64_t side = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), side);
    if (error != std::errc() || side < 1 || side > most / product) return std::nullopt;
    product *= side;
    at = static_cast<std::size_t>(end - text.data());
  }
  return found > 0 ? std::optional(product) : std::nullopt;
}

int whole(const ReportNumber& number) { return static_cast<int>(std::lround(std::min(number.value, 1e6))); }

struct Metric {
  std::string_view name, label;
  bool is_count;  ///< a whole number in its base unit
  void (*set)(KernelUse&, const ReportNumber&, const std::string& text);
};

constexpr Metric metrics[] = {
    {"launch__registers_per_thread", "Registers Per Thread", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.registers_per_thread = whole(n); }},
    {"launch__shared_mem_per_block_static", "Static Shared Memory Per Block", true,
     [](KernelUse& use, const ReportNumber& n, const std::string& text) {
       use.rounded_static_smem = rounded_bytes(n, text);
       use.static_smem_bytes = roundest(n.least, n.most);
     }},
    {"launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block", true,
     [](KernelUse& use, const ReportNumber& n, const std::string& text) {
       use.rounded_dynamic_smem = rounded_bytes(n, text);
       use.dynamic_smem_bytes = roundest(n.least, n.most);
     }},
    {"launch__block_size", "Block Size", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.block_size = whole(n); }},
    {"launch__barrier_count", "# Barriers", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.barriers = whole(n); }},
    {"launch__cluster_size", "Cluster Size", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) {
       if (n.value >= 1 && n.value <= 16) use.cluster_size = whole(n);
     }},
    {"launch__grid_size", "Grid Size", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) {
       if (n.value >= 1) use.grids = {{std::llround(n.value), {}}};
     }},
    {"launch__sm_count", "# SMs", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) {
       if (n.value >= 1) use.sm_count = whole(n);
     }},
    {"launch__shared_mem_config_size", "Shared Memory Configuration Size", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) {
       constexpr double kib = 1024;  // configurations are whole KiB, even if printed as 233.47 Kbyte
       use.smem_config_bytes = static_cast<std::size_t>(std::round(n.value / kib) * kib);
     }},
    {"launch__occupancy_limit_shared_mem", "Block Limit Shared Mem", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.smem_block_limit = whole(n); }},
    {"launch__occupancy_limit_barriers", "Block Limit Barriers", true,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.barrier_block_limit = whole(n); }},
    {"gpu__time_duration.sum", "Duration", false,
     [](KernelUse& use, const ReportNumber& n, const std::string&) { use.time_us = n.value; }},
};

std::size_t index_of(std::string_view metric) {
  const auto* const found =
      std::ranges::find_if(metrics, [&](const Metric& m) { return metric == m.name || metric == m.label; });
  return static_cast<std::size_t>(found - std::begin(metrics));
}

}  // namespace

std::string_view NcuLaunches::known_at(std::string_view line) {
  std::string_view longest;
  for (const Metric& metric : metrics)
    for (const std::string_view name : {metric.name, metric.label})
      if (name.size() > longest.size() && line.starts_with(name) && line.size() > name.size() &&
          (line[name.size()] == ' ' || line[name.size()] == '\t'))
        longest = name;
  return longest;
}

void NcuLaunches::start(const std::string& id, const Kernel& kernel) {
  if (launches_.empty() || launches_.back().id != id) launches_.push_back({id, kernel, {}});
}

void NcuLaunches::add(std::string_view metric, std::string_view unit, std::string_view text) {
  style_.observe(text);
  const std::size_t index = index_of(metric);
  if (index != std::size(metrics) && !launches_.empty())
    launches_.back().cells.insert_or_assign(index, Cell{std::string(unit), std::string(text)});
}

KernelUse NcuLaunches::use_of(const Launch& launch) const {
  const Kernel& kernel = launch.kernel;
  KernelUse use{.name = kernel.name, .cc = kernel.cc, .launches = kernel.launches};
  if (const auto threads = product_of(kernel.block, 1 << 20)) use.block_size = static_cast<int>(*threads);
  constexpr std::int64_t max_blocks = std::int64_t{1} << 62;
  for (const auto& [index, cell] : launch.cells) {
    const Metric& metric = metrics[index];
    const auto number = read_number(cell.text, cell.unit, style_.decimal_mark(), metric.is_count);
    if (number && number->value >= 0 && number->value <= 1e12)
      metric.set(use, *number, cell.unit.empty() ? cell.text : cell.text + " " + cell.unit);
  }
  use.time_us *= static_cast<double>(use.launches);  // a summary has the mean
  if (const auto blocks = product_of(kernel.grid, max_blocks)) use.grids = {{*blocks, {}}};
  for (auto& [blocks, grid] : use.grids) grid = {use.launches, use.time_us};
  return use;
}

std::vector<KernelUse> NcuLaunches::kernels() const {
  Launches known;
  for (const Launch& launch : launches_)
    if (KernelUse use = use_of(launch); use.registers_per_thread) known.add(std::move(use));
  return known.take();
}

std::size_t NcuLaunches::without_registers() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      launches_, [&](const Launch& launch) { return !use_of(launch).registers_per_thread; }));
}

}  // namespace occbench::binary
