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
constexpr auto look = std::chrono::milliseconds(50);  // for an end, or a signal to pass on
constexpr int signal_exit = 128;                      // and the signal's number, as a shell has it

volatile std::sig_atomic_t signal_to_pass_on = 0;

void note_signal(int number) { signal_to_pass_on = number; }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts{""};
  for (const char c : list)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// As one part of a path.
std::string folder_of_device(std::string name) {
  for (char& c : name)
    if (c == '/' || c == ':') c = '-';
  return name;
}

/// The words that this process was called with, from `run` on.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) words.emplace_back(all.c_str() + at);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

struct Child {
  Place place;
  pid_t id = -1;
  std::FILE* said = nullptr;  // both streams
  int code = 0;
};

/// Begins the process of one place. Its words go to a file without a name.
Child begin(const Place& place, const std::vector<std::string>& words) {
  Child child{.place = place, .said = std::tmpfile()};
  if (child.said == nullptr) throw UserError(Exit::file, "no temporary file for what a device's run says");
  std::vector<std::string> all{"occbench"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  const int file = fileno(child.said);
  child.id = fork();
  if (child.id == 0) {
    setpgid(0, 0);                     // a Ctrl-C reaches it once, by way of this process
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // and it does not go on alone
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    if (!place.visible.empty()) setenv("CUDA_VISIBLE_DEVICES", place.visible.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(static_cast<int>(Exit::tool_missing));
  }
  if (child.id < 0) throw UserError(Exit::file, "no process for " + place.label + ": too many run");
  return child;
}

/// Prints what it said.
void print(Child& child) {
  std::cout << "== " << child.place.label << '\n';
  std::rewind(child.said);
  std::array<char, 4096> part{};
  std::size_t count = 0;
  while ((count = std::fread(part.data(), 1, part.size(), child.said)) > 0)
    std::cout.write(part.data(), static_cast<std::streamsize>(count));
  std::cout << std::endl;
  std::fclose(child.said);
}

std::string outcome(int code) {
  if (code == 0) return "done";
  return "ended with " + std::to_string(code);
}

}  // namespace

bool asks_for_several(const std::string& device) {
  if (device.find(',') == std::string::npos) return device == "all";
  std::error_code error;  // a name that is too long is no file's
  return !device.starts_with(model) || !std::filesystem::exists(device.substr(model.size()), error);
}

void take_instance(RunOptions& o) {
  if (!o.device.starts_with(mig)) return;
  setenv("CUDA_VISIBLE_DEVICES", o.device.c_str(), 1);
  o.device = "0";
}

std::vector<Place> places_of(const std::string& device, const std::vector<Device>& here) {
  std::vector<Place> places;
  const auto add = [&](const Device& d) {
    places.push_back({.device = d.uuid,
                      .visible = "",
                      .label = d.name + " " + std::to_string(d.index) + " (" + d.uuid + ")",
                      .folder = folder_of_device(d.uuid)});
  };
  if (device == "all") {
    for (const Device& d : here) add(d);
    return places;
  }
  std::set<std::string> taken;
  for (const std::string& word : split(device)) {
    if (word.empty())
      throw UserError(Exit::usage, "--device " + device + ": a name is empty; give 0,2 or UUIDs, or all");
    if (word == "all") throw UserError(Exit::usage, "--device: all stands alone");
    if (word.starts_with(model)) {
      const auto n = std::to_string(places.size());
      places.push_back(
          {.device = word, .visible = "", .label = word, .folder = folder_of_device(word) + "-" + n});
    } else if (word.starts_with(mig)) {
      places.push_back({.device = "0", .visible = word, .label = word, .folder = folder_of_device(word)});
    } else {
      add(*choose_device(here, word).device);
    }
    const Place& last = places.back();
    if (!word.starts_with(model) && !taken.insert(last.folder).second)
      throw UserError(Exit::usage, "--device " + device + " names " + last.label + " twice");
  }
  return places;
}

std::vector<std::string> words_for(const Place& place, const std::vector<std::string>& words,
                                   const std::string& output) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--device" || words[i] == "--output") {
      ++i;
      continue;
    }
    if (words[i].starts_with("--device=") || words[i].starts_with("--output=")) continue;
    own.push_back(words[i]);
  }
  own.insert(own.end(), {"--device", place.device});
  if (!output.empty())
    own.insert(own.end(), {"--output", (std::filesystem::path(output) / place.folder).string()});
  return own;
}

int run_on_each(const RunOptions& o) {
  for (const auto& [said, word] :
       {std::pair{!o.resume.empty(), "--resume"}, std::pair{!o.case_ids.empty(), "--case"},
        std::pair{!o.task_device.empty(), "--task-device"}})
    if (said)
      throw UserError(Exit::usage, std::string(word) + " is of one run, and --device " + o.device +
                                       " asks for several; name one device");
  std::vector<Device> here;
  std::string why_none;
  const auto words = split(o.device);
  if (std::ranges::any_of(words, [](const std::string& w) {
        return !w.empty() && !w.starts_with(model) && !w.starts_with(mig);
      })) {
    here = enumerate_devices(&why_none);
    if (here.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
  }
  const auto places = places_of(o.device, here);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(number, note_signal) == SIG_IGN) std::signal(number, SIG_IGN);  // as nohup asks
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, the children's codes are lost
  const auto begun = std::chrono::steady_clock::now();
  std::cerr << "occbench: " << places.size() << " runs at the same time, a process each" << std::endl;
  std::vector<Child> children;
  for (const Place& place : places) children.push_back(begin(place, words_for(place, own_words(), o.output)));
  std::sig_atomic_t told = 0;  // the signal that the children were told last
  for (std::size_t left = children.size(); left > 0;) {
    int status = 0;
    const pid_t id = waitpid(-1, &status, WNOHANG);
    if (id == 0) {
      std::this_thread::sleep_for(look);
      if (signal_to_pass_on != told)
        for (const Child& child : children)
          if (child.said != nullptr) kill(child.id, signal_to_pass_on);
      told = signal_to_pass_on;
      continue;
    }
    if (id < 0 && errno == EINTR) continue;
    if (id < 0) break;
    for (Child& child : children) {
      if (child.id != id) continue;
      child.code = WIFSIGNALED(status) ? signal_exit + WTERMSIG(status) : WEXITSTATUS(status);
      print(child);
      child.said = nullptr;
      --left;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  int worst = 0;
  for (const Child& child : children) {
    std::cout << child.place.label << ": " << outcome(child.code) << '\n';
    worst = std::max(worst, child.code);
  }
  const auto done = std::ranges::count_if(children, [](const Child& c) { return c.code == 0; });
  std::printf("%td of %zu done in %.0f s\n", done, children.size(), took.count());
  return worst;
}

}  // namespace occbench::commands
