// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/phrases.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <span>

#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::findings {

namespace {

struct Phrase {
  std::string_view key;
  std::string_view words;
};

/// Forms that several experiments share, as plurals; an experiment's own words come first.
constexpr std::array<Phrase, 9> forms{{
    {"read", "reads"},
    {"copy", "copies"},
    {"init", "writes"},
    {"triad", "triads"},
    {"scale", "scalings"},
    {"two-operand", "FMA chains"},
    {"load", "loads"},
    {"fma", "FMA chains"},
    {"update", "updates"},
}};

constexpr std::string_view in_flight = "in_flight";  // not a column: ilp times bytes_per_access
constexpr std::string_view words_for_in_flight = "{} in flight per thread";

/// The experiment's own words; nullptr without any.
const std::string* own_words(std::string_view experiment, std::string_view key) {
  for (const Experiment& e : experiments())
    if (e.name == experiment)
      for (const auto& [name, words] : e.words)
        if (name == key) return &words;
  return nullptr;
}

std::string phrase_template(std::string_view experiment, std::string_view column) {
  if (const std::string* own = own_words(experiment, column)) return *own;
  if (column == in_flight) return std::string(words_for_in_flight);
  if (const ColumnFacts* facts = facts_of(column); facts != nullptr && !facts->words.empty())
    return facts->words;
  std::string name(column.starts_with("asked_") ? column.substr(6) : column);
  std::ranges::replace(name, '_', ' ');
  return name + " {}";
}

std::string in_bytes(double value) {
  constexpr std::array<std::pair<double, const char*>, 3> units{
      {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
  for (const auto& [size, unit] : units)
    if (value >= size) return text("%.4g %s", value / size, unit);
  return text("%.6g B", value);
}

void replace_first(std::string& words, std::string_view what, std::string_view by) {
  if (const auto at = words.find(what); at != std::string::npos) words.replace(at, what.size(), by);
}

/// "1 warp per SM" of "1 warps per SM".
std::string singular(std::string words) {
  const auto begin = words.find(' ') + 1;
  auto end = words.find(' ', begin);
  if (end == std::string::npos) end = words.size();
  const std::string noun = words.substr(begin, end - begin);
  if (noun == "bodies") return words.replace(begin, noun.size(), "body");
  if (noun.ends_with("ing")) return words.erase(words.size() - 1);
  if (noun.ends_with('s')) words.erase(end - 1, 1);
  return words;
}

std::string fill(const std::string& phrase, const std::string& number) {
  std::string words = phrase;
  replace_first(words, "{}", number);
  return phrase.starts_with("{} ") && number == "1" ? singular(words) : words;
}

}  // namespace

std::string format_number(double value) {
  std::string digits = std::abs(value) < 10000 ? text("%.4g", value) : text("%.0f", value);
  const auto first = digits.find_first_of("0123456789");
  auto end = digits.find_first_not_of("0123456789", first);
  if (end == std::string::npos) end = digits.size();
  for (auto at = end; at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string amount(std::string_view column, double value) {
  if (column == "occupancy_theoretical" || column == "divergent_warps") return text("%.3g %%", 100 * value);
  if (column == in_flight || column.ends_with("_bytes") || column.starts_with("bytes_"))
    return in_bytes(value);
  return format_number(value);
}

std::string amount(std::string_view column, const Cell& value) {
  return value.text.empty() ? amount(column, value.number) : value.text;
}

std::string value_of(std::string_view experiment, std::string_view column, const Cell& value) {
  if (column == "bank_conflict" && value.number == 1) return "no bank conflicts";
  if (const std::string* none = own_words(experiment, std::string(column) + " 0");
      none != nullptr && value.text.empty() && value.number == 0)
    return *none;
  return fill(phrase_template(experiment, column), amount(column, value));
}

std::string value_of(std::string_view experiment, std::string_view column, double value) {
  return fill(phrase_template(experiment, column), amount(column, value));
}

std::string span_of(std::string_view experiment, std::string_view column, double low, double high) {
  std::string first = amount(column, low);
  const std::string last = amount(column, high);
  const auto unit_at = last.find_first_not_of("0123456789.,");
  const std::string unit = unit_at == std::string::npos ? "" : last.substr(unit_at);
  if (!unit.empty() && first.ends_with(unit)) first.resize(first.size() - unit.size());
  std::string words = value_of(experiment, column, high);
  replace_first(words, last, first + " to " + last);
  return words;
}

std::string span(double low, double high) {
  const std::string a = commands::with_thousands(std::llround(low));
  const std::string b = commands::with_thousands(std::llround(high));
  return a == b ? a : a + " to " + b;
}

std::string speed(double rate, const std::string& unit) {
  if (rate < 100) return text("%.1f", rate) + (unit.empty() ? "" : " " + unit);
  const std::string digits = text("%.0f", rate);
  std::string words = digits;
  for (auto at = digits.size(); at > 3; at -= 3) words.insert(at - 3, ",");
  return words + (unit.empty() ? "" : " " + unit);
}

std::string change(double after, double before) {
  const double share = after / before - 1;
  return std::abs(share) >= case_precision ? text("%+.1f %%", 100 * share) : "no change";
}

std::string loss_or_gain(double after, double before, bool is_plural) {
  const double lost = 1 - after / before;
  const std::string s = is_plural ? "" : "s";
  if (std::abs(lost) < case_precision) return "lose" + s + " nothing";
  return lost > 0 ? "lose" + s + text(" %.1f %%", 100 * lost) : "gain" + s + text(" %.1f %%", -100 * lost);
}

std::string join_with_and(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return all;
}

std::string count_with_noun(double count, const std::string& noun) {
  return format_number(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string fit_sentence(const std::vector<std::string>& parts) {
  const auto words_in = [](const std::string& line) {
    std::size_t words = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] != ' ' && (i == 0 || line[i - 1] == ' ')) ++words;
    return words;
  };
  std::string words = parts.front();
  for (const std::string& part : std::span(parts).subspan(1))
    if (words_in(words + part) <= longest_sentence) words += part;
  return words;
}

std::string capitalize(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

Words words_for(const Rows& rows, const RowIndices& places, const std::string& experiment) {
  Words all;
  for (const std::size_t row : places)
    for (const Phrase& shared : forms)
      if (rows.text(row, "form") == shared.key) all.emplace(shared.key, shared.words);
  for (const Experiment& e : experiments())
    if (e.name == experiment)
      for (const auto& [key, words] : e.words) all.insert_or_assign(key, words);
  return all;
}

std::string subject(const Rows& rows, std::size_t row) {
  const std::string& form = rows.text(row, "form");
  const std::string& family = rows.text(row, "family");
  const std::string& experiment = rows.text(row, "experiment");
  for (const std::string& key : {rows.text(row, "curve"), form, family})
    if (!key.empty())
      if (const std::string* own = own_words(experiment, key)) return *own;
  if (const auto* const known = std::ranges::find(forms, form, &Phrase::key); known != forms.end())
    return std::string(known->words);
  const std::string& curve = rows.text(row, "curve");
  return "`" + (form.empty() ? curve : form) + "`";
}

double bytes_in_flight(const Rows& rows, std::size_t row) {
  return rows.number(row, "ilp") * rows.number(row, "bytes_per_access");
}

Names::Names(const Rows& rows, std::string experiment, const std::vector<Line>& among, std::string_view dial)
    : rows_(rows), experiment_(std::move(experiment)), dial_(dial) {
  for (const Line& line : among) firsts_.push_back(line.places.front());
}

std::vector<std::string> Names::differing_words(std::size_t row, std::optional<std::size_t> other,
                                                const Line* line) const {
  std::vector<std::size_t> others;
  if (other) {
    others.push_back(*other);
  } else {  // lines of its own family and form
    for (const std::size_t first : firsts_)
      if (rows_.text(first, "family") == rows_.text(row, "family") &&
          rows_.text(first, "form") == rows_.text(row, "form"))
        others.push_back(first);
  }
  const auto varies = [&](const std::string& column) {
    if (column == "form" || column == dial_ || column == "register_cap") return false;
    return std::ranges::any_of(
        others, [&](std::size_t o) { return !(rows_.cell(o, column) == rows_.cell(row, column)); });
  };
  std::set<std::string> columns;
  for (const std::string& column : requested_columns())
    if (varies(column)) columns.insert(column);
  if (line != nullptr)  // by which the experiment or its rows cut the curve
    for (const auto& [column, cell] : line->parts)
      if (varies(column)) columns.insert(column);
  std::vector<std::string> words;
  // A curve with the same dials as another needs its name.
  const std::string& curve = rows_.text(row, "curve");
  const auto needs_its_name = [&](std::size_t o) {
    return rows_.text(o, "curve") != curve && subject(rows_, row) != "`" + curve + "`" &&
           std::ranges::none_of(requested_columns(), [&](const std::string& dial) {
             return facts_of(dial)->is_of_kernel && !(rows_.cell(o, dial) == rows_.cell(row, dial));
           });
  };
  if (std::ranges::any_of(others, needs_its_name)) words.push_back("`" + curve + "`");
  const double bytes = bytes_in_flight(rows_, row);
  const bool is_in_flight =
      !std::isnan(bytes) && own_words(experiment_, "ilp") == nullptr &&
      (columns.contains("ilp") || columns.contains("bytes_per_access")) &&
      std::ranges::any_of(others, [&](std::size_t o) { return bytes_in_flight(rows_, o) != bytes; });
  if (is_in_flight) {
    if (!phrase_template(experiment_, in_flight).empty())
      words.push_back(value_of(experiment_, in_flight, bytes));
    columns.erase("ilp");
    columns.erase("bytes_per_access");
  }
  std::vector<std::string> order = requested_columns();
  std::ranges::stable_partition(order, [](const std::string& c) { return c == "ilp"; });
  for (const auto& [column, cell] :
       line != nullptr ? line->parts : std::vector<std::pair<std::string, Cell>>{})
    if (std::ranges::find(order, column) == order.end()) order.push_back(column);
  for (const std::string& column : order) {
    const Cell cell = rows_.cell(row, column);
    if (!columns.contains(column) || cell.is_empty || phrase_template(experiment_, column).empty()) continue;
    if (column == "register_route" && cell.text == "free") continue;
    std::string value = value_of(experiment_, column, cell);
    if (value.starts_with("0 ") && value[2] != '%') value.replace(0, 1, "no");
    words.push_back(std::move(value));
  }
  return words;
}

std::vector<std::string> Names::differences(const Line& line, const Line* other) const {
  const auto row = other == nullptr ? std::nullopt : std::optional(other->places.front());
  return differing_words(line.places.front(), row, &line);
}

namespace {
std::string join(const std::string& noun, const std::vector<std::string>& words) {
  std::string all = noun;
  for (std::size_t i = 0; i < words.size(); ++i) all += (i == 0 ? " (" : ", ") + words[i];
  return words.empty() ? all : all + ")";
}
}  // namespace

std::string Names::name(const Line& line) const {
  return join(subject(rows_, line.places.front()), differences(line));
}

std::string Names::name(std::size_t row) const {
  return join(subject(rows_, row), differing_words(row, std::nullopt, nullptr));
}

}  // namespace occbench::findings
