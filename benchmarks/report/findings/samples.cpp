// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/samples.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "harness/io/csv.hpp"
#include "harness/io/files.hpp"
#include "harness/io/printable.hpp"
#include "harness/io/unpacked.hpp"

namespace occbench::findings {

namespace fs = std::filesystem;

namespace {

/// Where the columns that count are in a row.
class Columns {
 public:
  Columns(const csv::Row& header, const fs::path& path) : path_(path), count_(header.size()) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = std::ranges::find(header, names[i]);
      if (found == header.end()) fail(path, "no column " + std::string(names[i]));
      at_[i] = static_cast<std::size_t>(found - header.begin());
    }
  }

  void add(const csv::Row& row, Times& times) const {
    if (row.size() != count_)
      fail(path_,
           "a row has " + std::to_string(row.size()) + " cells, and the header " + std::to_string(count_));
    if (row[at_[1]] != "0" || row[at_[2]] != "0") return;
    const std::string& cell = row[at_[3]];
    double time_s = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), time_s);
    if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(time_s))
      fail(path_, "time_s: " + printable(cell.substr(0, 60)) + " is not a number");
    times[row[at_[0]]].push_back(time_s);
  }

 private:
  static constexpr std::array<std::string_view, 4> names{"case_id", "repetition", "discarded", "time_s"};
  const fs::path& path_;
  std::size_t count_;
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
  std::optional<Columns> columns;
  std::string buffer(std::size_t{1} << 20, '\0');
  std::string text;
  while (const std::size_t got = in.read(buffer.data(), buffer.size())) {
    text.append(buffer, 0, got);
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      std::string_view line(text.data() + start, end - start);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const csv::Row row = csv::parse(line).fields;
      if (columns)
        columns->add(row, times);
      else
        columns.emplace(row, path);
    }
    text.erase(0, start);
    if (text.size() > buffer.size()) fail(path, "a line has more than 1 MiB");
  }
  return times;
}

}  // namespace occbench::findings
