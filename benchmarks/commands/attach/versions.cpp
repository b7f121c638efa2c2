// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/versions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>

#include "benchmarks/commands/attach/columns.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/binary/binaries.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr std::size_t least = 6;  // samples of an interval of 95 %

/// Of one version against the kernel as it is; nullopt where too few launches are known.
std::optional<Change> change_of(const Kernel& k, const CappedVersion& v) {
  if (k.as_it_is_us.size() < least || v.times_us.size() < least) return std::nullopt;
  const auto before = statistics::median_interval(k.as_it_is_us),
             now = statistics::median_interval(v.times_us);
  const double ratio = now.median / before.median;
  const double error = std::hypot(before.relative_half_width(), now.relative_half_width());
  return Change{.value = ratio - 1, .low = ratio * (1 - error) - 1, .high = ratio * (1 + error) - 1};
}

std::string change_text(const std::optional<Change>& change) {
  if (!change) return "too few launches";
  return text("%+.1f %% ±%.1f", 100 * change->value, 50 * (change->high - change->low));
}

struct VersionRow {
  std::size_t kernel_id;
  const CappedVersion& v;
  std::optional<Change> change;
};

std::string change_cell(const VersionRow& r, double Change::*value) {
  return r.change ? shortest(*r.change.*value) : "";
}

constexpr CsvColumn<VersionRow> version_columns[] = {
    {"kernel_id", [](const VersionRow& r) { return std::to_string(r.kernel_id); }},
    {"register_cap", [](const VersionRow& r) { return std::to_string(r.v.cap); }},
    {"registers_per_thread", [](const VersionRow& r) { return std::to_string(r.v.registers); }},
    {"local_bytes", [](const VersionRow& r) { return std::to_string(r.v.local_bytes); }},
    {"blocks_per_sm", [](const VersionRow& r) { return std::to_string(r.v.blocks_per_sm); }},
    {"samples", [](const VersionRow& r) { return std::to_string(r.v.times_us.size()); }},
    {"time_median_s",
     [](const VersionRow& r) {
       return r.v.times_us.empty() ? "" : shortest(statistics::median(r.v.times_us) * 1e-6);
     }},
    {"change", [](const VersionRow& r) { return change_cell(r, &Change::value); }},
    {"change_low", [](const VersionRow& r) { return change_cell(r, &Change::low); }},
    {"change_high", [](const VersionRow& r) { return change_cell(r, &Change::high); }},
};

std::string launch_time(double us) { return us < 1e3 ? text("%.1f us", us) : text("%.2f ms", us * 1e-3); }

/// The fastest whose whole interval is below no change; null where none is.
const CappedVersion* best_of(const Kernel& k) {
  const CappedVersion* best = nullptr;
  double least_change = -no_change;
  for (const auto& [arm, v] : k.versions) {
    const auto change = change_of(k, v);
    if (!change || change->high >= 0 || change->value >= least_change) continue;
    least_change = change->value;
    best = &v;
  }
  return best;
}

}  // namespace

std::string caps_of(const std::string& words) {
  constexpr std::int64_t fewest = 16, most = 255;
  std::string caps;
  int count = 0;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(',', at), words.size());
    const std::int64_t cap = parse_size(words.substr(at, end - at), "--registers", fewest, most);
    caps += (caps.empty() ? "" : ",") + std::to_string(cap);
    at = end + 1;
    ++count;
  }
  constexpr int room = most_arms - first_level;
  if (count > room) throw std::invalid_argument("--registers: at most " + std::to_string(room));
  return caps;
}

void write_ptx(const std::string& program, const std::filesystem::path& folder) {
  int n = 0;
  for (const std::string& ptx : binary::ptx_of(path_of_program(program)))
    replace_file(folder / (std::to_string(n++) + ptx_ending), ptx);
}

bool has_versions(const Collected& all) {
  return std::ranges::any_of(all.kernels, [](const Kernel& k) { return !k.versions.empty(); });
}

void print_versions(std::ostream& out, const Collected& all, bool warns) {
  constexpr std::size_t name_room = 32;
  std::vector<csv::Row> table = {{"kernel", "grid", "cap", "registers", "local B", "blocks/SM", "time"}};
  std::vector<std::string> sentences;
  for (const Kernel& k : all.kernels) {
    if (k.versions.empty()) continue;
    const std::string name = printable(binary::short_name(k.name, name_room));
    const double now = k.as_it_is_us.empty() ? k.mean_us() : statistics::median(k.as_it_is_us);
    table.push_back({name, std::to_string(k.blocks()), "as it is",
                     std::to_string(k.footprint.registers_per_thread), std::to_string(k.local_bytes),
                     std::to_string(k.blocks_per_sm), launch_time(now)});
    for (const auto& [arm, v] : k.versions)
      table.push_back({"", "", std::to_string(v.cap), std::to_string(v.registers),
                       std::to_string(v.local_bytes), std::to_string(v.blocks_per_sm),
                       change_text(change_of(k, v))});
    if (const CappedVersion* const best = best_of(k))
      sentences.push_back(name + ": fastest with at most " + std::to_string(best->cap) + " registers, " +
                          change_text(change_of(k, *best)) + ".");
    else
      sentences.push_back(name + ": no cap is faster than the kernel as it is.");
  }
  if (sentences.empty()) {
    print_wrapped(
        out, "No kernel has PTX that a cap changes. Compile with -gencode arch=compute_XX,code=compute_XX.");
    return;
  }
  out << '\n';
  print_aligned(out, table);
  out << '\n';
  for (const std::string& sentence : sentences) print_wrapped(out, sentence);
  if (warns)
    print_wrapped(out,
                  "A cap leaves results as they are, but for how the compiler joins multiply and add: see "
                  "--check-output.");
}

std::string registers_csv(const Collected& all) {
  constexpr std::span<const CsvColumn<VersionRow>> columns = version_columns;
  std::string rows;
  for (std::size_t i = 0; i < all.kernels.size(); ++i)
    for (const auto& [arm, v] : all.kernels[i].versions)
      rows += csv_line(columns, {i, v, change_of(all.kernels[i], v)});
  return rows.empty() ? rows : csv_header(columns) + rows;
}

}  // namespace occbench::commands
