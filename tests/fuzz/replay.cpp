// SPDX-License-Identifier: Apache-2.0
// A fuzz target without a fuzzer: takes each file that is named, or lies in a folder that is named, once.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const fs::path path : std::vector<std::string>(argv + 1, argv + argc)) {
    if (!fs::is_directory(path))
      files.push_back(path);
    else
      std::ranges::copy(fs::directory_iterator(path), std::back_inserter(files));
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());  // the last one named is the one that ended the program
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    occbench::fuzz::expect(in.is_open() && !in.bad(), "the file can be read");
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  occbench::fuzz::expect(!files.empty(), "there are files");
}
