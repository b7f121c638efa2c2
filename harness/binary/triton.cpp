// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/triton.hpp"

#include <filesystem>

#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/io/json.hpp"

namespace occbench::binary {

TritonLaunch triton_launch(const std::string& cubin) {
  TritonLaunch launch;
  std::filesystem::path json_path = cubin;
  std::error_code error;
  if (json_path.extension() != ".cubin") return launch;
  json_path.replace_extension(".json");
  if (!std::filesystem::is_regular_file(json_path, error)) return launch;
  try {
    const nlohmann::json json = parse_json(read_file(json_path, environment_limit));
    const auto number = [&](const char* key, std::int64_t max) -> std::optional<std::int64_t> {
      const auto found = json.find(key);
      if (found == json.end() || !found->is_number_integer()) return std::nullopt;
      const auto value = found->get<std::int64_t>();
      return value >= 0 && value <= max ? std::optional(value) : std::nullopt;
    };
    constexpr int most_warps = 32, warp = 32;
    if (const auto warps = number("num_warps", most_warps))
      launch.block_size = static_cast<int>(*warps) * warp;
    if (const auto bytes = number("shared", 1 << 20))
      launch.dynamic_smem_bytes = static_cast<std::size_t>(*bytes);
  } catch (const std::invalid_argument&) {  // not a Triton file: ignored
  } catch (const UserError&) {
  }
  return launch;
}

}  // namespace occbench::binary
