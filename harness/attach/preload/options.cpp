// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/options.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace occbench::attach {

namespace {

double real(const std::string& text) { return std::strtod(text.c_str(), nullptr); }
unsigned long long whole(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

/// Numbers separated by commas, at most as many as there are arms.
template <class Number>
std::vector<Number> numbers(const std::string& text, std::size_t most = max_levels) {
  std::vector<Number> all;
  const char* at = text.c_str();
  for (char* stop = nullptr; *at != '\0' && all.size() < most; at = stop) {
    if constexpr (std::is_same_v<Number, int>)
      all.push_back(static_cast<int>(std::strtol(at, &stop, 10)));
    else
      all.push_back(std::strtod(at, &stop));
    if (stop == at) break;
    if (*stop == ',') ++stop;
  }
  return all;
}

struct Option {
  std::string_view key;
  void (*set)(Options&, const std::string&);
};
using O = Options&;
using V = const std::string&;
constexpr Option all_options[] = {
    {"observe", [](O o, V v) { o.observe = v == "1"; }},
    {"apply", [](O o, V v) { o.apply = v == "1"; }},
    {"all", [](O o, V v) { o.all = v == "1"; }},
    {"by_range", [](O o, V v) { o.by_range = v == "1"; }},
    {"profiler_api", [](O o, V v) { o.profiler_api = v == "1"; }},
    {"counters", [](O o, V v) { o.counters = v == "1"; }},
    {"timing",
     [](O o, V v) {
       o.timing = v == "activity" ? Timing::activity : v == "auto" ? Timing::automatic : Timing::events;
     }},
    {"seed", [](O o, V v) { o.plan.seed = whole(v); }},
    {"precision", [](O o, V v) { o.plan.precision = real(v); }},
    {"warm_up", [](O o, V v) { o.plan.warm_up = static_cast<int>(whole(v)); }},
    {"budget", [](O o, V v) { o.budget = real(v); }},
    {"after", [](O o, V v) { o.after = whole(v); }},
    {"duration", [](O o, V v) { o.duration_s = real(v); }},
    {"limit", [](O o, V v) { o.limit_bytes = whole(v); }},
    {"only_child_of", [](O o, V v) { o.only_child_of = static_cast<pid_t>(whole(v)); }},
    {"kernel", [](O o, V v) { o.kernel = v; }},
    {"registers", [](O o, V v) { o.registers = numbers<int>(v); }},
    {"sms", [](O o, V v) { o.sms = numbers<double>(v, max_shares); }},
    {"levels", [](O o, V v) { o.levels = numbers<double>(v); }},
};

void set_all(Options& options, std::string_view rest) {
  while (!rest.empty()) {
    const bool is_last = rest.starts_with("kernel=");  // may contain semicolons
    const std::size_t end = is_last ? rest.size() : std::min(rest.find(';'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    for (const Option& option : all_options)
      if (option.key == word.substr(0, equal)) option.set(options, std::string(word.substr(equal + 1)));
  }
}

}  // namespace

std::optional<Options> options_from_environment() {
  if (getauxval(AT_SECURE) != 0) return std::nullopt;
  const char* const folder = std::getenv(folder_variable);
  const char* const text = std::getenv(options_variable);
  if (folder == nullptr || *folder != '/' || text == nullptr) return std::nullopt;
  Options o;
  // Compute Sanitizer checks every access: times under it mean nothing.
  for (const char* other : {"CUDA_INJECTION64_PATH", "NV_COMPUTE_SANITIZER_INJECTION_PATH"})
    if (const char* const path = std::getenv(other);
        path != nullptr && std::strstr(path, "anitizer") != nullptr)
      o.why_disabled = "compute-sanitizer is in this process: attach disabled itself";
  o.folder = folder;
  set_all(o, text);
  if (o.only_child_of != 0 && getppid() != o.only_child_of) return std::nullopt;
  return o;
}

}  // namespace occbench::attach
