// SPDX-License-Identifier: Apache-2.0
// parameters.json: the device data that the model needs, with the source of each value. Files of well-known
// devices are built in (harness/parameters/*.json); `occbench calibrate` writes others.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/theory/parameters.hpp"
#include "harness/theory/prediction/bands.hpp"

namespace occbench {

/// One file, parsed and checked.
struct ParameterFile {
  std::string name;            ///< "FILE.json", or "h200.json (built in)"
  nlohmann::json content;      ///< unchanged, with sources, methods and intervals
  std::string device;          ///< "NVIDIA H200"
  std::string catalogue_name;  ///< "h200"
  theory::Parameters values;   ///< 0 if the file has null: unknown
  theory::Ranges ranges;       ///< by `low` and `high`; 0 without them

  /// For env.json, and back. from_json() throws like parse_parameters(), naming `where`.
  [[nodiscard]] nlohmann::json to_json() const { return {{"file", name}, {"content", content}}; }
  static ParameterFile from_json(const nlohmann::json& json, const std::string& where);
};

/// Throws UserError(Exit::file) with one line that begins with `name` if the text is not JSON, is not a
/// parameters file of format 1, or has an unknown, missing, unitless or non-positive parameter.
ParameterFile parse_parameters(std::string_view text, const std::string& name);

/// The same from a file, which must exist.
ParameterFile read_parameters(const std::filesystem::path& path);

/// What a model of this file's device assumes from another GPU, unmeasured: parameters whose entry has `of`,
/// and facts of harness/theory/hardware.hpp. [{"name": "branch", "of": "NVIDIA H200"}, ...]; another board of
/// the same GPU counts as the same. `content` is a ParameterFile's.
nlohmann::json list_assumptions(const nlohmann::json& content);

/// Catalogue names of the devices with built-in files.
std::vector<std::string> parameter_devices();

/// "model:a100, model:h200 or model:FILE.json": the devices whose files are part of the program, and how to
/// name others.
std::string model_names();

/// The parameters behind "model:h200" or "model:FILE.json", given what follows the colon. Throws
/// UserError: Exit::usage on a device that is not known, which lists those that are, and Exit::file as
/// read_parameters does.
ParameterFile model_parameters(const std::string& model);

/// The same for the value of --device; nullopt if it is not a model. Throws like model_parameters().
std::optional<ParameterFile> model_of(const std::string& device);

/// The built-in parameters whose file names this GPU ("NVIDIA H200"), if any.
std::optional<ParameterFile> parameters_of_gpu(std::string_view gpu_name);

}  // namespace occbench
