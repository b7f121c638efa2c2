// SPDX-License-Identifier: Apache-2.0
#include "harness/whatif/profile.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/binary/ncu_table.hpp"
#include "harness/io/join.hpp"

namespace occbench::whatif {
namespace {

constexpr auto metric_names = std::to_array<std::string_view>({
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.avg.per_second",
    "smsp__inst_executed.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "sass__inst_executed_per_opcode",
    "inst_executed",
    "launch__registers_per_thread",
    "launch__block_size",
    "launch__grid_size",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_config_size",
    "launch__cluster_size",
    "launch__barrier_count",
    "device__attribute_display_name",
});

/// Factor from ncu's `unit` to bytes, seconds or hertz.
double scale(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double size;
  };
  static constexpr Unit units[] = {{"ns", 1e-9},           {"nsecond", 1e-9},      {"us", 1e-6},
                                   {"usecond", 1e-6},      {"ms", 1e-3},           {"msecond", 1e-3},
                                   {"Kbyte", 1e3},         {"Mbyte", 1e6},         {"Gbyte", 1e9},
                                   {"Tbyte", 1e12},        {"Khz", 1e3},           {"Mhz", 1e6},
                                   {"Ghz", 1e9},           {"cycle/nsecond", 1e9}, {"cycle/ns", 1e9},
                                   {"cycle/usecond", 1e6}, {"cycle/us", 1e6},      {"Kbyte/block", 1e3}};
  const auto* const found = std::ranges::find(units, unit, &Unit::name);
  return found == std::end(units) ? 1 : found->size;
}

/// Reads and removes "1,234.5" at the front of `text`.
std::optional<double> number(std::string_view& text) {
  std::string digits;
  std::size_t length = 0;
  for (; length < text.size() && text[length] != ' ' && text[length] != ';' && text[length] != ')'; ++length)
    if (text[length] != ',') digits += text[length];
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

/// "(FFMA: 12; LDG: 3)"
std::vector<std::pair<std::string, double>> parts_of(std::string_view text, double size) {
  std::vector<std::pair<std::string, double>> parts;
  const auto begin = text.find('(');
  if (begin == std::string_view::npos) return parts;
  text.remove_prefix(begin + 1);
  while (!text.empty()) {
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) break;
    std::string name(text.substr(0, colon));
    text.remove_prefix(colon + 2);
    const auto value = number(text);
    if (!value) break;
    parts.emplace_back(std::move(name), *value * size);
    text.remove_prefix(std::min(text.find_first_not_of("; "), text.size()));
  }
  return parts;
}

}  // namespace

std::optional<double> Profile::find(std::string_view metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

double Profile::need(std::string_view metric) const {
  if (const auto value = find(metric)) return *value;
  throw UnsupportedProfile("the report lacks " + std::string(metric) +
                           "; `occbench whatif --print-ncu-command` has it");
}

double Profile::count_executions(std::string_view opcode) const {
  double sum = 0;
  if (const auto found = parts.find("sass__inst_executed_per_opcode"); found != parts.end())
    for (const auto& [name, count] : found->second)
      if (name.starts_with(opcode)) sum += count;
  return sum;
}

std::vector<Profile> read_profiles(const std::string& text) {
  std::vector<Profile> profiles;
  binary::NcuTable table;
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    at = end + 1;
    if (!table.read(line)) continue;
    if (const std::string id = table.id(); profiles.empty() || id != last) {
      profiles.push_back({.kernel = table.cell("Kernel Name"),
                          .cc = table.cell("CC"),
                          .metrics = {},
                          .parts = {},
                          .names = {}});
      last = id;
    }
    Profile& profile = profiles.back();
    table.each_metric([&](const std::string& name, const std::string& cell, const std::string& unit) {
      if (name.find("__") == std::string::npos && name != "inst_executed") return;
      std::string_view rest = cell;
      const double size = scale(unit);
      const auto value = number(rest);
      if (!value) {
        profile.names[name] = cell;
        return;
      }
      profile.metrics[name] = *value * size;
      if (auto parts = parts_of(rest, size); !parts.empty()) profile.parts[name] = std::move(parts);
    });
  }
  return profiles;
}

std::span<const std::string_view> metrics() { return metric_names; }

std::string ncu_command() {
  return "ncu --clock-control none --print-kernel-base mangled --print-metric-instances details --csv "
         "--page raw --print-units base --metrics " +
         join(metric_names, ",") + " --log-file report.csv -k NAME -c 1 APP";
}

}  // namespace occbench::whatif
