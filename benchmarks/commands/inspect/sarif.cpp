// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>

#include "benchmarks/commands/inspect/diff.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/columns.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/record/environment.hpp"

namespace occbench::commands {
namespace {

/// What a rule finds in a kernel; nullopt if it does not.
using Message = std::optional<std::string> (*)(const KernelPair& kernel);

struct Rule {
  const char* id;
  const char* meaning;
  const char* level;  ///< SARIF's: "error", "warning" or "note"
  Message message;
  bool is_at_spills = false;  ///< and not where the kernel begins
};

std::size_t spill_bytes(const InspectedKernel* row) {
  return row == nullptr ? 0 : row->kernel->use.spill_bytes.value_or(0);
}

std::string registers_of(const InspectedKernel& row) {
  return count_of(static_cast<std::size_t>(row.kernel->use.registers_per_thread.value_or(0)), "register");
}

std::optional<std::string> spills(const KernelPair& c) {
  if (spill_bytes(c.after) <= spill_bytes(c.before)) return std::nullopt;
  const std::string before =
      c.before == nullptr ? "" : ", " + with_thousands(spill_bytes(c.before)) + " B before";
  return "spills " + with_thousands(spill_bytes(c.after)) + " B with " + registers_of(*c.after) + before;
}

std::optional<std::string> lost_occupancy(const KernelPair& c) {
  if (c.before == nullptr || !c.before->answer.launches() || !c.after->answer.launches()) return std::nullopt;
  const double before = c.before->answer.occupancy.fraction, after = c.after->answer.occupancy.fraction;
  if (after >= before) return std::nullopt;
  return "occupancy " + percent(before) + " -> " + percent(after) + " with " + registers_of(*c.after) + ", " +
         registers_of(*c.before) + " before; limited by " +
         theory::to_string(c.after->answer.occupancy.limiters);
}

/// A finding of `inspect`, if the earlier build has not got it.
template <Finding finding>
bool is_new(const KernelPair& c) {
  const auto has = [](const InspectedKernel* row) {
    return row != nullptr && (row->findings & static_cast<unsigned>(finding)) != 0;
  };
  return has(c.after) && !has(c.before);
}

std::optional<std::string> register_cliff(const KernelPair& c) {
  if (!is_new<Finding::register_cliff>(c) || !c.after->gains) return std::nullopt;
  return registers_of(*c.after) + ", occupancy " + percent(c.after->answer.occupancy.fraction) + "; with " +
         c.after->gains->change + " " + percent(c.after->gains->occupancy);
}

/// A finding that the kernel's status describes.
template <Finding finding>
std::optional<std::string> status(const KernelPair& c) {
  if (!is_new<finding>(c)) return std::nullopt;
  const std::string& text = c.after->answer.status;
  return text.starts_with("ok; ") ? text.substr(4) : text;
}

std::optional<std::string> requests_ignored(const KernelPair& c) {
  if (!is_new<Finding::requests_ignored>(c)) return std::nullopt;
  return "ptxas ignored its setmaxnreg, as it does without __launch_bounds__";
}

constexpr Rule rules[] = {
    {"occupancy_lost", "lost occupancy against the earlier build", "warning", lost_occupancy},
    {"spills", "spills registers", "warning", spills, true},
    {"register_cliff", "one register over a cliff", "note", register_cliff},
    {"bound_not_met", "__launch_bounds__ asks for more blocks per SM than fit", "warning",
     status<Finding::bound_not_met>},
    {"requests_not_met", "setmaxnreg asks for registers that its block never has", "error",
     status<Finding::requests_not_met>},
    {"requests_ignored", "ptxas ignored its setmaxnreg", "warning", requests_ignored},
};
constexpr Rule failed_rule = {"fail_on", "meets the condition of --fail-on", "error", nullptr};

/// Relative to the working folder where it lies below, as code review wants it.
std::string uri_of(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  const std::filesystem::path here = path.lexically_relative(std::filesystem::current_path());
  const bool is_below = !here.empty() && *here.begin() != "..";
  const std::string text = is_below || path.is_relative() ? (is_below ? here : path).string() : path.string();
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+";
  std::string uri = text.starts_with('/') ? "file://" : "";
  for (const char c : text) {
    constexpr const char* digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) != std::string_view::npos)
      uri += c;
    else
      uri += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return uri;
}

Json location_of(const binary::CompiledKernel& kernel, bool is_at_spills) {
  const auto& line = is_at_spills && kernel.spill_line ? kernel.spill_line : kernel.first_line;
  Json place = {{"artifactLocation", {{"uri", uri_of(line ? line->file : kernel.file)}}}};
  if (line) place["region"] = {{"startLine", line->line}};
  const Json name = {{"fullyQualifiedName", binary::demangle(kernel.use.name)},
                     {"decoratedName", kernel.use.name},
                     {"kind", "function"}};
  return {{"physicalLocation", place}, {"logicalLocations", Json::array({name})}};
}

Json result_of(const Rule& rule, const binary::CompiledKernel& kernel, const std::string& message) {
  const std::string text = table_name(kernel) + " (" + kernel.architecture + "): " + message;
  return {
      {"ruleId", rule.id},
      {"level", rule.level},
      {"message", {{"text", text}}},
      {"locations", Json::array({location_of(kernel, rule.is_at_spills)})},
      {"partialFingerprints", {{"kernel/v1", kernel.use.name + ' ' + kernel.architecture + ' ' + rule.id}}}};
}

Json rules_json() {
  Json array = Json::array();
  const auto add = [&](const Rule& rule) {
    array.push_back({{"id", rule.id},
                     {"shortDescription", {{"text", rule.meaning}}},
                     {"defaultConfiguration", {{"level", rule.level}}}});
  };
  for (const Rule& rule : rules) add(rule);
  add(failed_rule);
  return array;
}

}  // namespace

void print_sarif(std::ostream& out, std::span<const KernelPair> kernels, const std::string& condition,
                 const std::set<const binary::CompiledKernel*>& failing,
                 std::span<const std::string> errors) {
  Json results = Json::array(), notifications = Json::array();
  for (const KernelPair& c : kernels) {
    if (c.after == nullptr) continue;
    for (const Rule& rule : rules)
      if (const auto message = rule.message(c))
        results.push_back(result_of(rule, *c.after->kernel, *message));
    if (failing.contains(c.after->kernel))
      results.push_back(result_of(failed_rule, *c.after->kernel, "--fail-on '" + condition + "' is true"));
  }
  for (const std::string& error : errors)
    notifications.push_back({{"level", "error"}, {"message", {{"text", error}}}});
  const Json driver = {{"name", "occbench"}, {"version", build_version()}, {"rules", rules_json()}};
  const Json run = {{"tool", {{"driver", driver}}},
                    {"invocations", Json::array({{{"executionSuccessful", errors.empty()},
                                                  {"toolExecutionNotifications", notifications}}})},
                    {"results", results}};
  const Json log = {
      {"$schema",
       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({run})}};
  out << log.dump(1, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace occbench::commands
