// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "benchmarks/commands/attach/folder.hpp"
#include "benchmarks/commands/attach/options.hpp"
#include "benchmarks/commands/attach/parts.hpp"
#include "harness/attach/analysis/verdict.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/record/record.hpp"

namespace occbench::commands {

namespace {

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

/// False where the file cannot be read: who needs it says so.
bool is_observed(const std::filesystem::path& folder) try {
  return Recorder::environment_of(folder).value("observe", false);
} catch (const std::exception&) {
  return false;
}

}  // namespace

LevelPlan advice_of(const std::vector<std::string>& levels) {
  LevelPlan plan;
  for (const std::string& level : levels) {
    const std::size_t equal = level.rfind('=');
    if (equal == std::string::npos || equal == 0)
      throw std::invalid_argument("--apply '" + level + "': write best, or KERNEL=LEVEL such as softmax=1/2");
    const attach::Advice advice{.pattern = level.substr(0, equal),
                                .share = share_of(level.substr(equal + 1), "--apply")};
    check_pattern(advice.pattern, "--apply");
    if (advice.pattern.find_first_of("\t\n") != std::string::npos)
      throw std::invalid_argument("--apply: a pattern has no tabs or line feeds");
    if (advice.share <= 0 || advice.share >= 1)
      throw std::invalid_argument("--apply '" + level + "': the level lies between 0 and 1 of the warps");
    plan.levels.push_back(advice);
  }
  return plan;
}

namespace {

/// The fastest level that an arm of the kernel shows, and its gain of the kernel's time; nullopt: there is
/// none.
std::optional<std::pair<int, double>> fastest_level(const std::vector<Cells>& arms, const Cells& kernel) {
  double fastest = std::numeric_limits<double>::infinity(), untouched = 0;
  int blocks_per_sm = 0;
  for (const Cells& arm : arms) {
    if (arm.at("kernel_id") != kernel.at("kernel_id") || arm.at("time_median_s").empty()) continue;
    const double time = std::stod(arm.at("time_median_s"));
    if (arm.at("arm") == "untouched") untouched = time;
    if (arm.at("arm") != "lower" || time >= fastest) continue;
    fastest = time;
    blocks_per_sm = static_cast<int>(count_in(arm, "blocks_per_sm"));
  }
  if (blocks_per_sm < 1 || untouched <= 0) return std::nullopt;
  return std::pair(blocks_per_sm, 1 - fastest / untouched);
}

/// Throws std::logic_error where the tables are damaged.
LevelPlan best_of(const std::vector<Cells>& kernels, const std::vector<Cells>& arms) {
  LevelPlan plan;
  for (const Cells& row : kernels) {
    const bool is_faster =
        attach::parse_finding(row.at("verdict")) == attach::Finding::faster_at_lower_occupancy;
    const bool is_whole_graph = row.at("block_x") == "0";  // whose kernels have rows of their own
    if (!is_faster && !is_whole_graph && !row.at("symbol").empty()) plan.unchanged.push_back(kernel_of(row));
    // Launches split by what ran before them have no name to apply a level by.
    if (!is_faster || is_whole_graph || !row.at("after").empty()) continue;
    const auto level = fastest_level(arms, row);
    if (!level) continue;
    attach::Advice advice = kernel_of(row);
    advice.blocks_per_sm = level->first;
    const std::string& graph = row.at("graph_id");  // whose times those are
    const Cells& timed = graph.empty() ? row : kernels.at(std::stoul(graph));
    plan.expected += std::stod(timed.at("gpu_time_share")) * level->second;
    plan.levels.push_back(advice);
  }
  std::erase_if(plan.unchanged, [&](const attach::Advice& other) {
    return std::ranges::none_of(plan.levels, [&](const attach::Advice& level) {
      return level.symbol == other.symbol && (level.arguments != other.arguments || level.sms != other.sms);
    });
  });
  return plan;
}

}  // namespace

LevelPlan best_of(const std::filesystem::path& folder) try {
  if (is_observed(folder))
    throw UserError(Exit::file,
                    folder.string() + ": only observed (--observe): no level was tried, so none is best");
  const std::vector<Cells> arms = table_of(folder / "arms.csv", LastRow::whole);
  LevelPlan plan = best_of(table_of(folder / "kernels.csv", LastRow::whole), arms);
  if (plan.levels.empty()) fail(folder, "no kernel is faster with fewer warps: there is nothing to apply");
  return plan;
} catch (const std::logic_error&) {  // of numbers and columns
  fail(folder, "its tables are damaged, or of another version");
}

std::vector<std::string> program_of(const std::filesystem::path& folder) try {
  const auto env = Recorder::environment_of(folder);
  if (env.at("kind") != "attach") fail(folder, "is not a folder of `occbench attach`");
  return env.at("program").get<std::vector<std::string>>();
} catch (const nlohmann::json::exception&) {
  fail(folder, "is not a folder of `occbench attach`");
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
