// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "harness/binary/binaries.hpp"
#include "harness/io/check.hpp"

namespace occbench::binary {
namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

/// Adds the regular files below a folder. Links to files are followed. Links to folders are not, with a
/// complaint if they lead out of `top`.
void add_files_below(const fs::path& folder, const fs::path& top, std::vector<fs::path>& files,
                     Contents& contents) {
  const auto complain = [&](const fs::path& path, const std::string& what) {
    contents.complaints.push_back("'" + path.string() + "': " + what);
  };
  std::error_code error;
  fs::directory_iterator at(folder, error);
  std::vector<fs::path> folders;
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path& path = at->path();
    std::error_code why;
    const fs::file_status status = at->status(why);
    if (why == std::errc::too_many_symbolic_link_levels) continue;
    if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown) {
      complain(path, why.message());
    } else if (fs::is_regular_file(status)) {
      files.push_back(path);
    } else if (fs::is_directory(status) && !at->is_symlink(why)) {
      folders.push_back(path);
    } else if (fs::is_directory(status)) {
      const fs::path target = fs::canonical(path, why);
      if (why || !is_within(target, top)) complain(path, "is a link to another folder; name that as well");
    }
  }
  if (error) complain(folder, error.message());
  for (const fs::path& below : folders) add_files_below(below, top, files, contents);
}

}  // namespace

Contents read_binaries(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    Contents contents;
    std::vector<fs::path> files;
    add_files_below(path, fs::canonical(path, error), files, contents);
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      try {
        add_binary(contents, open_binary(file), file, triton_launch(file));
      } catch (const UserError& refused) {
        contents.complaints.emplace_back(refused.what());
      }
    }
    if (contents.kernels_and_ptx() == 0 && contents.complaints.empty())
      fail(path, "holds no file with GPU code");
    return contents;
  }
  return read_binary(open_binary(path), path, triton_launch(path));
}

}  // namespace occbench::binary
