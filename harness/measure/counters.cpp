// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/counters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "harness/io/check.hpp"

namespace occbench {

namespace {

/// A metric by Nsight Compute's name, and the field of its value. Percentages become fractions.
struct Metric {
  bool CounterGroups::*group;
  const char* name;
  double unit;
  std::optional<double> Counts::*value;
};
constexpr std::array<Metric, 8> metrics{{
    {&CounterGroups::occupancy, "sm__warps_active.avg.pct_of_peak_sustained_active", 0.01,
     &Counts::occupancy},
    {&CounterGroups::occupancy, "sm__issue_active.avg.pct_of_peak_sustained_active", 0.01,
     &Counts::issue_active},
    {&CounterGroups::occupancy, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", 0.01,
     &Counts::fma_active},
    {&CounterGroups::occupancy, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 0.01,
     &Counts::tensor_active},
    {&CounterGroups::memory, "dram__bytes_read.sum", 1, &Counts::dram_read_bytes},
    {&CounterGroups::memory, "dram__bytes_write.sum", 1, &Counts::dram_write_bytes},
    {&CounterGroups::memory, "lts__t_bytes.sum", 1, &Counts::l2_bytes},
    {&CounterGroups::memory, "l1tex__t_bytes.sum", 1, &Counts::l1_bytes},
}};

/// All stall reasons except `selected`, which is not a stall; a chip has most of them.
constexpr std::string_view stall_begin = "smsp__average_warps_issue_stalled_";
constexpr std::string_view stall_end = "_per_issue_active.ratio";
constexpr const char* stall_reasons[] = {
    "barrier",         "branch_resolving",   "dispatch_stall", "drain",        "gmma",
    "imc_miss",        "lg_throttle",        "membar",         "mio_throttle", "misc",
    "long_scoreboard", "math_pipe_throttle", "no_instruction", "not_selected", "short_scoreboard",
    "sleeping",        "tex_throttle",       "wait",
};

std::string stall_metric(std::string_view reason) {
  return std::string(stall_begin).append(reason).append(stall_end);
}

/// Says what a failure means and how to fix it; CUPTI's message follows in brackets.
struct Explanation {
  int result;
  const char* text;
};
constexpr Explanation explanations[] = {
    {cupti::no_headers, "built without CUPTI: build again with the CUPTI headers of CUDA 12.6 or newer"},
    {cupti::library_missing,
     "CUPTI's library is missing: install it (cuda-cupti) or name its folder in LD_LIBRARY_PATH"},
    {cupti::library_too_old, "CUPTI's library is too old: install that of the toolkit of this build"},
    {cupti::not_initialized, "CUPTI does not reach the driver: it may be older than the library"},
    {cupti::insufficient_privileges,
     "no permission to read counters: run as root, or load the driver's module with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {cupti::virtualized_device_not_supported, "virtualised GPU: its counters cannot be read"},
    {cupti::virtualized_device_insufficient_privileges,
     "virtualised GPU: the hypervisor denies access to its counters"},
    {cupti::mig_device_not_supported, "a MIG instance: its counters cannot be read"},
    {cupti::disabled, "another profiler is attached: run without it"},
    {cupti::hardware_busy, "another profiler holds the counters: end it"},
    {cupti::old_profiler_api_initialized, "another profiler is attached: run without it"},
    {cupti::multiple_subscribers_not_supported, "another profiler is attached: run without it"},
    {cupti::confidential_computing_not_supported, "confidential computing is on: no counters"},
    {cupti::cmp_device_not_supported, "this GPU's counters cannot be read"},
    {cupti::sli_device_not_supported, "this GPU is part of an SLI group: no counters"},
    {cupti::wsl_device_not_supported, "no counters under WSL"},
    {cupti::not_supported, "not supported on this system"},
    {cupti::invalid_chip_name, "CUPTI does not know this GPU: install a newer one"},
};

std::string why_not(const cupti::Error& error) {
  const auto* found = std::ranges::find(explanations, error.result(), &Explanation::result);
  const std::string text = found == std::end(explanations) ? "CUPTI failed" : found->text;
  return text + " (" + error.what() + ")";
}

/// The three reasons that stall most warps, in warps per instruction issued.
std::string longest(std::vector<std::pair<double, std::string>> stalls) {
  std::ranges::stable_sort(stalls, std::ranges::greater{}, &std::pair<double, std::string>::first);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, stalls.size()); ++i) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), " %.2f", stalls[i].first);
    text += (text.empty() ? "" : "; ") + stalls[i].second + number.data();
  }
  return text;
}

}  // namespace

CounterGroups parse_counter_groups(const std::vector<std::string>& names) {
  CounterGroups groups;
  for (const std::string& name : names) {
    if (name == "occupancy")
      groups.occupancy = true;
    else if (name == "memory")
      groups.memory = true;
    else if (name == "stalls")
      groups.stalls = true;
    else if (name != "none" || names.size() > 1)
      throw UserError(Exit::usage,
                      "--counters takes occupancy, memory and stalls, or none alone; not '" + name + "'");
  }
  return groups;
}

Counters::Counters(const CounterGroups& groups, Open open) : groups_(groups), open_(std::move(open)) {}

Counters::~Counters() { release(); }

void Counters::release() noexcept {
  if (std::exchange(attached_, false)) profiler_->disable();
}

void Counters::open_profiler() {
  profiler_ = open_();
  for (const Metric& metric : metrics) {
    if (!(groups_.*metric.group)) continue;
    if (profiler_->has_metric(metric.name))
      metrics_.emplace_back(metric.name);
    else
      missing_ += (missing_.empty() ? "" : ", ") + std::string(metric.name);
  }
  if (!groups_.stalls) return;
  const std::size_t others = metrics_.size();
  for (const char* reason : stall_reasons)
    if (std::string name = stall_metric(reason); profiler_->has_metric(name))
      metrics_.push_back(std::move(name));
  if (metrics_.size() == others) missing_ += (missing_.empty() ? "" : ", ") + stall_metric("*");
}

void Counters::attach() {
  if (!profiler_) open_profiler();
  if (attached_ || metrics_.empty()) return;
  attached_ = true;  // must be disabled even when only half enabled
  profiler_->enable(metrics_);
}

Counts Counters::read(const std::vector<double>& values) const {
  Counts counts{.status = missing_.empty() ? "ok" : profiler_->chip() + " has no " + missing_};
  std::vector<std::pair<double, std::string>> stalls;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;  // a ratio to something that never happened
    const std::string& name = metrics_[i];
    if (const auto* metric = std::ranges::find(metrics, name, &Metric::name); metric != metrics.end())
      counts.*metric->value = metric->unit * values[i];
    else
      stalls.emplace_back(
          values[i], name.substr(stall_begin.size(), name.size() - stall_begin.size() - stall_end.size()));
  }
  counts.stalls = longest(std::move(stalls));
  return counts;
}

Counts Counters::count(const std::function<void()>& prepare, const std::function<void()>& launch) {
  if (denied_) return *denied_;
  try {
    attach();
  } catch (const cupti::Error& error) {  // the same for every case
    release();
    denied_ = Counts{.status = why_not(error)};
    return *denied_;
  }
  if (metrics_.empty()) return read({});
  try {
    constexpr int max_passes = 100;
    for (int pass = 0; pass < max_passes; ++pass) {
      prepare();
      profiler_->begin_pass();
      launch();
      if (profiler_->end_pass()) return read(profiler_->values());
    }
    release();
    return {.status = "CUPTI needs more than " + std::to_string(max_passes) + " passes"};
  } catch (const cupti::Error& error) {  // it may concern only this case: the next case tries again
    release();
    return {.status = why_not(error)};
  } catch (...) {
    release();
    throw;
  }
}

}  // namespace occbench
