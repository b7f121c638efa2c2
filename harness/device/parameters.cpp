// SPDX-License-Identifier: Apache-2.0
#include "harness/device/parameters.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/io/join.hpp"
#include "harness/io/json.hpp"
#include "harness/theory/hardware.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "parameter_files.hpp"  // written by the build from harness/parameters/*.json

namespace occbench {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int format = 1;
constexpr int depth_limit = json_depth_limit - 2;  // env.json holds the file two levels down

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw UserError(Exit::file, name + ": " + what);
}

/// A required field of the right type.
template <class T>
T field(const Json& object, const char* key, const std::string& name, const std::string& where = "") {
  const auto found = object.find(key);
  if (found == object.end()) fail(name, where + "'" + key + "' is missing");
  try {
    return found->template get<T>();
  } catch (const Json::exception&) {
    fail(name, where + "'" + key + "' is " + excerpt(found->dump()) + ", which is not of its type");
  }
}

/// Far beyond any device: values outside are in the wrong unit.
struct Plausible {
  std::string_view unit;
  double least, most;
};
constexpr Plausible plausible[] = {{"Hz", 1e8, 1e11},     {"cycle", 1e-2, 1e5}, {"byte/cycle", 1, 1e5},
                                   {"byte/s", 1e9, 1e15}, {"byte", 1, 1e9},     {"s", 1e-10, 1e-3}};

void check_plausible(double value, std::string_view unit, const std::string& where, const std::string& name) {
  for (const Plausible& p : plausible)
    if (p.unit == unit && !(value >= p.least && value <= p.most))
      fail(name,
           where + "is " + excerpt(Json(value).dump()) + " " + std::string(unit) + ", which is implausible");
}

/// The value of one parameter; 0 if the file has null.
double value_of(const Json& entry, const theory::ParameterField& f, const std::string& name) {
  const std::string where = "parameter '" + std::string(f.name) + "': ";
  if (!entry.is_object()) fail(name, where + "is not an object with value, unit, source and method");
  const auto unit = field<std::string>(entry, "unit", name, where);
  if (unit != f.unit)
    fail(name, where + "is in '" + excerpt(unit) + "', and must be in '" + std::string(f.unit) + "'");
  static_cast<void>(field<std::string>(entry, "source", name, where));
  static_cast<void>(field<std::string>(entry, "method", name, where));
  if (entry.contains("of")) static_cast<void>(field<std::string>(entry, "of", name, where));
  if (entry.contains("value") && entry["value"].is_null()) return 0;
  const auto value = field<double>(entry, "value", name, where);
  if (!(value > 0))
    fail(name, where + "is " + excerpt(entry["value"].dump()) +
                   ", and must be greater than 0 (or null: not known)");
  check_plausible(value, unit, where, name);
  return value;
}

/// One end of its range, "low" or "high"; 0 if missing.
double end_of(const Json& entry, const char* end, const theory::ParameterField& f, double value,
              const std::string& name) {
  if (!entry.contains(end) || entry[end].is_null()) return 0;
  const std::string where = "parameter '" + std::string(f.name) + "': ";
  const auto found = field<double>(entry, end, name, where);
  check_plausible(found, f.unit, where + "its '" + end + "' ", name);
  if (value > 0 && (std::string_view(end) == "low" ? found > value : found < value))
    fail(name, where + "its '" + end + "' and its value are the wrong way round");
  return found;
}

/// Relative error assumed for a memory-system value that has one source or is another GPU's. Values with
/// several sources span +-0.4 to 19 %, half of them at most 2.9 % (13 values of an A100, B200 and V100). Of
/// nine values that an H100 took from an H200, half were off by 10 % or more.
constexpr double lone_source = 0.03, other_gpu = 0.1;

/// Widens the range of a value that was not measured on this GPU. SM values, in cycles, do not differ between
/// sources.
void widen(const Json& entry, std::string_view unit, double value, double& low, double& high) {
  const bool is_others = entry.contains("of"), has_span = low < high;
  if ((unit != "byte/s" && unit != "s") || (has_span && !is_others)) return;
  const double by = is_others ? other_gpu : lone_source;
  low = std::min(low > 0 ? low : value, value * (1 - by));
  high = std::max(high, value * (1 + by));
}

ParameterFile built_in(const ParameterText& file) {
  return parse_parameters(file.text, std::string(file.name) + ".json (built in)");
}

}  // namespace

ParameterFile parse_parameters(std::string_view text, const std::string& name) {
  Json json;
  try {
    json = parse_json(text, depth_limit);
  } catch (const std::invalid_argument& e) {
    fail(name, e.what());
  }
  if (!json.is_object()) fail(name, "is not a JSON object");
  for (const char* key : {"origin", "uuid"})  // optional
    if (json.contains(key)) static_cast<void>(field<std::string>(json, key, name));
  if (field<double>(json, "format", name) != format)
    fail(name, "is of format " + excerpt(json["format"].dump()) + ", and this program reads " +
                   std::to_string(format));
  ParameterFile file{.name = name,
                     .device = field<std::string>(json, "device", name),
                     .catalogue_name = field<std::string>(json, "catalogue_name", name)};
  if (const auto known = theory::device_names(); std::ranges::find(known, file.catalogue_name) == known.end())
    fail(name, "its catalogue_name '" + excerpt(file.catalogue_name) +
                   "' is not a name of `occbench calc --device list`");
  const auto parameters = field<Json>(json, "parameters", name);
  if (!parameters.is_object()) fail(name, "'parameters' is not an object");
  const bool is_measured = json.value("origin", "") == "measured";
  std::vector<std::string> missing;
  for (const theory::ParameterField& f : theory::parameter_fields()) {
    const auto entry = parameters.find(std::string(f.name));
    if (entry == parameters.end()) {
      missing.emplace_back(f.name);
      continue;
    }
    const double value = file.values.*f.value = value_of(*entry, f, name);
    double low = end_of(*entry, "low", f, value, name);
    double high = end_of(*entry, "high", f, value, name);
    if (!is_measured) widen(*entry, f.unit, value, low, high);
    file.ranges.low.*f.value = low;
    file.ranges.high.*f.value = high;
  }
  for (const auto& item : parameters.items())
    if (std::ranges::find(theory::parameter_fields(), item.key(), &theory::ParameterField::name) ==
        theory::parameter_fields().end())
      fail(name, "the model knows no parameter '" + excerpt(item.key()) + "'");
  if (!missing.empty()) fail(name, "lacks " + join(missing) + "; `occbench calibrate` writes a whole file");
  file.content = std::move(json);
  return file;
}

ParameterFile read_parameters(const fs::path& path) {
  return parse_parameters(read_file(path, parameters_limit), path.string());
}

ParameterFile ParameterFile::from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) fail(where, "its parameters are no object");
  ParameterFile file = parse_parameters(field<Json>(json, "content", where).dump(), where);
  file.name = field<std::string>(json, "file", where);
  return file;
}

nlohmann::json list_assumptions(const Json& content) {
  Json all = Json::array();
  for (const theory::ParameterField& f : theory::parameter_fields())
    if (const Json& entry = content.at("parameters").at(std::string(f.name)); entry.contains("of"))
      all.push_back({{"name", f.name}, {"of", entry["of"]}});
  for (const theory::Fact& fact : theory::hardware::facts)
    if (!fact.of.empty() && fact.of != content.at("device").get<std::string>())
      all.push_back({{"name", fact.name}, {"of", fact.of}});
  return all;
}

std::vector<std::string> parameter_devices() {
  std::vector<std::string> names;
  for (const ParameterText& file : parameter_texts) names.emplace_back(file.name);
  return names;
}

std::string model_names() {
  std::string text;
  for (const std::string& name : parameter_devices()) text += (text.empty() ? "model:" : ", model:") + name;
  return text + (text.empty() ? "" : " or ") + "model:FILE.json";
}

ParameterFile model_parameters(const std::string& model) {
  if (model.ends_with(".json")) return read_parameters(model);
  std::string name = model;
  try {
    name = theory::find_device(model).name;  // "H200", "RTX 5090"
  } catch (const std::invalid_argument&) {
  }
  const auto found = std::ranges::find(parameter_texts, name, &ParameterText::name);
  if (found != std::end(parameter_texts)) return built_in(*found);
  throw UserError(Exit::usage, "there is no model of '" + model + "'; name " + model_names() +
                                   ", a file as `occbench calibrate` writes it");
}

std::optional<ParameterFile> model_of(const std::string& device) {
  constexpr std::string_view prefix = "model:";
  if (!device.starts_with(prefix)) return std::nullopt;
  return model_parameters(device.substr(prefix.size()));
}

std::optional<ParameterFile> parameters_of_gpu(std::string_view gpu_name) {
  for (const ParameterText& text : parameter_texts)
    if (ParameterFile file = built_in(text); file.device == gpu_name) return file;
  return {};
}

}  // namespace occbench
