// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/advice.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "benchmarks/commands/attach/options.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

namespace {

using Cells = std::map<std::string, std::string>;

/// Rows by the names of their columns.
std::vector<Cells> table_of(const std::filesystem::path& path) {
  std::istringstream in(read_file(path, cases_limit));
  std::vector<Cells> rows;
  const auto header = csv::read(in);
  while (const auto record = csv::read(in)) {
    if (!record->complete || record->fields.size() != header->fields.size()) fail(path, "is damaged");
    Cells& row = rows.emplace_back();
    for (std::size_t i = 0; i < record->fields.size(); ++i) row[header->fields[i]] = record->fields[i];
  }
  return rows;
}

/// Throws std::invalid_argument or std::out_of_range.
unsigned count_in(const Cells& row, const std::string& column) {
  return static_cast<unsigned>(std::stoul(row.at(column)));
}

attach::Advice kernel_of(const Cells& row) {
  attach::Advice advice{.symbol = row.at("symbol"), .arguments = row.at("arguments")};
  const char* const axes[] = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    advice.grid[i] = count_in(row, std::string("grid_") + axes[i]);
    advice.block[i] = count_in(row, std::string("block_") + axes[i]);
  }
  advice.dynamic_smem_bytes = count_in(row, "dynamic_smem_bytes");
  advice.sms = static_cast<int>(count_in(row, "sm_count"));
  return advice;
}

/// What cannot be read is found out by those who need it.
bool is_observed(const std::filesystem::path& folder) try {
  return nlohmann::json::parse(read_file(folder / "env.json", environment_limit)).value("observe", false);
} catch (const std::exception&) {
  return false;
}

}  // namespace

Advised advice_of(const std::vector<std::string>& words) {
  Advised advised;
  for (const std::string& word : words) {
    const std::size_t equal = word.rfind('=');
    if (equal == std::string::npos || equal == 0)
      throw std::invalid_argument("--apply '" + word + "': write best, or KERNEL=LEVEL such as softmax=1/2");
    const attach::Advice advice{.pattern = word.substr(0, equal),
                                .share = share_of(word.substr(equal + 1), "--apply")};
    check_pattern(advice.pattern, "--apply");
    if (advice.pattern.find_first_of("\t\n") != std::string::npos)
      throw std::invalid_argument("--apply: a pattern has no tabs or line feeds");
    if (advice.share <= 0 || advice.share >= 1)
      throw std::invalid_argument("--apply '" + word + "': the level lies between 0 and 1 of the warps");
    advised.levels.push_back(advice);
  }
  return advised;
}

Advised best_of(const std::filesystem::path& folder) {
  Advised advised;
  const std::string observed =
      folder.string() + ": only observed (--observe): no level was tried, so none is best";
  if (is_observed(folder)) throw UserError(Exit::file, observed);
  try {
    const std::vector<Cells> arms = table_of(folder / "arms.csv");
    const std::vector<Cells> kernels = table_of(folder / "kernels.csv");
    for (const Cells& row : kernels) {
      const bool is_faster =
          attach::finding_of(row.at("verdict")) == attach::Finding::faster_at_lower_occupancy;
      if (!is_faster && row.at("block_x") != "0" && !row.at("symbol").empty())
        advised.left.push_back(kernel_of(row));
      // A whole graph is none to apply: those of its kernels that are meant have rows of their own.
      // What is told apart by what ran before it cannot be applied by name.
      if (!is_faster || row.at("block_x") == "0" || !row.at("after").empty()) continue;
      attach::Advice advice = kernel_of(row);
      double fastest = std::numeric_limits<double>::infinity(), untouched = 0;
      for (const Cells& arm : arms) {
        if (arm.at("kernel_id") != row.at("kernel_id") || arm.at("time_median_s").empty()) continue;
        const double time = std::stod(arm.at("time_median_s"));
        if (arm.at("arm") == "untouched") untouched = time;
        if (arm.at("arm") != "lower" || time >= fastest) continue;
        fastest = time;
        advice.blocks_per_sm = static_cast<int>(count_in(arm, "blocks_per_sm"));
      }
      if (advice.blocks_per_sm < 1 || untouched <= 0) continue;
      const std::string& graph = row.at("graph_id");  // whose times those are
      const Cells& timed = graph.empty() ? row : kernels.at(std::stoul(graph));
      advised.expected += std::stod(timed.at("gpu_time_share")) * (1 - fastest / untouched);
      advised.levels.push_back(advice);
    }
  } catch (const std::logic_error&) {  // of numbers and columns
    fail(folder, "its tables are damaged, or of another version");
  }
  std::erase_if(advised.left, [&](const attach::Advice& other) {
    return std::ranges::none_of(advised.levels, [&](const attach::Advice& level) {
      return level.symbol == other.symbol && (level.arguments != other.arguments || level.sms != other.sms);
    });
  });
  if (advised.levels.empty()) fail(folder, "no kernel is faster with fewer warps: there is nothing to apply");
  return advised;
}

std::vector<std::string> program_of(const std::filesystem::path& folder) try {
  const auto env = nlohmann::json::parse(read_file(folder / "env.json", environment_limit));
  if (env.at("kind") != "attach") fail(folder, "is no folder of `occbench attach`");
  return env.at("program").get<std::vector<std::string>>();
} catch (const nlohmann::json::exception&) {
  fail(folder, "is no folder of `occbench attach`");
}

std::filesystem::path last_folder(const std::vector<std::string>& program) {
  const std::filesystem::path base = default_folder(program);
  std::filesystem::path last;
  std::error_code error;
  for (int n = 1;; ++n) {
    const std::filesystem::path path = base.string() + (n == 1 ? "" : '-' + std::to_string(n));
    if (!std::filesystem::exists(path, error)) break;
    if (std::filesystem::exists(path / "kernels.csv", error)) last = path;
  }
  if (last.empty())
    throw UserError(Exit::file, base.string() + ": there is no such folder yet: run `occbench attach -- " +
                                    program[0] + " ...` first, or name one with --from");
  return last;
}

}  // namespace occbench::commands
