// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/folder.hpp"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "benchmarks/report/findings/cliffs.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/io/unpacked.hpp"
#include "harness/record/record.hpp"
#include "harness/record/schema.hpp"

namespace occbench::findings {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 14> kinds{
    "enough",     "fastest",      "loss",     "range", "cliff",    "step",     "costs_more_warps",
    "other_dial", "register_cap", "baseline", "own",   "api_pick", "textbook", "model_miss"};

std::string_view name_of(Kind kind) {
  return kind == Kind::note ? "note" : kinds.at(static_cast<std::size_t>(kind));
}

nlohmann::json environment_of(const std::filesystem::path& folder) {
  nlohmann::json environment = Recorder::environment_of(folder);
  if (environment.value("kind", nlohmann::json()) == nlohmann::json("attach"))
    fail(folder / "env.json", "is of `occbench attach`, which has no cases");
  return environment;
}

nlohmann::json as_json(const std::vector<ExperimentFindings>& all) {
  nlohmann::json experiments = nlohmann::json::object();
  for (const ExperimentFindings& each : all) {
    nlohmann::json sentences = nlohmann::json::array();
    for (const Finding& finding : each.findings)
      sentences.push_back({{"kind", name_of(finding.kind)},
                           {"sentence", sentence(finding)},
                           {"effect", finding.effect},
                           {"score", finding.score},
                           {"cases", finding.cases}});
    experiments[each.experiment] = {
        {"effect", each.effect}, {"words", each.words}, {"findings", std::move(sentences)}};
  }
  return experiments;
}

nlohmann::json as_json(const std::vector<Cliff>& all) {
  const auto number = [](double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  };
  nlohmann::json cliffs = nlohmann::json::array();
  for (const Cliff& one : all)
    cliffs.push_back({{"experiment", one.experiment},
                      {"family", one.family},
                      {"kernel", one.kernel},
                      {"sweep", one.sweep},
                      {"dial", one.dial},
                      {"from_value", number(one.from_value)},
                      {"to_value", number(one.to_value)},
                      {"from_case_id", one.from_case_id},
                      {"to_case_id", one.to_case_id},
                      {"cause", one.cause},
                      {"predicted", one.is_predicted},
                      {"blocks_from", number(one.blocks_from)},
                      {"blocks_to", number(one.blocks_to)},
                      {"drop", number(one.drop)},
                      {"drop_low", number(one.drop_low)},
                      {"drop_high", number(one.drop_high)},
                      {"drop_words", drop_words(one.drop, one.drop_low, one.drop_high)},
                      {"p_value", number(one.p_value)},
                      {"verdict", one.verdict},
                      {"explained", one.is_explained},
                      {"against_theory", one.is_against_theory},
                      {"note", one.note}});
  return cliffs;
}

/// Reads the launches that count from rows that match the schema.
class Launches {
 public:
  Launches(const csv::Row& header, const fs::path& path) : check_(path, "samples.csv", header) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = std::ranges::find(header, names[i]);
      if (found == header.end()) fail(path, "no column " + std::string(names[i]));
      at_[i] = static_cast<std::size_t>(found - header.begin());
    }
  }

  void add(const csv::Record& record, Times& times) {
    const csv::Row& row = record.fields;
    check_.check(row);
    if (!record.complete) check_.refuse("a quote is not closed");
    if (row[at_[1]] != "0" || row[at_[2]] != "0") return;
    const std::string& cell = row[at_[3]];
    double time_s = 0;
    std::from_chars(cell.data(), cell.data() + cell.size(), time_s);
    times[row[at_[0]]].push_back(time_s);
  }

 private:
  static constexpr std::array<std::string_view, 4> names{"case_id", "repetition", "discarded", "time_s"};
  RowCheck check_;
  std::array<std::size_t, names.size()> at_{};
};

/// Of samples.csv or samples.csv.gz, the launches of the first repetition that were not discarded; none
/// where a folder has no such file. Throws UserError(Exit::file) where it cannot be read, lacks a column or a
/// cell is not as results/schema.json says. A last row without its line feed is left out.
Times times_of(const fs::path& folder) {
  fs::path path = folder / "samples.csv";
  if (!fs::exists(path)) path += ".gz";
  if (!fs::exists(path)) return {};
  check_readable(path, samples_limit);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  UnpackedFile in(file, path.string());
  Times times;
  std::optional<Launches> launches;
  std::string buffer(std::size_t{1} << 20, '\0');
  std::string text;
  while (const std::size_t got = in.read(buffer.data(), buffer.size())) {
    text.append(buffer, 0, got);
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      std::string_view line(text.data() + start, end - start);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const csv::Record row = csv::parse(line);
      if (launches)
        launches->add(row, times);
      else
        launches.emplace(row.fields, path);
    }
    text.erase(0, start);
    if (text.size() > buffer.size()) fail(path, "a line has more than 1 MiB");
  }
  return times;
}

}  // namespace

FolderFindings read_findings(const std::filesystem::path& folder) {
  const nlohmann::json environment = environment_of(folder);
  const std::filesystem::path path = folder / "cases.csv";
  const std::string text = read_table(path);
  const Rows rows = Rows::of_csv(text, path.string());
  FolderFindings found{.all = findings_of_run(rows, environment)};
  const auto checksum = crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  found.file = {{"schema_version", schema_version},
                {"cases", {{"bytes", text.size()}, {"crc32", occbench::text("%08lx", checksum)}}},
                {"experiments", as_json(found.all)},
                {"cliffs", as_json(find_cliffs(rows, environment, times_of(folder)))}};
  return found;
}

FolderFindings write_findings(const std::filesystem::path& folder) {
  FolderFindings found = read_findings(folder);
  replace_file(folder / "findings.json",
               found.file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return found;
}

}  // namespace occbench::findings
