// SPDX-License-Identifier: Apache-2.0
// This code may run between vfork and exec, or in a signal handler: it uses only the stack and system calls,
// and looks up what it needs before main.
#include "harness/attach/preload/children.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/protocol/attachable.hpp"

#define OCCBENCH_EXPORT extern "C" __attribute__((visibility("default")))

namespace occbench::attach {
namespace {

using Words = char* const*;

char folder[PATH_MAX], notes[PATH_MAX];  ///< empty: no child of this process is attached to
struct OpenFolder {
  int descriptor = -1;
  dev_t device = 0;
  ino_t inode = 0;
} open_folder;

/// From the C library, or from another tool that hooks them.
struct Originals {
  int (*execve)(const char*, Words, Words) = nullptr;
  int (*execvpe)(const char*, Words, Words) = nullptr;
  int (*fexecve)(int, Words, Words) = nullptr;
  int (*chroot)(const char*) = nullptr;
  decltype(&posix_spawn) spawn = nullptr, spawnp = nullptr;
} originals;

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(original_dlsym()(RTLD_NEXT, name));
}

__attribute__((constructor)) void prepare() {
  if (original_dlsym() == nullptr) return;
  find(originals.execve, "execve");
  find(originals.execvpe, "execvpe");
  find(originals.fexecve, "fexecve");
  find(originals.chroot, "chroot");
  find(originals.spawn, "posix_spawn");
  find(originals.spawnp, "posix_spawnp");
  try {
    const auto options = options_from_environment();
    if (!options || options->only_child_of != 0 || options->folder.size() + 20 > sizeof folder) return;
    std::strcpy(folder, options->folder.c_str());
    std::strcpy(notes, folder);
    std::strcat(notes, "/");
    std::strcat(notes, not_attached_file);
  } catch (...) {
  }
}

void note(const char* why, const char* name) noexcept {
  if (why == nullptr || notes[0] == '\0') return;
  const int before = errno;
  char line[PATH_MAX + 128];
  std::size_t size = 0;
  for (const char* text : {why, "\t", name})
    for (; *text != '\0' && size + 1 < sizeof line; ++text) line[size++] = *text == '\n' ? ' ' : *text;
  line[size++] = '\n';
  const int at = folder_descriptor();
  const int file = openat(at, at < 0 ? notes : not_attached_file,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat now {};
  rlimit most{};
  // Stays within the file size limit: a write beyond it raises SIGXFSZ.
  if (file >= 0 && fstat(file, &now) == 0 && getrlimit(RLIMIT_FSIZE, &most) == 0 &&
      static_cast<std::size_t>(now.st_size) < max_not_attached_bytes &&
      static_cast<rlim_t>(now.st_size) + size <= most.rlim_cur)
    static_cast<void>(!write(file, line, size));
  if (file >= 0) close(file);
  errno = before;
}

bool has_library(Words environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, "LD_PRELOAD=", 11) == 0)
      return std::strstr(*environment, "liboccbench_attach") != nullptr;
  return false;
}

void note_program(const char* path, Words environment) noexcept {
  if (notes[0] == '\0' || path == nullptr) return;
  const int before = errno;
  const char* const why = why_not_attachable(path);
  if (access(path, X_OK) == 0)
    note(why != nullptr || has_library(environment) ? why : "started without LD_PRELOAD", path);
  errno = before;
}

/// Finds a program as execvp does.
void note_on_path(const char* file, Words environment) noexcept {
  if (notes[0] == '\0' || file == nullptr) return;
  if (std::strchr(file, '/') != nullptr) return note_program(file, environment);
  const int before = errno;
  const char* rest = std::getenv("PATH");
  if (rest == nullptr) rest = "/bin:/usr/bin";
  for (bool is_last = false; !is_last;) {
    const char* const end = strchrnul(rest, ':');
    is_last = *end == '\0';
    char path[PATH_MAX];
    const auto length = static_cast<std::size_t>(end - rest);
    if (length + std::strlen(file) + 2 <= sizeof path) {
      std::memcpy(path, rest, length);
      path[length] = '\0';
      if (length > 0) std::strcat(path, "/");
      std::strcat(path, file);
      if (access(path, X_OK) == 0) {
        note_program(path, environment);
        break;
      }
    }
    rest = end + 1;
  }
  errno = before;
}

int missing() noexcept {
  errno = ENOSYS;
  return -1;
}

int run(const char* path, Words words, Words environment) noexcept {
  note_program(path, environment);
  return originals.execve != nullptr ? originals.execve(path, words, environment)
                                     : static_cast<int>(syscall(SYS_execve, path, words, environment));
}

int run_on_path(const char* file, Words words, Words environment) noexcept {
  note_on_path(file, environment);
  return originals.execvpe != nullptr ? originals.execvpe(file, words, environment) : missing();
}

/// Copies execl's arguments into `words` if they fit. Returns their number, including the null.
std::size_t collect_words(const char* first, va_list* rest, char** words, std::size_t room) noexcept {
  std::size_t count = 0;
  for (const char* word = first;; word = va_arg(*rest, const char*)) {
    if (count < room) words[count] = const_cast<char*>(word);
    ++count;
    if (word == nullptr) return count;
  }
}

}  // namespace

int folder_descriptor() noexcept {
  struct stat now {};
  return open_folder.descriptor >= 0 && fstat(open_folder.descriptor, &now) == 0 &&
                 now.st_dev == open_folder.device && now.st_ino == open_folder.inode
             ? open_folder.descriptor
             : -1;
}

void note_unseen_driver() noexcept {
  if (notes[0] == '\0') return;
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  constexpr const char* driver = "/libcuda.so";
  const std::size_t overlap = std::strlen(driver);
  char text[8192];
  std::size_t carried = 0;
  bool is_there = false;
  for (ssize_t got = 0; !is_there && (got = read(maps, text + carried, sizeof text - carried)) > 0;) {
    const std::size_t size = carried + static_cast<std::size_t>(got);
    is_there = memmem(text, size, driver, overlap) != nullptr;
    carried = size < overlap ? size : overlap;
    std::memmove(text, text + size - carried, carried);
  }
  close(maps);
  if (!is_there) return;
  char name[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
  name[length < 0 ? 0 : length] = '\0';
  note("bypasses occbench's hooks, for example by RTLD_DEEPBIND", name);
}

}  // namespace occbench::attach

using namespace occbench::attach;

OCCBENCH_EXPORT int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  return run(path, words, environment);
}
OCCBENCH_EXPORT int execv(const char* path, char* const words[]) noexcept {
  return run(path, words, environ);
}
OCCBENCH_EXPORT int execvp(const char* file, char* const words[]) noexcept {
  return run_on_path(file, words, environ);
}
OCCBENCH_EXPORT int execvpe(const char* file, char* const words[], char* const environment[]) noexcept {
  return run_on_path(file, words, environment);
}
OCCBENCH_EXPORT int fexecve(int file, char* const words[], char* const environment[]) noexcept {
  char path[32] = "/proc/self/fd/";
  char* end = path + std::strlen(path);
  for (int scale = 1'000'000'000, is_begun = 0; scale > 0; scale /= 10)
    if (file / scale > 0 || is_begun != 0 || scale == 1) {
      *end++ = static_cast<char>('0' + file / scale % 10);
      is_begun = 1;
    }
  note_program(path, environment);
  return originals.fexecve != nullptr ? originals.fexecve(file, words, environment) : missing();
}
OCCBENCH_EXPORT int posix_spawn(pid_t* id, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const words[],
                                char* const environment[]) {
  note_program(path, environment);
  return originals.spawn != nullptr ? originals.spawn(id, path, actions, attributes, words, environment)
                                    : ENOSYS;
}
OCCBENCH_EXPORT int posix_spawnp(pid_t* id, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const words[],
                                 char* const environment[]) {
  note_on_path(file, environment);
  return originals.spawnp != nullptr ? originals.spawnp(id, file, actions, attributes, words, environment)
                                     : ENOSYS;
}

// Counts first, then copies onto the stack: no other memory is available.
#define OCCBENCH_EXECL(symbol, get_environment, call)                                  \
  OCCBENCH_EXPORT int symbol(const char* path, const char* first, ...) noexcept {      \
    va_list rest;                                                                      \
    va_start(rest, first);                                                             \
    const std::size_t count = collect_words(first, &rest, nullptr, 0);                 \
    va_end(rest);                                                                      \
    auto** const words = static_cast<char**>(__builtin_alloca(count * sizeof(char*))); \
    va_start(rest, first);                                                             \
    collect_words(first, &rest, words, count);                                         \
    char* const* const environment = get_environment;                                  \
    va_end(rest);                                                                      \
    return call(path, words, environment);                                             \
  }
OCCBENCH_EXECL(execl, environ, run)
OCCBENCH_EXECL(execlp, environ, run_on_path)
OCCBENCH_EXECL(execle, va_arg(rest, char* const*), run)

/// Keeps the folder open for later notes.
OCCBENCH_EXPORT int chroot(const char* path) noexcept {
  if (notes[0] != '\0' && folder_descriptor() < 0) {
    const int before = errno;
    open_folder.descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat now {};
    if (open_folder.descriptor >= 0 && fstat(open_folder.descriptor, &now) == 0) {
      open_folder.device = now.st_dev;
      open_folder.inode = now.st_ino;
    }
    errno = before;
  }
  return originals.chroot != nullptr ? originals.chroot(path) : static_cast<int>(syscall(SYS_chroot, path));
}
