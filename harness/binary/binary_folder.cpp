// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "harness/binary/binaries.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/io/json.hpp"

namespace occbench::binary {
namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

/// Adds the regular files below a folder. Links to files are followed. Links to folders are not, with a
/// warning if they lead out of `top`.
void add_files_below(const fs::path& folder, const fs::path& top, std::vector<fs::path>& files,
                     Contents& contents) {
  const auto warn = [&](const fs::path& path, const std::string& what) {
    contents.warnings.push_back("'" + path.string() + "': " + what);
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
      warn(path, why.message());
    } else if (fs::is_regular_file(status)) {
      files.push_back(path);
    } else if (fs::is_directory(status) && !at->is_symlink(why)) {
      folders.push_back(path);
    } else if (fs::is_directory(status)) {
      const fs::path target = fs::canonical(path, why);
      if (why || !is_within(target, top)) warn(path, "is a link to another folder; name that as well");
    }
  }
  if (error) warn(folder, error.message());
  for (const fs::path& below : folders) add_files_below(below, top, files, contents);
}

/// Reads NAME.json for NAME.cubin; both values are empty without it.
TritonLaunch triton_launch(const std::string& cubin) {
  TritonLaunch launch;
  fs::path json_path = cubin;
  std::error_code error;
  if (json_path.extension() != ".cubin") return launch;
  json_path.replace_extension(".json");
  if (!fs::is_regular_file(json_path, error)) return launch;
  try {
    const nlohmann::json json = parse_json(read_file(json_path, environment_limit));
    const auto number = [&](const char* key, std::int64_t max) -> std::optional<std::int64_t> {
      const auto found = json.find(key);
      if (found == json.end() || !found->is_number_integer()) return std::nullopt;
      const auto value = found->get<std::int64_t>();
      return value >= 0 && value <= max ? std::optional(value) : std::nullopt;
    };
    constexpr int max_warps = 32, warp = 32;
    if (const auto warps = number("num_warps", max_warps))
      launch.block_size = static_cast<int>(*warps) * warp;
    if (const auto bytes = number("shared", 1 << 20))
      launch.dynamic_smem_bytes = static_cast<std::size_t>(*bytes);
  } catch (const std::invalid_argument&) {  // not a Triton file: ignored
  } catch (const UserError&) {
  }
  return launch;
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
        contents.warnings.emplace_back(refused.what());
      }
    }
    if (contents.kernels_and_ptx() == 0 && contents.warnings.empty())
      fail(path, "holds no file with GPU code");
    return contents;
  }
  return read_binary(open_binary(path), path, triton_launch(path));
}

}  // namespace occbench::binary
