// SPDX-License-Identifier: Apache-2.0
// cases.csv of a folder that somebody sent, behind its header, as `run --resume` takes it: refused as a file,
// or left with whole rows alone.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/record/record.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;
namespace fs = std::filesystem;

namespace {

/// In memory where that can be: each input costs three files.
struct Folder {
  fs::path path;
  Folder() {
    const fs::path memory = "/dev/shm";
    const bool is_there = access(memory.c_str(), W_OK) == 0;
    std::string name = (is_there ? memory : fs::temp_directory_path()) / "occbench-fuzz-XXXXXX";
    fuzz::expect(mkdtemp(name.data()) != nullptr, "a folder can be made");
    path = name;
    std::ofstream(path / "env.json") << "{}\n";
  }
  ~Folder() { fs::remove_all(path); }
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const fs::path cases = folder.path / "cases.csv";
  std::ofstream(cases, std::ios::binary) << csv::format(case_columns()) << fuzz::text_of(data, size);
  try {
    const auto finished = Recorder::resume(folder.path).finished_cases();
    const std::string kept = bytes_of(cases);
    std::istringstream in(kept);
    std::size_t rows = 0;
    for (; const auto record = csv::read(in); ++rows)
      fuzz::expect(record->complete && record->fields.size() == case_columns().size(), "a row is whole");
    fuzz::expect(rows > finished.size() || finished.empty(), "a finished case has its row");
    fuzz::expect(Recorder::resume(folder.path).finished_cases() == finished && bytes_of(cases) == kept,
                 "a second time changes nothing");
  } catch (const UserError& refused) {
    fuzz::expect(refused.code() == Exit::file, "a folder is refused as a file is");
  }
  return 0;
}
