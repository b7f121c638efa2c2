// SPDX-License-Identifier: Apache-2.0
#include "harness/record/environment.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "harness/device/machine_code.hpp"
#include "harness/device/parameters.hpp"
#include "harness/measure/timing.hpp"
#include "harness/record/build.hpp"
#include "harness/record/record.hpp"

namespace occbench {

namespace {

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// null for 0: unknown.
template <class Number>
nlohmann::json null_if_zero(Number value) {
  return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json gpu(const Device& d) {
  return {{"name", d.name},
          {"uuid", d.uuid},
          {"compute_capability", d.compute_capability()},
          {"sm_count", d.sm.sm_count},
          {"warp_size", d.sm.warp_size},
          {"max_threads_per_block", d.sm.max_threads_per_block},
          {"max_threads_per_sm", d.sm.max_threads_per_sm},
          {"max_blocks_per_sm", d.sm.max_blocks_per_sm},
          {"registers_per_block", d.sm.registers_per_block},
          {"registers_per_sm", d.sm.registers_per_sm},
          {"smem_per_block_bytes", d.sm.smem_per_block_bytes},
          {"smem_per_block_optin_bytes", d.sm.smem_per_block_optin_bytes},
          {"smem_per_sm_bytes", d.sm.smem_per_sm_bytes},
          {"smem_reserved_per_block_bytes", d.sm.smem_reserved_per_block_bytes},
          {"fp32_lanes_per_sm", d.fp32_lanes_per_sm},
          {"fp64_lanes_per_sm", d.fp64_lanes_per_sm},
          {"sm_clock_max_hz", d.sm_clock_max_hz},
          {"memory_clock_hz", null_if_zero(d.memory_clock_hz)},
          {"memory_bus_bits", null_if_zero(d.memory_bus_bits)},
          {"dram_bytes_per_s_theoretical", d.dram_bytes_per_s},
          {"memory_bytes", d.memory_bytes},
          {"l2_bytes", d.l2_bytes},
          {"ecc", d.is_model ? nlohmann::json(nullptr) : nlohmann::json(d.ecc)},
          {"mig", or_null(d.nvml.mig)},
          {"power_limit_w", or_null(d.nvml.power_limit_w)},
          {"throttle_reasons", or_null(d.nvml.throttle_reasons)},
          {"driver_version",
           d.nvml.driver_version.empty() ? nlohmann::json(nullptr) : nlohmann::json(d.nvml.driver_version)},
          {"cuda_driver_version",
           d.is_model ? nlohmann::json(nullptr) : nlohmann::json(cuda_version(d.driver_version))}};
}

nlohmann::json method(const Runner& runner) {
  const Precision& p = runner.precision();
  nlohmann::json all{{"launch_target_s", p.launch_s},
                     {"input_bytes", runner.arena().input_bytes()},
                     {"output_bytes", runner.arena().output_bytes()}};
  const std::optional<References> references = runner.references();
  if (!references) return all;  // a model, which measures nothing
  all.update({{"ci95_half_width_target", p.half_width},
              {"samples_per_round", p.samples_per_round},
              {"min_rounds", p.min_rounds},
              {"max_rounds", p.max_rounds},
              {"clock_tolerance", p.clock_tolerance},
              {"delay_s", static_cast<double>(Timer::delay_ns) * 1e-9},
              {"sm_clock_hz", references->sm_clock_hz},
              {"empty_launch_s", references->empty_launch_s},
              {"timer_step_s", references->timer_step_s},
              {"memcpy_bytes_per_s", references->memcpy_bytes_per_s}});
  return all;
}

/// The architectures of the described machine code, and the variants whose loops have unknown opcodes.
nlohmann::json predicted_from(int cc) {
  nlohmann::json used = nlohmann::json::array();
  for (const int each : described_ccs(cc)) used.push_back(architecture(each));
  nlohmann::json guessed = nlohmann::json::array();
  for (const Variant& v : variants()) {
    const theory::Program* const program = runs_on(v, cc) ? machine_code(v, cc) : nullptr;
    if (program != nullptr && !program->guessed.empty())
      guessed.push_back({{"variant", v.family + "." + v.name},
                         {"opcodes", program->guessed},
                         {"share", program->guessed_share()}});
  }
  return {{"architecture", architecture(cc)}, {"described", used}, {"guessed", guessed}};
}

constexpr std::string_view anonymous_prefix = "anonymous-";

}  // namespace

std::string utc_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &utc)};
}

nlohmann::json environment(const Runner& runner, const RunDescription& run) {
  std::array<char, 256> host{};
  static_cast<void>(gethostname(host.data(), host.size() - 1));
  const nlohmann::json assumed =
      run.parameters.is_null() ? nlohmann::json::array() : list_assumptions(run.parameters["content"]);
  nlohmann::json env{{"schema_version", schema_version},
                     {"created_utc", utc_now()},
                     {"occbench_version", build_info.version},
                     {"git_commit", build_info.commit},
                     {"git_dirty", build_info.dirty},
                     {"build_type", build_info.build_type},
                     {"cuda_toolkit", build_info.cuda_toolkit},
                     {"compiler", build_info.compiler},
                     {"compiler_flags", build_info.compiler_flags},
                     {"cuda_architectures", build_info.cuda_architectures},
                     {"google_benchmark_version", run.google_benchmark_version},
                     {"anonymous", run.anonymous},
                     {"command_line", run.command_line},
                     {"host", host.data()},
                     {"preset", run.preset},
                     {"experiments", run.experiments},
                     {"seed", run.seed},
                     {"benchmark_filter", run.benchmark_filter},
                     {"counters", run.counters},
                     {"source", runner.device().is_model ? "model" : "measured"},
                     {"gpu", gpu(runner.device())},
                     {"machine_code", predicted_from(runner.device().cc())},
                     {"parameters", run.parameters},
                     {"bands", run.bands},
                     {"assumed", assumed},
                     {"method", method(runner)},
                     {"disturbance", nlohmann::json::array()}};
  if (run.anonymous) make_anonymous(env);
  return env;
}

void make_anonymous(nlohmann::json& env) {
  env["host"] = nullptr;
  env["command_line"] = "occbench run --anonymous";
  for (const char* field : {"compiler", "compiler_flags"}) env[field] = without_paths(env[field]);
  if (env["source"] == "measured") env["gpu"]["uuid"] = anonymous_uuid(env["gpu"]["uuid"].get<std::string>());
  if (nlohmann::json& parameters = env["parameters"]; !parameters.is_null()) {
    parameters["file"] = std::filesystem::path(parameters["file"].get<std::string>()).filename().string();
    nlohmann::json& content = parameters["content"];
    if (const std::string uuid = content.value("uuid", ""); !uuid.empty())
      content["uuid"] = anonymous_uuid(uuid);
  }
}

nlohmann::json to_json(const Disturbance& d, bool anonymous) {
  return {{"launches", d.launches},
          {"discarded", d.discarded},
          {"probes", d.probes},
          {"disturbed_probes", d.disturbed_probes},
          {"message", anonymous ? "" : d.summary}};
}

std::string without_paths(const std::string& text) {
  std::istringstream words(text);
  std::string kept;
  for (std::string word; words >> word;)
    if (word.find('/') == std::string::npos) kept += (kept.empty() ? "" : " ") + word;
  return kept;
}

std::string anonymous_uuid(std::string_view uuid) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of 64 bits
  for (const char c : uuid) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::ostringstream name;
  name << anonymous_prefix << std::hex << std::setw(16) << std::setfill('0') << hash;
  return name.str();
}

bool is_uuid_of(std::string_view in_env, const Device& device) {
  return in_env == (in_env.starts_with(anonymous_prefix) ? anonymous_uuid(device.uuid) : device.uuid);
}

std::string build_commit() { return std::string(build_info.commit) + (build_info.dirty ? "-dirty" : ""); }

std::string cuda_toolkit() { return build_info.cuda_toolkit; }

std::string cuda_architectures() {
  // As CMake lists them: 80-real;90-real;120, where a bare number is machine code and PTX, and -virtual only
  // PTX.
  std::istringstream list(build_info.cuda_architectures);
  std::string all;
  for (std::string each; std::getline(list, each, ';');) {
    const std::string number = each.substr(0, each.find('-'));
    if (!each.ends_with("-virtual")) all += (all.empty() ? "sm_" : ", sm_") + number;
    if (!each.ends_with("-real")) all += (all.empty() ? "PTX of " : ", PTX of ") + number;
  }
  return all;
}

std::string build_version() { return build_info.version; }

bool is_debug_build() {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

std::string default_run_folder(const Device& device) {
  std::string slug;
  for (const char c : device.is_model ? device.uuid : device.name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0)
      slug += static_cast<char>(std::tolower(u));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  return slug + "/" + utc_now("%Y-%m-%d") + "-" + build_commit();
}

}  // namespace occbench
