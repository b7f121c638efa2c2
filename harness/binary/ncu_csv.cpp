// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/ncu_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "harness/io/check.hpp"
#include "harness/io/child.hpp"

namespace occbench::binary {
namespace {

/// "1,234.5" converted to bytes or microseconds by its unit; nullopt if it is not a number.
std::optional<double> number(std::string text, const std::string& unit) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  static const std::map<std::string, double> scales = {{"Kbyte", 1e3},   {"Mbyte", 1e6},  {"nsecond", 1e-3},
                                                       {"msecond", 1e3}, {"second", 1e6}, {"ns", 1e-3},
                                                       {"ms", 1e3},      {"s", 1e6}};
  const auto scale = scales.find(unit.substr(0, unit.find('/')));
  return scale == scales.end() ? value : value * scale->second;
}

/// "(16, 16, 1)" -> 256
std::optional<int> threads(const std::string& text) {
  int product = 1;
  int found = 0;
  for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string::npos; ++found) {
    int side = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), side);
    if (error != std::errc() || side < 1 || side > 1024) return std::nullopt;
    product = std::min(product * side, 1 << 20);
    at = static_cast<std::size_t>(end - text.data());
  }
  return found > 0 ? std::optional(product) : std::nullopt;
}

}  // namespace

void NcuCsv::read(const std::string& line) {
  if (!table_.read(line)) return;
  const std::string id = table_.id();
  if (launches_.empty() || launches_.back().first != id)
    launches_.push_back({id,
                         {.name = table_.cell("Kernel Name"),
                          .cc = table_.cell("CC"),
                          .block_size = threads(table_.cell("Block Size")),
                          .launches = 1}});
  table_.each_metric([&](const std::string& name, const std::string& text, const std::string& unit) {
    metric(launches_.back().second, name, text, unit);
  });
}

void NcuCsv::metric(KernelUse& launch, const std::string& name, const std::string& text,
                    const std::string& unit) {
  const auto is = [&](const char* metric, const char* label) { return name == metric || name == label; };
  const std::optional<double> value = number(text, unit);
  if (!value || *value < 0 || *value > 1e12) return;
  if (is("launch__registers_per_thread", "Registers Per Thread"))
    launch.registers_per_thread = static_cast<int>(std::min(*value, 1e6));
  else if (is("launch__shared_mem_per_block_static", "Static Shared Memory Per Block"))
    launch.static_smem_bytes = static_cast<std::size_t>(*value);
  else if (is("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"))
    launch.dynamic_smem_bytes = static_cast<std::size_t>(*value);
  else if (is("launch__block_size", "Block Size"))
    launch.block_size = static_cast<int>(std::min(*value, 1e6));
  else if (is("launch__barrier_count", "# Barriers"))
    launch.barriers = static_cast<int>(std::min(*value, 1e6));
  else if (is("launch__cluster_size", "Cluster Size") && *value >= 1 && *value <= 16)
    launch.cluster_size = static_cast<int>(*value);
  else if (is("gpu__time_duration.sum", "Duration"))
    launch.time_us = *value;
}

std::vector<KernelUse> NcuCsv::kernels() const {
  Launches known;
  for (const auto& [id, launch] : launches_)
    if (launch.registers_per_thread) known.add(launch);
  return known.take();
}

std::string ncu_import(const std::string& report, bool with_parts) {
  const std::optional<std::string> ncu = find_program("ncu");
  if (!ncu)
    throw UserError(Exit::tool_missing,
                    report +
                        ": ncu reads it, and is not here; put it on PATH, or give the CSV that `ncu "
                        "--import FILE --csv --page raw` prints elsewhere");
  // Otherwise ncu reads options, and Python code of sections, from the working directory.
  std::vector<std::string> words = {*ncu,    "--config-file", "off", "--import",      report,
                                    "--csv", "--page",        "raw", "--print-units", "base"};
  if (with_parts) words.insert(words.end(), {"--print-metric-instances", "details"});
  const ChildOutput output = run_child(words);
  if (output.exit_code != 0)
    throw UserError(Exit::file, report + ": ncu cannot read it: " +
                                    output.out.substr(0, std::min(output.out.find('\n'), std::size_t{200})));
  return output.out;
}

}  // namespace occbench::binary
