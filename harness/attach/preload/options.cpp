// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/options.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace occbench::attach {

std::optional<Options> options_from_environment() {
  if (getauxval(AT_SECURE) != 0) return std::nullopt;
  const char* const folder = std::getenv(folder_variable);
  const char* const text = std::getenv(options_variable);
  if (folder == nullptr || *folder != '/' || text == nullptr) return std::nullopt;
  Options o;
  // Compute Sanitizer checks every access: nothing measured beside it means anything.
  for (const char* other : {"CUDA_INJECTION64_PATH", "NV_COMPUTE_SANITIZER_INJECTION_PATH"})
    if (const char* const path = std::getenv(other);
        path != nullptr && std::strstr(path, "anitizer") != nullptr)
      o.stands_back = "compute-sanitizer is in this process: occbench stood back";
  o.folder = folder;
  std::string_view rest = text;
  while (!rest.empty()) {
    const bool is_last = rest.starts_with("kernel=");
    const std::size_t end = is_last ? rest.size() : std::min(rest.find(';'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equal);
    const std::string value(word.substr(equal + 1));
    const auto real = [&] { return std::strtod(value.c_str(), nullptr); };
    const auto whole = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (key == "observe") o.observe = value == "1";
    if (key == "apply") o.apply = value == "1";
    if (key == "all") o.all = value == "1";
    if (key == "by_range") o.by_range = value == "1";
    if (key == "profiler_api") o.profiler_api = value == "1";
    if (key == "timing")
      o.timing = value == "activity" ? Timing::activity
                 : value == "auto"   ? Timing::automatic
                                     : Timing::events;
    if (key == "seed") o.plan.seed = whole();
    if (key == "precision") o.plan.precision = real();
    if (key == "skip") o.plan.warm_up = static_cast<int>(whole());
    if (key == "budget") o.budget = real();
    if (key == "after") o.after = whole();
    if (key == "duration") o.duration_s = real();
    if (key == "limit") o.limit_bytes = whole();
    if (key == "only_child_of") o.only_child_of = static_cast<pid_t>(whole());
    if (key == "kernel") o.kernel = value;
    if (key == "registers") {
      const char* at = value.c_str();
      for (char* stop = nullptr; *at != '\0' && o.registers.size() + first_level < most_arms; at = stop) {
        o.registers.push_back(static_cast<int>(std::strtol(at, &stop, 10)));
        if (stop == at) break;
        if (*stop == ',') ++stop;
      }
    }
    if (key == "levels") {
      o.levels.clear();
      const char* at = value.c_str();
      for (char* stop = nullptr; *at != '\0' && o.levels.size() + first_level < most_arms; at = stop) {
        o.levels.push_back(std::strtod(at, &stop));
        if (stop == at) break;
        if (*stop == ',') ++stop;
      }
    }
  }
  if (o.only_child_of != 0 && getppid() != o.only_child_of) return std::nullopt;
  return o;
}

}  // namespace occbench::attach
