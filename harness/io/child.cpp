// SPDX-License-Identifier: Apache-2.0
#include "harness/io/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench {

std::optional<std::string> find_program(const std::string& name) {
  std::string folders;
  for (const auto& [variable, below] : {std::pair("PATH", ""), {"CUDA_HOME", "/bin"}, {"CUDA_PATH", "/bin"}})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      folders += std::string(value) + below + ":";
  folders += "/usr/local/cuda/bin";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::filesystem::path file = std::filesystem::path(folders.substr(at, end - at)) / name;
    std::error_code error;
    if (file.is_absolute() && std::filesystem::is_regular_file(file, error) &&
        access(file.c_str(), X_OK) == 0)
      return file.string();
    at = end + 1;
  }
  return std::nullopt;
}

ChildOutput run_child(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw UserError(Exit::file, std::string("no pipe: ") + std::strerror(errno));
  const Descriptor from_child(ends[0]);
  Descriptor to_parent(ends[1]);

  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // if ignored, waitpid would lose the exit code
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw UserError(Exit::tool_missing, words[0] + ": cannot be run: " + std::strerror(error));
  to_parent = Descriptor();

  ChildOutput output;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = read(from_child.get(), buffer.data(), buffer.size());
    if (got > 0)
      output.out.append(buffer.data(), static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      break;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace occbench
