// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach_program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "harness/io/check.hpp"

namespace occbench::commands {

namespace {

constexpr int signal_exit = 128, not_runnable = 126, not_found = 127;

volatile std::sig_atomic_t child = 0;

void pass_on(int number) {
  if (child > 0) kill(child, number);
}

constexpr int to_write = O_WRONLY | O_CREAT | O_TRUNC;

/// Opens a file as this descriptor.
bool place(const std::string& path, int how, int descriptor) {
  const int opened = open(path.c_str(), how | O_CLOEXEC, 0600);
  return opened >= 0 && dup2(opened, descriptor) >= 0;
}

/// What this process does about signals while the program runs; as before at the end.
class Signals {
 public:
  Signals() {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      struct sigaction action {};
      action.sa_handler = kinds[i].second;
      action.sa_flags = SA_RESTART;
      sigaction(kinds[i].first, &action, &before_[i]);
    }
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { restore(); }
  void restore() const {
    for (std::size_t i = 0; i < kinds.size(); ++i) sigaction(kinds[i].first, &before_[i], nullptr);
  }

 private:
  // A terminal sends the first two to both.
  inline static const std::array<std::pair<int, void (*)(int)>, 4> kinds{
      {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTERM, pass_on}, {SIGHUP, pass_on}}};
  std::array<struct sigaction, 4> before_{};
};

}  // namespace

AttachLibrary::AttachLibrary() {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const char* const name = "liboccbench_attach.so";
  for (const char* place : {"../lib/occbench", "../harness"}) {  // installed, and in a build
    path_ = std::filesystem::weakly_canonical(here / place / name, error).string();
    if (std::filesystem::is_regular_file(path_, error)) break;
    path_.clear();
  }
  if (path_.empty())
    throw UserError(Exit::tool_missing, std::string(name) + " is not beside this program; install both");
  constexpr const char* separators = " \t\n\v\f\r:";
  if (path_.find_first_of(separators) == std::string::npos) return;
  std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error || folder.find_first_of(separators) != std::string::npos) folder = "/tmp";
  folder += "/occbench-attach-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    throw UserError(Exit::file, "'" + path_ +
                                    "' has a blank or colon, which LD_PRELOAD cannot name, and no link " +
                                    "to it can be made as '" + folder + "': " + strerror(errno));
  folder_of_link_ = folder;
  const std::filesystem::path link = folder_of_link_ / name;
  std::filesystem::create_symlink(path_, link);
  path_ = link.string();
}

AttachLibrary::~AttachLibrary() {
  std::error_code error;
  if (!folder_of_link_.empty()) std::filesystem::remove_all(folder_of_link_, error);
}

std::string path_of_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = name.find('/') != std::string::npos || path == nullptr ? "" : path;
  std::string file = name;
  for (bool is_found = !name.empty() && name.find('/') != std::string::npos; !is_found && !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    file = std::string(rest.substr(0, end)) + '/' + name;
    is_found = access(file.c_str(), X_OK) == 0;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return file;
}

void check_program(const std::string& name) {
  const std::string file = path_of_program(name);
  struct stat found {};
  if (stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const bool changes_user = (found.st_mode & S_ISUID) != 0 && found.st_uid != geteuid();
  const bool changes_group = (found.st_mode & S_ISGID) != 0 && found.st_gid != getegid();
  if (!changes_user && !changes_group) return;
  throw UserError(Exit::usage, "'" + name +
                                   "' runs with another user's rights (setuid), so that nothing can be "
                                   "attached to it: start occbench inside it");
}

Ended run_attached(const ProgramRun& run) {
  std::vector<char*> words;
  words.reserve(run.program.size() + 1);
  for (const std::string& word : run.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string preload =
      before == nullptr || *before == '\0' ? run.library : before + (':' + run.library);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(Exit::file, "no pipe: " + std::string(strerror(errno)));
  const Signals signals;
  const auto begun = std::chrono::steady_clock::now();
  const pid_t id = fork();
  if (id == 0) {
    signals.restore();
    if (!run.library.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
    for (const auto& [name, value] : run.variables) setenv(name.c_str(), value.c_str(), 1);
    const bool is_placed = (run.output.empty() || (place("/dev/null", O_RDONLY, STDIN_FILENO) &&
                                                   place(run.output, to_write, STDOUT_FILENO))) &&
                           (run.errors.empty() || place(run.errors, to_write, STDERR_FILENO));
    if (is_placed) execvp(words[0], words.data());
    const int error = errno;
    static_cast<void>(!write(ends[1], &error, sizeof error));
    _exit(not_found);
  }
  close(ends[1]);
  if (id < 0) {
    close(ends[0]);
    throw UserError(Exit::file, "no process: " + std::string(strerror(errno)));
  }
  child = id;
  int error = 0;
  const bool has_failed = read(ends[0], &error, sizeof error) == sizeof error;  // the end of a pipe: it runs
  close(ends[0]);
  int status = 0;
  const int how = run.meanwhile ? WNOHANG : 0;
  for (pid_t ended = 0; ended != id; ended = waitpid(id, &status, how)) {
    if (ended < 0 && errno != EINTR) break;
    if (run.meanwhile) {
      run.meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  child = 0;
  Ended ended{.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()};
  const std::string name = "'" + run.program[0] + "'";
  if (has_failed) {
    ended.code = error == ENOENT ? not_found : not_runnable;
    ended.why = name + ": " + strerror(error);
  } else if (WIFSIGNALED(status)) {
    ended.code = signal_exit + WTERMSIG(status);
    ended.why = name + " was ended by signal " + std::to_string(WTERMSIG(status)) + ", " +
                strsignal(WTERMSIG(status));
  } else {
    ended.code = WEXITSTATUS(status);
  }
  return ended;
}

}  // namespace occbench::commands
