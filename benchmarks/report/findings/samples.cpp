// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/samples.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/io/unpacked.hpp"
#include "harness/record/schema.hpp"

namespace occbench::findings {

namespace fs = std::filesystem;

namespace {

/// The launches that count, of rows that are as the schema says.
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

}  // namespace

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

}  // namespace occbench::findings
