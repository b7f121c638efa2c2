// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/options.hpp"

#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/attach/protocol/protocol.hpp"

namespace occbench::commands {

namespace {

/// "90", "90s", "5m", "1h": seconds.
double seconds_of(const std::string& text) {
  double scale = 1;
  std::string number = text;
  if (!text.empty() && std::strchr("smh", text.back()) != nullptr) {
    scale = text.back() == 'm' ? 60 : text.back() == 'h' ? 3600 : 1;
    number.pop_back();
  }
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(number, &end);
  } catch (const std::exception&) {
  }
  if (end != number.size() || !std::isfinite(value) || value < 0)
    throw std::invalid_argument("--duration '" + text + "' is not a time: write 90, 90s or 5m");
  return value * scale;
}

}  // namespace

double share_of(const std::string& text, const std::string& what) {
  const auto refuse = [&]() -> double {
    throw std::invalid_argument(what + " '" + text + "' is not a share: write 3/4, 0.75 or 75%");
  };
  const auto real = [&](const std::string& number) {
    std::size_t end = 0;
    double value = NAN;
    try {
      value = std::stod(number, &end);
    } catch (const std::exception&) {
      refuse();
    }
    return end == number.size() && std::isfinite(value) ? value : refuse();
  };
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const double below = real(text.substr(slash + 1));
    return below > 0 ? real(text.substr(0, slash)) / below : refuse();
  }
  if (text.ends_with('%')) return real(text.substr(0, text.size() - 1)) / 100;
  return real(text);
}

std::vector<double> levels_of(const std::string& text) {
  std::vector<double> levels;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const double share = share_of(text.substr(at, end - at), "--levels");
    if (share <= 0 || share >= 1) throw std::invalid_argument("--levels lie between 0 and 1 of the warps");
    if (std::ranges::find(levels, share) != levels.end())
      throw std::invalid_argument("--levels " + text + " has a share twice");
    levels.push_back(share);
    at = end + 1;
  }
  constexpr std::size_t most = attach::max_levels;
  if (levels.size() > most) throw std::invalid_argument("--levels: at most " + std::to_string(most));
  return levels;
}

void check_pattern(const std::string& pattern, const std::string& option) {
  regex_t compiled{};
  const int error = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return regfree(&compiled);
  char why[120] = "";
  regerror(error, &compiled, why, sizeof why);
  throw std::invalid_argument(option + " '" + pattern + "': " + why);
}

std::string for_library(const AttachOptions& o, const std::vector<double>& levels) {
  const double budget = share_of(o.budget, "--budget"), precision = share_of(o.precision, "--precision");
  if (budget <= 0) throw std::invalid_argument("--budget must be more than 0");
  if (budget > 1 && !o.budget.ends_with('%'))
    throw std::invalid_argument("--budget " + o.budget + " is " + shortest(100 * budget) + " %: write " +
                                o.budget + "% or " + shortest(100 * budget) + "%");
  if (precision <= 0 || precision >= 1) throw std::invalid_argument("--precision lies between 0 and 100%");
  if (o.children != "all" && o.children != "none")
    throw std::invalid_argument("--children takes all or none");
  if (o.timing != "events" && o.timing != "activity" && o.timing != "auto")
    throw std::invalid_argument("--timing takes events, activity or auto");
  constexpr std::int64_t many = 1'000'000'000;
  constexpr std::int64_t least_limit = 65'536;
  std::string options =
      "apply=" + std::string(o.apply.empty() ? "0" : "1") + ";observe=" + std::string(o.observe ? "1" : "0") +
      ";all=" + (o.all ? "1" : "0") + ";by_range=" + (o.by_range ? "1" : "0") +
      ";profiler_api=" + (o.profiler_api ? "1" : "0") + ";counters=" + (o.counters ? "1" : "0") +
      ";timing=" + o.timing + ";seed=" + std::to_string(parse_size(o.seed, "--seed")) +
      ";precision=" + shortest(precision) + ";budget=" + shortest(budget) +
      ";warm_up=" + std::to_string(parse_size(o.skip, "--skip", 0, many)) +
      ";after=" + std::to_string(parse_size(o.after, "--after")) +
      ";duration=" + shortest(seconds_of(o.duration)) +
      ";limit=" + std::to_string(parse_size(o.limit, "--limit", least_limit)) + ";levels=";
  for (const double share : levels) options += (options.back() == '=' ? "" : ",") + shortest(share);
  if (o.sms) options += ";sms=0.75,0.5,0.25";
  if (!o.registers.empty()) {
    if (o.observe) throw std::invalid_argument("--registers changes launches, and --observe none");
    options += ";registers=" + caps_of(o.registers);
  }
  if (o.children == "none") options += ";only_child_of=" + std::to_string(getpid());
  if (!o.kernel.empty()) options += ";kernel=" + o.kernel;
  return options;
}

std::filesystem::path default_folder(const std::vector<std::string>& program) {
  std::string name = std::filesystem::path(program[0]).filename().string();
  if (name.starts_with("python"))
    for (const std::string& word : program)
      if (word.ends_with(".py")) name = std::filesystem::path(word).filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return std::filesystem::path("results") / "attach" / name;
}

}  // namespace occbench::commands
