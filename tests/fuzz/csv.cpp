// SPDX-License-Identifier: Apache-2.0
// A table: what was read is written and read again as the same records. A line reads the same alone.
#include "harness/io/csv.hpp"

#include <sstream>

#include "tests/fuzz/target.hpp"

using namespace occbench;

namespace {

std::vector<csv::Record> read_all(const std::string& text) {
  std::istringstream in(text);
  std::vector<csv::Record> records;
  while (auto record = csv::read(in)) records.push_back(std::move(*record));
  return records;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const std::vector<csv::Record> records = read_all(text);
  std::string written;
  for (const csv::Record& record : records) {
    fuzz::expect(record.complete || &record == &records.back(), "only the last record may be cut off");
    written += csv::format(record.fields);
  }
  const std::vector<csv::Record> again = read_all(written);
  fuzz::expect(again.size() == records.size(), "every record comes back");
  for (std::size_t n = 0; n < records.size(); ++n)
    fuzz::expect(again[n].complete && again[n].fields == records[n].fields, "a record comes back as it was");

  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  const csv::Record alone = csv::parse(line);
  const csv::Record first = read_all(line + "\n").front();
  fuzz::expect(alone.complete == first.complete, "a line and a stream agree whether a quote is open");
  fuzz::expect(!alone.complete || alone.fields == first.fields, "a line and a stream agree on the fields");
  for (const std::string& cell : alone.fields)
    fuzz::expect(csv::no_formula(csv::no_formula(cell)) == csv::no_formula(cell), "one apostrophe is enough");
  return 0;
}
