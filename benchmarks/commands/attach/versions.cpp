// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>

#include "benchmarks/commands/attach/columns.hpp"
#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/program.hpp"
#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/binaries.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

std::string change_text(const std::optional<Change>& change) {
  if (!change) return "too few launches";
  return text("%+.1f %% ±%.1f", 100 * change->value, 50 * (change->high - change->low));
}

struct VersionRow {
  std::size_t kernel_id;
  const CapResult& cap;
};

std::string change_cell(const VersionRow& r, double Change::*value) {
  return r.cap.change ? shortest(*r.cap.change.*value) : "";
}

constexpr CsvColumn<VersionRow> version_columns[] = {
    {"kernel_id", [](const VersionRow& r) { return std::to_string(r.kernel_id); }},
    {"register_cap", [](const VersionRow& r) { return std::to_string(r.cap.cap); }},
    {"registers_per_thread", [](const VersionRow& r) { return std::to_string(r.cap.registers); }},
    {"local_bytes", [](const VersionRow& r) { return std::to_string(r.cap.local_bytes); }},
    {"blocks_per_sm", [](const VersionRow& r) { return std::to_string(r.cap.blocks_per_sm); }},
    {"samples", [](const VersionRow& r) { return std::to_string(r.cap.samples); }},
    {"time_median_s",
     [](const VersionRow& r) { return r.cap.samples == 0 ? "" : shortest(r.cap.median_us * 1e-6); }},
    {"change", [](const VersionRow& r) { return change_cell(r, &Change::value); }},
    {"change_low", [](const VersionRow& r) { return change_cell(r, &Change::low); }},
    {"change_high", [](const VersionRow& r) { return change_cell(r, &Change::high); }},
};

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
  constexpr int room = static_cast<int>(max_levels);
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

void print_versions(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts,
                    bool warns) {
  constexpr std::size_t name_room = 32;
  std::vector<csv::Row> table = {{"kernel", "grid", "cap", "registers", "local B", "blocks/SM", "time"}};
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    if (verdicts[i].caps.empty()) continue;
    const std::string name = short_name_of(k.name, name_room);
    const double now = k.uncapped_us.empty() ? k.mean_us() : statistics::median(k.uncapped_us);
    table.push_back({name, std::to_string(k.blocks()), "as it is",
                     std::to_string(k.footprint.registers_per_thread), std::to_string(k.local_bytes),
                     std::to_string(k.blocks_per_sm), time_of(now)});
    for (const CapResult& cap : verdicts[i].caps)
      table.push_back({"", "", std::to_string(cap.cap), std::to_string(cap.registers),
                       std::to_string(cap.local_bytes), std::to_string(cap.blocks_per_sm),
                       change_text(cap.change)});
    if (const CapResult* const best = fastest_cap(verdicts[i]))
      sentences.push_back(name + ": fastest with at most " + std::to_string(best->cap) + " registers, " +
                          change_text(best->change) + ".");
    else
      sentences.push_back(name + ": no cap is faster than the kernel as it is.");
  }
  if (sentences.empty()) {
    print_wrapped(
        out, "No kernel has PTX that a cap changes. Compile with -gencode arch=compute_XX,code=compute_XX.");
    return;
  }
  print_aligned(out, table);
  out << '\n';
  for (const std::string& sentence : sentences) print_wrapped(out, sentence);
  if (warns)
    print_wrapped(out,
                  "A cap leaves results as they are, but for how the compiler joins multiply and add: see "
                  "--check-output.");
}

std::string registers_csv(const std::vector<Verdict>& verdicts) {
  constexpr std::span<const CsvColumn<VersionRow>> columns = version_columns;
  std::string rows;
  for (std::size_t i = 0; i < verdicts.size(); ++i)
    for (const CapResult& cap : verdicts[i].caps) rows += csv_line(columns, {i, cap});
  return rows.empty() ? rows : csv_header(columns) + rows;
}

}  // namespace occbench::commands
