// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/program.hpp"

#include <fcntl.h>
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
#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "harness/attach/protocol/attachable.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {

namespace {

constexpr int signal_exit = 128, not_runnable = 126, not_found = 127;

volatile std::sig_atomic_t child = 0;

/// The kernel sends these to every process that they concern: those of a terminal's foreground, or one that
/// has used up its CPU time.
bool has_own(int number) {
  constexpr std::array all{SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGXCPU};
  return std::ranges::find(all, number) != all.end();
}

/// Does what the signal does without a handler. Returns when this process is continued, where that is a stop.
void act_by_default(int number) {
  struct sigaction by_default {
  }, before{};
  by_default.sa_handler = SIG_DFL;
  sigset_t only, mask;
  sigemptyset(&only);
  sigaddset(&only, number);
  sigaction(number, &by_default, &before);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &only, &mask);  // here it ends or stops
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  sigaction(number, &before, nullptr);
}

void pass_on(int number, siginfo_t* info, void*) {
  const int error = errno;
  const bool is_sent = info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
  const bool is_own = is_sent && (info->si_pid == getpid() || info->si_pid == child);
  const bool is_for_each = !is_sent && has_own(number);
  if (child > 0 && !is_own && !is_for_each &&
      (info->si_code != SI_QUEUE || sigqueue(child, number, info->si_value) != 0))
    kill(child, number);
  if (number == SIGTSTP || (child == 0 && is_for_each)) act_by_default(number);
  errno = error;
}

constexpr int to_write = O_WRONLY | O_CREAT | O_TRUNC;

/// Why the program did not start: it cannot be run, or a file for its output cannot be opened.
struct Failure {
  int error = 0;
  bool is_of_output = false;
};

/// Opens a file as this descriptor.
bool place(const std::string& path, int how, int descriptor) {
  const int opened = open(path.c_str(), how | O_CLOEXEC, 0600);
  return opened >= 0 && dup2(opened, descriptor) >= 0;
}

/// Signals that end or stop this process and that another process may send; not its own faults.
bool is_passed_on(int number) {
  if (number >= SIGRTMIN && number <= SIGRTMAX) return true;
  constexpr std::array all{SIGHUP,  SIGINT,  SIGQUIT, SIGABRT,   SIGUSR1, SIGUSR2,
                           SIGALRM, SIGTERM, SIGCONT, SIGTSTP,   SIGXCPU, SIGVTALRM,
                           SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT, SIGWINCH};
  return std::ranges::find(all, number) != all.end();
}

/// The dispositions and the mask that this process was started with.
struct FirstSignals {
  std::array<struct sigaction, NSIG> dispositions{};
  sigset_t mask{}, passed_on{};

  FirstSignals() {
    sigemptyset(&passed_on);
    for (int number = 1; number < NSIG; ++number) {
      sigaction(number, nullptr, &dispositions[number]);
      if (is_passed_on(number)) sigaddset(&passed_on, number);
    }
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  }
};
const FirstSignals& first_signals() {
  static const FirstSignals first;
  return first;
}

/// Passes signals on to the program while it runs. The program starts with the first dispositions and mask.
class Signals {
 public:
  Signals() {
    hold_signals();
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_mask = first_.passed_on;
    each([&](int number) { sigaction(number, &action, nullptr); });
    std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, the program's code is lost
    std::signal(SIGPIPE, SIG_IGN);  // to the end: the results are written even where nobody reads the table
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  /// The handler stays, so that the results are written whatever a process sends. Ctrl-C ends that.
  ~Signals() {
    sigaction(SIGCHLD, &first_.dispositions[SIGCHLD], nullptr);
    pthread_sigmask(SIG_SETMASK, &first_.mask, nullptr);
  }
  void begin(pid_t id) const {
    child = id;
    pthread_sigmask(SIG_UNBLOCK, &first_.passed_on, nullptr);
  }
  void end() const {
    hold_signals();
    child = 0;
  }
  void restore_in_child() const {
    each([&](int number) { sigaction(number, &first_.dispositions[number], nullptr); });
    for (const int number : {SIGCHLD, SIGPIPE}) sigaction(number, &first_.dispositions[number], nullptr);
    pthread_sigmask(SIG_SETMASK, &first_.mask, nullptr);
  }

 private:
  template <class Do>
  void each(const Do& act) const {
    for (int number = 1; number < NSIG; ++number)
      if (sigismember(&first_.passed_on, number) == 1) act(number);
  }

  const FirstSignals& first_ = first_signals();
};

}  // namespace

void hold_signals() { pthread_sigmask(SIG_BLOCK, &first_signals().passed_on, nullptr); }

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
  const char* const why = attach::why_not_attachable(path_of_program(name).c_str());
  if (why == nullptr || std::string_view(why) != attach::with_other_rights) return;
  throw UserError(Exit::usage, "'" + name +
                                   "' runs with another user's rights (setuid), so that nothing can be "
                                   "attached to it: start occbench inside it");
}

namespace {

/// A pipe that closes when the program runs, and carries a Failure when it does not.
class StartPipe {
 public:
  StartPipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) throw UserError(Exit::file, "no pipe: " + std::string(strerror(errno)));
  }
  StartPipe(const StartPipe&) = delete;
  StartPipe& operator=(const StartPipe&) = delete;
  ~StartPipe() {
    close(ends_[0]);
    close_write_end();
  }
  void close_write_end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  /// In the child.
  void send(const Failure& failure) const { static_cast<void>(!write(ends_[1], &failure, sizeof failure)); }
  /// Waits for either; nullopt: the program runs.
  [[nodiscard]] std::optional<Failure> receive() const {
    Failure failure;
    ssize_t got = 0;
    do got = read(ends_[0], &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    return got == sizeof failure ? std::optional(failure) : std::nullopt;
  }

 private:
  int ends_[2] = {-1, -1};
};

/// In the child: becomes the program. Between fork and exec.
[[noreturn]] void become_program(const ProgramRun& run, char* const* words, const char* preload,
                                 const StartPipe& pipe) {
  if (!run.library.empty()) setenv("LD_PRELOAD", preload, 1);
  for (const auto& [name, value] : run.variables) setenv(name.c_str(), value.c_str(), 1);
  const bool is_placed = (run.output.empty() || (place("/dev/null", O_RDONLY, STDIN_FILENO) &&
                                                 place(run.output, to_write, STDOUT_FILENO))) &&
                         (run.errors.empty() || place(run.errors, to_write, STDERR_FILENO));
  if (is_placed) execvp(words[0], words);
  pipe.send({.error = errno, .is_of_output = !is_placed});
  _exit(not_found);
}

/// Waits until the child has ended, which it leaves to be waited for, so that its number stays its own.
void wait_for_end(pid_t id, const std::function<void()>& meanwhile) {
  const int how = WEXITED | WNOWAIT | (meanwhile ? WNOHANG : 0);
  for (siginfo_t seen{}; seen.si_pid != id;) {
    if (waitid(P_PID, static_cast<id_t>(id), &seen, how) != 0 && errno != EINTR) break;
    if (meanwhile && seen.si_pid != id) {
      meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

/// By the status of waitpid, or why the program did not begin.
ProgramExit exit_of(const ProgramRun& run, int status, const std::optional<Failure>& failure) {
  const std::string name = "'" + run.program[0] + "'";
  if (failure && failure->is_of_output)
    throw UserError(Exit::file, run.output + ": cannot be written: " + strerror(failure->error));
  if (failure)
    return {.code = failure->error == ENOENT ? not_found : not_runnable,
            .why = name + ": " + strerror(failure->error)};
  if (!WIFSIGNALED(status)) return {.code = WEXITSTATUS(status)};
  const int number = WTERMSIG(status);
  return {.code = signal_exit + number,
          .why = name + " was ended by signal " + std::to_string(number) + ", " + strsignal(number)};
}

}  // namespace

ProgramExit run_attached(const ProgramRun& run) {
  std::vector<char*> words;
  words.reserve(run.program.size() + 1);
  for (const std::string& word : run.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string preload =
      before == nullptr || *before == '\0' ? run.library : before + (':' + run.library);

  StartPipe pipe;
  const Signals signals;
  const auto begun = std::chrono::steady_clock::now();
  const pid_t id = fork();
  if (id < 0) throw UserError(Exit::file, "no process: " + std::string(strerror(errno)));
  if (id == 0) {
    signals.restore_in_child();
    become_program(run, words.data(), preload.c_str(), pipe);
  }
  pipe.close_write_end();
  signals.begin(id);
  const std::optional<Failure> failure = pipe.receive();
  wait_for_end(id, run.meanwhile);
  signals.end();  // before its number may be another's
  int status = 0;
  waitpid(id, &status, 0);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  ProgramExit result = exit_of(run, status, failure);
  result.wall_s = wall.count();
  return result;
}

}  // namespace occbench::commands
