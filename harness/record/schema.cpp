// SPDX-License-Identifier: Apache-2.0
#include "harness/record/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <schema.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/io/json.hpp"
#include "harness/io/printable.hpp"

namespace occbench {

namespace {

constexpr double min_inexact = 9007199254740992;  // not every integer from here on is a double

const nlohmann::json& whole_schema() {
  static const nlohmann::json schema = nlohmann::json::parse(schema_json);
  return schema;
}

std::string printable_excerpt(const std::string& value) { return printable(excerpt(value)); }

/// Whether all of `cell` is one number.
bool parse_number(const std::string& cell, double& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc{} && end == cell.data() + cell.size();
}

std::string not_one_of(const std::string& value, const std::vector<nlohmann::json>& allowed) {
  std::string names;
  for (const auto& one : allowed)
    names += (names.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.dump());
  return value + " is not one of " + names;
}

/// By `minimum` and `maximum` of an entry.
std::string out_of_range(const nlohmann::json& entry, double value, const std::string& text) {
  if (entry.contains("minimum") && value < entry["minimum"].get<double>())
    return text + " is below " + entry["minimum"].dump();
  if (entry.contains("maximum") && value > entry["maximum"].get<double>())
    return text + " is above " + entry["maximum"].dump();
  return "";
}

/// Compiles a pattern of schema.json as a POSIX extended regular expression, which has no \d. Unlike
/// std::regex, its matching does not recurse with the text's length.
std::shared_ptr<regex_t> compile_pattern(std::string pattern) {
  for (std::size_t at = 0; (at = pattern.find("\\d", at)) != std::string::npos;)
    pattern.replace(at, 2, "[0-9]");
  auto regex = std::make_unique<regex_t>();
  if (regcomp(regex.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    throw std::logic_error("results/schema.json: pattern " + pattern);
  return {regex.release(), [](regex_t* compiled) {
            regfree(compiled);
            delete compiled;
          }};
}

bool matches(const regex_t& pattern, const std::string& text) {
  return text.find('\0') == std::string::npos && regexec(&pattern, text.c_str(), 0, nullptr, 0) == 0;
}

/// The entry of a column by its present or an older name.
const nlohmann::json* entry_of(const nlohmann::json& file, const std::string& column) {
  for (const char* list : {"columns", "gone"})
    if (const auto found = file.find(list); found != file.end())
      for (const auto& entry : *found)
        if (entry["name"] == column || entry.value("/was/name"_json_pointer, "") == column) return &entry;
  return nullptr;
}

/// The values that a cell may have, including those of older versions. `schema_version` may have any.
std::vector<nlohmann::json> allowed_by(const nlohmann::json& entry) {
  if (!entry.contains("allowed") || entry["name"] == "schema_version") return {};
  auto allowed = entry["allowed"].get<std::vector<nlohmann::json>>();
  if (const auto was = entry.find("was"); was != entry.end() && was->contains("values"))
    for (const auto& [today, old] : (*was)["values"].items()) allowed.push_back(old);
  return allowed;
}

const nlohmann::json& file_of(std::string_view file, Origin origin) {
  const nlohmann::json& files = whole_schema().at(origin == Origin::run ? "files" : "attach");
  const auto found = files.find(file);
  if (found == files.end()) throw std::logic_error("results/schema.json has no " + std::string(file));
  return *found;
}

}  // namespace

const nlohmann::json& schema_entries(std::string_view file, Origin origin) {
  const nlohmann::json& rules = file_of(file, origin);
  return rules.contains("columns") ? rules["columns"] : rules.at("fields");
}

std::string read_table(const std::filesystem::path& path) {
  std::string text = read_file(path, cases_limit);
  if (text.find('\0') != std::string::npos) fail(path, "holds zero bytes, and is not UTF-8 text");
  return text;
}

RowCheck::RowCheck(std::filesystem::path path, std::string_view file, const csv::Row& header, Origin origin)
    : path_(std::move(path)) {
  const nlohmann::json& rules = file_of(file, origin);
  std::set<std::string_view> names;
  for (const std::string& name : header) {
    if (!is_text(name)) refuse("column " + printable_excerpt(name) + " is not UTF-8 text");
    if (!names.insert(name).second) refuse("column " + printable_excerpt(name) + " is there twice");
    Column& column = columns_.emplace_back(Column{.name = name, .entry = entry_of(rules, name)});
    if (column.entry == nullptr) continue;
    column.allowed = allowed_by(*column.entry);
    if (column.entry->contains("pattern"))
      column.pattern = compile_pattern((*column.entry)["pattern"].get<std::string>());
  }
}

void RowCheck::refuse(const std::string& what) const {
  throw UserError(Exit::file, path_.string() + ":" + std::to_string(line_) + ": " + what);
}

bool RowCheck::is_whole(const csv::Record& record) {
  if (record.complete) return true;
  line_ = next_;
  const auto spans_lines = [](const std::string& cell) { return cell.find('\n') != std::string::npos; };
  if (std::ranges::any_of(record.fields, spans_lines)) refuse("a quote is not closed");
  return false;
}

void RowCheck::check(const csv::Row& row) {
  line_ = next_++;
  for (const std::string& cell : row) next_ += static_cast<std::size_t>(std::ranges::count(cell, '\n'));
  if (row.size() != columns_.size())
    refuse(std::to_string(row.size()) + " cells where the header has " + std::to_string(columns_.size()));
  for (std::size_t i = 0; i < row.size(); ++i) {
    Column& column = columns_[i];
    if (!is_text(row[i]))
      refuse(printable_excerpt(column.name) + ": " + printable_excerpt(row[i]) + " is not UTF-8 text");
    if (column.entry == nullptr) continue;
    if (const std::string what = complaint(column, row[i]); !what.empty()) refuse(column.name + ": " + what);
  }
}

std::string RowCheck::complaint(Column& column, const std::string& cell) const {
  const nlohmann::json& entry = *column.entry;
  if (cell.empty()) return entry["nullable"].get<bool>() ? "" : "empty, and must not be";
  const std::string& type = entry["type"].get_ref<const std::string&>();
  if (type == "string") return text_complaint(column, cell);
  double value = 0;
  if (!parse_number(cell, value) || !std::isfinite(value))
    return printable_excerpt(cell) + " is not a number";
  if (type == "integer" && (std::rint(value) != value || std::abs(value) >= min_inexact))
    return printable_excerpt(cell) + " is not an integer";
  if (!column.allowed.empty() &&
      std::ranges::find(column.allowed, nlohmann::json(value)) == column.allowed.end())
    return not_one_of(printable_excerpt(cell), column.allowed);
  return out_of_range(entry, value, printable_excerpt(cell));
}

std::string RowCheck::text_complaint(Column& column, const std::string& cell) const {
  if (cell == column.last_good) return "";
  if (!column.allowed.empty() &&
      std::ranges::find(column.allowed, nlohmann::json(cell)) == column.allowed.end())
    return not_one_of(printable_excerpt(cell), column.allowed);
  if (column.pattern && !matches(*column.pattern, cell))
    return printable_excerpt(cell) + " does not match " + (*column.entry)["pattern"].get<std::string>();
  column.last_good = cell;
  return "";
}

void RowCheck::check_filled(const csv::Row& row) const {
  const auto cell = [&](std::string_view name) -> const std::string& {
    return row.at(
        static_cast<std::size_t>(std::ranges::find(columns_, name, &Column::name) - columns_.begin()));
  };
  const bool is_valid = cell("status") == "valid", is_model = cell("source") == "model";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].entry == nullptr) continue;
    const std::string when = columns_[i].entry->value("required_when", "");
    // "counted" depends on the experiment's kernels.
    const bool is_required = (when == "valid" && is_valid) || (when == "not valid" && !is_valid) ||
                             (when == "measured" && is_valid && !is_model);
    if (is_required && row[i].empty())
      refuse(columns_[i].name + ": empty in a row with status " + cell("status"));
    if (!row[i].empty() && is_model && (when == "measured" || when == "counted"))
      refuse(columns_[i].name + ": " + printable_excerpt(row[i]) + ", and source is model");
  }
  if (is_valid && !cell("reason").empty()) refuse("reason: must be empty in a valid row");
}

namespace {

bool has_type(const nlohmann::json& value, const std::string& type) {
  return type == "string"    ? value.is_string()
         : type == "integer" ? value.is_number_integer()
         : type == "number"  ? value.is_number()
         : type == "boolean" ? value.is_boolean()
         : type == "object"  ? value.is_object()
                             : value.is_array();
}

std::string value_complaint(const nlohmann::json& entry, const nlohmann::json& value) {
  if (!value.is_string() && !value.is_number()) return "";
  const std::string text = printable_excerpt(value.is_string() ? value.get<std::string>() : value.dump());
  if (const auto allowed = entry.find("allowed");
      allowed != entry.end() && std::ranges::find(*allowed, value) == allowed->end())
    return not_one_of(text, allowed->get<std::vector<nlohmann::json>>());
  if (entry.contains("pattern") && value.is_string() &&
      !matches(*compile_pattern(entry["pattern"].get<std::string>()), value.get<std::string>()))
    return text + " does not match " + entry["pattern"].get<std::string>();
  return value.is_number() ? out_of_range(entry, value.get<double>(), text) : "";
}

std::string of_type(const nlohmann::json& value, const std::string& type) {
  return printable_excerpt(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
         " is not of type " + type;
}

std::string object_complaint(const nlohmann::json& object, const nlohmann::json& entries,
                             const std::string& prefix, EnvironmentCheck check, int version);

/// Of the elements of an array or object whose entry describes them.
std::string elements_complaint(const nlohmann::json& value, const nlohmann::json& entry,
                               const std::string& path, EnvironmentCheck check, int version) {
  for (const auto& [key, one] : value.items()) {
    const std::string entry_path =
        value.is_array() ? path + "[" + key + "]" : path + "." + printable_excerpt(key);
    if (entry.contains("of")) {
      if (!has_type(one, entry["of"])) return entry_path + ": " + of_type(one, entry["of"]);
      continue;
    }
    if (!one.is_object()) return entry_path + ": " + of_type(one, "object");
    const nlohmann::json& inner = entry[value.is_array() ? "items" : "each"];
    if (std::string what = object_complaint(one, inner, entry_path + ".", check, version); !what.empty())
      return what;
  }
  return "";
}

std::string field_complaint(const nlohmann::json& value, const nlohmann::json& entry, const std::string& path,
                            EnvironmentCheck check, int version) {
  const std::string& type = entry["type"].get_ref<const std::string&>();
  if (value.is_null()) return entry["nullable"].get<bool>() ? "" : path + ": null, and must not be";
  if (!has_type(value, type)) return path + ": " + of_type(value, type);
  if (check == EnvironmentCheck::all)
    if (std::string what = value_complaint(entry, value); !what.empty()) return path + ": " + what;
  if (entry.contains("fields")) return object_complaint(value, entry["fields"], path + ".", check, version);
  if (entry.contains("items") || entry.contains("each") || entry.contains("of"))
    return elements_complaint(value, entry, path, check, version);
  return "";
}

std::string object_complaint(const nlohmann::json& object, const nlohmann::json& entries,
                             const std::string& prefix, EnvironmentCheck check, int version) {
  for (const auto& entry : entries) {
    if (entry.value("since", version) > version) continue;
    std::string name = entry["name"];
    if (const auto was = entry.find("was"); was != entry.end() && version <= (*was)["until"].get<int>())
      name = was->value("name", name);
    const auto found = object.find(name);
    if (found == object.end()) {
      if (check == EnvironmentCheck::types || entry.value("optional", false)) continue;
      return prefix + name + " is missing";
    }
    if (std::string what = field_complaint(*found, entry, prefix + name, check, version); !what.empty())
      return what;
  }
  return "";
}

}  // namespace

std::string environment_complaint(const nlohmann::json& environment, const nlohmann::json& entries,
                                  EnvironmentCheck check) {
  const auto newest = whole_schema()["schema_version"].get<int>();
  const auto version = environment.value("schema_version", nlohmann::json());
  const bool is_older = version.is_number_integer() && version < newest;
  return object_complaint(environment, entries, "", check, is_older ? version.get<int>() : newest);
}

}  // namespace occbench
