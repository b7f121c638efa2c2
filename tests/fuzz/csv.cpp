// SPDX-License-Identifier: Apache-2.0
// A table: what was read is written and read again as the same records.
#include "harness/csv.hpp"

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
  const std::vector<csv::Record> records = read_all(std::string(fuzz::text_of(data, size)));
  std::string written;
  for (const csv::Record& record : records) {
    fuzz::expect(record.complete || &record == &records.back(), "only the last record may be cut off");
    written += csv::format(record.fields);
  }
  const std::vector<csv::Record> again = read_all(written);
  fuzz::expect(again.size() == records.size(), "every record comes back");
  for (std::size_t n = 0; n < records.size(); ++n)
    fuzz::expect(again[n].complete && again[n].fields == records[n].fields, "a record comes back as it was");
  return 0;
}
