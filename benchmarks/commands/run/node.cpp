// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/run/node.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include "harness/io/check.hpp"

namespace occbench::commands {

namespace {

constexpr std::string_view model = "model:", mig = "MIG-";
constexpr auto poll = std::chrono::milliseconds(50);  // for an exit, or a signal to forward
constexpr int signal_exit = 128;                      // plus the signal's number, as in a shell

volatile std::sig_atomic_t signal_to_forward = 0;

void note_signal(int number) { signal_to_forward = number; }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts{""};
  for (const char c : list)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// As one component of a path.
std::string folder_of_device(std::string name) {
  for (char& c : name)
    if (c == '/' || c == ':') c = '-';
  return name;
}

/// This process's arguments, from `run` on.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1)
    arguments.emplace_back(all.c_str() + at);
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return arguments;
}

struct Child {
  DeviceRun run;
  pid_t id = -1;
  std::FILE* output = nullptr;  // of both streams, in a file without a name; null: it has ended
  int code = 0;
};

Child start(const DeviceRun& run, const std::vector<std::string>& arguments) {
  Child child{.run = run, .output = std::tmpfile()};
  if (child.output == nullptr)
    throw UserError(Exit::file, "no temporary file for the output of a device's run");
  std::vector<std::string> all{"occbench"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  const int file = fileno(child.output);
  child.id = fork();
  if (child.id == 0) {
    setpgid(0, 0);                     // Ctrl-C reaches it once, forwarded by this process
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // it ends with this process
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    if (!run.visible.empty()) setenv("CUDA_VISIBLE_DEVICES", run.visible.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(static_cast<int>(Exit::tool_missing));
  }
  if (child.id < 0) throw UserError(Exit::file, "no process for " + run.label + ": too many run");
  return child;
}

void print_output(Child& child) {
  std::cout << "== " << child.run.label << '\n';
  std::rewind(child.output);
  std::array<char, 4096> part{};
  std::size_t count = 0;
  while ((count = std::fread(part.data(), 1, part.size(), child.output)) > 0)
    std::cout.write(part.data(), static_cast<std::streamsize>(count));
  std::cout << std::endl;
  std::fclose(child.output);
  child.output = nullptr;
}

std::string outcome(int code) {
  if (code == 0) return "done";
  return "ended with " + std::to_string(code);
}

void forward_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(number, note_signal) == SIG_IGN) std::signal(number, SIG_IGN);  // as nohup asks
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, the children's codes are lost
}

/// Until all children have ended: forwards signals, and prints the output of each as it ends.
void wait_for_all(std::vector<Child>& children) {
  std::sig_atomic_t forwarded = 0;  // the last one
  for (std::size_t left = children.size(); left > 0;) {
    int status = 0;
    const pid_t id = waitpid(-1, &status, WNOHANG);
    if (id == 0) {
      std::this_thread::sleep_for(poll);
      if (signal_to_forward != forwarded)
        for (const Child& child : children)
          if (child.output != nullptr) kill(child.id, signal_to_forward);
      forwarded = signal_to_forward;
      continue;
    }
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) break;
    for (Child& child : children) {
      if (child.id != id) continue;
      child.code = WIFSIGNALED(status) ? signal_exit + WTERMSIG(status) : WEXITSTATUS(status);
      print_output(child);
      --left;
    }
  }
}

/// The largest exit code.
int print_outcomes(const std::vector<Child>& children, std::chrono::duration<double> took) {
  int worst = 0;
  for (const Child& child : children) {
    std::cout << child.run.label << ": " << outcome(child.code) << '\n';
    worst = std::max(worst, child.code);
  }
  const auto done = std::ranges::count_if(children, [](const Child& c) { return c.code == 0; });
  std::printf("%td of %zu done in %.0f s\n", done, children.size(), took.count());
  return worst;
}

}  // namespace

bool asks_for_several(const std::string& device) {
  if (device.find(',') == std::string::npos) return device == "all";
  std::error_code error;  // a name may be too long for a file
  return !device.starts_with(model) || !std::filesystem::exists(device.substr(model.size()), error);
}

void select_mig_instance(RunOptions& o) {
  if (!o.device.starts_with(mig)) return;
  setenv("CUDA_VISIBLE_DEVICES", o.device.c_str(), 1);
  o.device = "0";
}

std::vector<DeviceRun> device_runs(const std::string& device, const std::vector<Device>& here) {
  std::vector<DeviceRun> runs;
  const auto add = [&](const Device& d) {
    runs.push_back({.device = d.uuid,
                    .visible = "",
                    .label = d.name + " " + std::to_string(d.index) + " (" + d.uuid + ")",
                    .folder = folder_of_device(d.uuid)});
  };
  if (device == "all") {
    for (const Device& d : here) add(d);
    return runs;
  }
  std::set<std::string> taken;
  for (const std::string& name : split(device)) {
    if (name.empty())
      throw UserError(Exit::usage, "--device " + device + ": a name is empty; give 0,2 or UUIDs, or all");
    if (name == "all") throw UserError(Exit::usage, "--device: all cannot be combined");
    if (name.starts_with(model)) {
      const auto n = std::to_string(runs.size());
      runs.push_back(
          {.device = name, .visible = "", .label = name, .folder = folder_of_device(name) + "-" + n});
    } else if (name.starts_with(mig)) {
      runs.push_back({.device = "0", .visible = name, .label = name, .folder = folder_of_device(name)});
    } else {
      add(*choose_device(here, name).device);
    }
    const DeviceRun& last = runs.back();
    if (!name.starts_with(model) && !taken.insert(last.folder).second)
      throw UserError(Exit::usage, "--device " + device + " names " + last.label + " twice");
  }
  return runs;
}

std::vector<std::string> arguments_for(const DeviceRun& run, const std::vector<std::string>& arguments,
                                       const std::string& output) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--device" || arguments[i] == "--output") {
      ++i;
      continue;
    }
    if (arguments[i].starts_with("--device=") || arguments[i].starts_with("--output=")) continue;
    own.push_back(arguments[i]);
  }
  own.insert(own.end(), {"--device", run.device});
  if (!output.empty())
    own.insert(own.end(), {"--output", (std::filesystem::path(output) / run.folder).string()});
  return own;
}

int run_on_each(const RunOptions& o) {
  for (const auto& [is_given, option] :
       {std::pair{!o.resume.empty(), "--resume"}, std::pair{!o.case_ids.empty(), "--case"},
        std::pair{!o.task_device.empty(), "--task-device"}})
    if (is_given)
      throw UserError(Exit::usage, std::string(option) + " needs a single device, and --device " + o.device +
                                       " names several");
  std::vector<Device> here;
  const auto names = split(o.device);
  if (std::ranges::any_of(names, [](const std::string& name) {
        return !name.empty() && !name.starts_with(model) && !name.starts_with(mig);
      })) {
    std::string why_none;
    here = enumerate_devices(&why_none);
    if (here.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
  }
  const auto runs = device_runs(o.device, here);
  forward_signals();
  const auto began = std::chrono::steady_clock::now();
  std::cerr << "occbench: " << runs.size() << " concurrent runs, a process each" << std::endl;
  std::vector<Child> children;
  for (const DeviceRun& run : runs)
    children.push_back(start(run, arguments_for(run, own_arguments(), o.output)));
  wait_for_all(children);
  return print_outcomes(children, std::chrono::steady_clock::now() - began);
}

}  // namespace occbench::commands
