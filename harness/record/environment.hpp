// SPDX-License-Identifier: Apache-2.0
// Where and how a run was made: everything that two result folders must agree on to be compared.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/measure/runner.hpp"

namespace occbench {

/// What the command line adds to the facts of machine and build.
struct RunDescription {
  std::string command_line;
  std::string preset;
  nlohmann::json experiments = nlohmann::json::object();  ///< by name, what readers need of each
  std::uint64_t seed = 0;
  std::string benchmark_filter;
  std::vector<std::string> counters;  ///< groups asked for
  std::string google_benchmark_version;
  nlohmann::json parameters = nullptr;  ///< of the predictions; null: none
  bool bands = false;                   ///< predictions have one
  bool anonymous = false;               ///< without host, paths and the card's UUID
};

/// env.json of a run (results/schema.json describes it).
nlohmann::json environment(const Runner& runner, const RunDescription& run);

/// Removes what identifies the machine. Other fields hold what the command line asked for.
void make_anonymous(nlohmann::json& env);

/// An entry of env.json's `disturbance`, without process names in an anonymous run.
nlohmann::json to_json(const Disturbance& disturbance, bool anonymous);

/// The time now, as strftime() formats it.
std::string utc_now(const char* format = "%Y-%m-%dT%H:%M:%SZ");

/// The name of a card in an anonymous run: "anonymous-" and the 64-bit FNV-1a of its UUID, in 16 hexadecimal
/// digits. It is the same in all runs of a card. The UUID's 122 bits cannot be read back from 64, however
/// weak the hash. It does not hide a card from those who know its UUID: they can hash it, too.
std::string anonymous_uuid(std::string_view uuid);

/// A compiler's flags, without those that name a path.
std::string without_paths(const std::string& text);

/// Whether a UUID in env.json is `device`'s, or its anonymous form.
bool is_uuid_of(std::string_view in_env, const Device& device);

/// This build's commit, "abc123def456" or "unknown"; with "-dirty" when the tree differed from it.
std::string build_commit();

/// "0.1.0"
std::string build_version();

/// "13.0.88": the CUDA toolkit that built this program.
std::string cuda_toolkit();

/// "sm_80, sm_90": the GPU architectures whose machine code this program holds; "PTX of 120" where it is
/// compiled at start.
std::string cuda_architectures();

/// True for a build whose host code is not optimised: its times mean nothing.
bool is_debug_build();

/// "nvidia-h200/2026-11-21-abc123def456": where a run of this build on this device belongs under results/; a
/// model's begins with "model-h200/".
std::string default_run_folder(const Device& device);

}  // namespace occbench
