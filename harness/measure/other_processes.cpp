// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/other_processes.hpp"

#include <algorithm>
#include <span>

namespace occbench {

namespace {

constexpr unsigned busy_percent = 5;  // a desktop's blinking cursor is less
constexpr std::size_t most_named = 3;

/// "4711 python3 (2048 MiB), 4712 (512 MiB) and 2 more"
std::string list_of(const std::vector<nvml::Process>& processes) {
  std::string text;
  for (const nvml::Process& each : std::span(processes).first(std::min(most_named, processes.size()))) {
    text += (text.empty() ? "" : ", ") + std::to_string(each.pid);
    if (!each.name.empty()) text += " " + each.name;
    if (each.memory_bytes > 0) text += " (" + std::to_string(each.memory_bytes >> 20) + " MiB)";
  }
  if (processes.size() > most_named)
    text += " and " + std::to_string(processes.size() - most_named) + " more";
  return text;
}

std::string processes(std::size_t count, const char* which) {
  return std::to_string(count) + " " + which + (count == 1 ? " process" : " processes");
}

}  // namespace

std::string other_gpu_users(const nvml::Monitor& monitor) {
  if (const auto others = monitor.others(); !others.empty())
    return processes(others.size(), "other") + ": " + list_of(others);
  if (const auto busy = monitor.busy_percent(); busy.value_or(0) > busy_percent)
    return "busy " + std::to_string(*busy) + " % of the time";
  return "";
}

std::string wait_for_quiet(const std::function<std::string()>& users, std::chrono::duration<double> timeout,
                           const std::function<void(const std::string&)>& pause) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::string why = users();
  while (!why.empty() && std::chrono::steady_clock::now() < end) {
    pause(why);
    why = users();
  }
  return why;
}

OtherProcesses::OtherProcesses(const std::string& uuid)
    : monitor_(uuid), at_first_(monitor_.others()), errors_at_first_(monitor_.uncorrected_errors()) {}

void OtherProcesses::poll() {
  ++polls_;
  for (nvml::Process& each : monitor_.others())
    if (std::ranges::count(at_first_, each) + std::ranges::count(since_, each) == 0)
      since_.push_back(std::move(each));
  for (const std::string& reason : monitor_.slowdown_reasons()) ++slowed_[reason];
  if (const auto xid = monitor_.xid()) xids_.push_back(*xid);
}

std::string OtherProcesses::summary() const {
  std::string line;
  const auto add = [&](const std::string& more) { line += (line.empty() ? "" : "; ") + more; };
  for (const unsigned long long xid : xids_) add("the driver reported Xid " + std::to_string(xid));
  if (const auto errors = monitor_.uncorrected_errors(); errors && errors > errors_at_first_)
    add(std::to_string(*errors - errors_at_first_.value_or(0)) + " memory errors that ECC could not correct");
  if (!at_first_.empty()) add(processes(at_first_.size(), "other") + " on the GPU: " + list_of(at_first_));
  if (!since_.empty()) add(processes(since_.size(), "other") + " started during the run: " + list_of(since_));
  for (const auto& [reason, count] : slowed_)
    if (reason != "power_cap")
      add("clock lowered (" + reason + ") in " + std::to_string(count) + " of " + std::to_string(polls_) +
          " polls");
  return line;
}

}  // namespace occbench
