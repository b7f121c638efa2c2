// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/exec_resume.hpp"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace occbench {

namespace {
constexpr const char* rows_before = "OCCBENCH_ROWS_BEFORE";  // in the environment of who goes on
}

void exec_resume(const std::vector<std::string>& words, std::size_t rows) {
  if (const char* const before = std::getenv(rows_before);
      before && rows <= std::strtoul(before, nullptr, 10))
    return;  // it would go on for ever
  setenv(rows_before, std::to_string(rows).c_str(), 1);
  std::vector<std::string> all{"occbench", "run"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::cout.flush();
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);  // which outlives the program
  // The driver's files, the lock of the folder and its rows: the driver ends a kernel when they close.
  const long most = sysconf(_SC_OPEN_MAX);
  for (int file = 3; file < (most > 0 && most < 65536 ? most : 65536); ++file)
    if (const int flags = fcntl(file, F_GETFD); flags >= 0) fcntl(file, F_SETFD, flags | FD_CLOEXEC);
  execv("/proc/self/exe", argv.data());
}

bool goes_on_for_another() { return std::getenv(rows_before) != nullptr; }

}  // namespace occbench
