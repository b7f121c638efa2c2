// SPDX-License-Identifier: Apache-2.0
#include "harness/io/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "harness/io/check.hpp"

namespace occbench {

namespace fs = std::filesystem;

namespace {

std::string reason() { return std::strerror(errno); }

/// Writes all of the text; returns an error, or an empty string.
std::string write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return reason();
    done += static_cast<std::size_t>(n);
  }
  return "";
}

/// Writes and syncs a new file next to `path`; returns its name. The name is unpredictable, so it cannot be
/// a planted link.
fs::path write_beside(const fs::path& path, const std::string& text) {
  std::random_device random;
  for (int tries = 0;; ++tries) {
    const fs::path temporary = path.string() + "." + std::to_string(random()) + ".part";
    const Descriptor file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0) {
      if (errno == EEXIST && tries < 100) continue;
      fail(path, "cannot be written: " + reason());
    }
    std::string why = write_all(file.get(), text);
    if (why.empty() && fsync(file.get()) != 0) why = reason();
    if (why.empty()) return temporary;
    static_cast<void>(unlink(temporary.c_str()));
    fail(path, "cannot be written: " + why);
  }
}

/// A rename would take the device, pipe or socket at `path` away from everyone.
void refuse_device(const fs::path& path) {
  const fs::path folder = path.parent_path();
  struct stat status {};
  const bool may_be_replaced = lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) ||
                               S_ISLNK(status.st_mode) || S_ISDIR(status.st_mode);
  // /dev/stdout and the like are links.
  if (!may_be_replaced || folder == "/dev" || folder == "/dev/fd" || folder == "/proc/self/fd")
    fail(path, "cannot be written: is not a regular file");
}

/// Syncs a folder, which makes renames in it durable. File systems without support ignore it.
void sync_folder_of(const fs::path& path) {
  const Descriptor folder(
      open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) static_cast<void>(fsync(folder.get()));
}

bool same_file(int fd, const fs::path& path) {
  struct stat held {
  }, named{};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

fs::path lock_of(const fs::path& folder) { return folder / ".lock"; }

/// Another process has locked the folder.
struct InUse : UserError {
  explicit InUse(const std::string& line) : UserError(Exit::file, line) {}
};

}  // namespace

void fail(const fs::path& path, const std::string& what) {
  throw UserError(Exit::file, path.string() + ": " + what);
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

namespace {

/// Opens without blocking on a pipe.
Descriptor open_to_read(const fs::path& path, std::size_t limit) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be read: " + reason());
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail(path, "cannot be read: " + reason());
  if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file");
  if (static_cast<std::size_t>(status.st_size) > limit)
    fail(path, "has " + std::to_string(status.st_size >> 20) + " MiB, and at most " +
                   std::to_string(limit >> 20) + " are read");
  return file;
}

}  // namespace

void check_readable(const fs::path& path, std::size_t limit) { open_to_read(path, limit); }

std::string read_file(const fs::path& path, std::size_t limit) {
  const Descriptor file = open_to_read(path, limit);
  const std::size_t max_size = limit + 1;  // one more than allowed, in case the file grows
  struct stat now {};
  const std::size_t expected =
      fstat(file.get(), &now) == 0 ? static_cast<std::size_t>(now.st_size) + 1 : max_size;
  std::string text(std::min(expected, max_size), '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) {
      if (size == max_size) break;
      text.resize(std::min(2 * size, max_size));
    }
    const ssize_t n = read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be read: " + reason());
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

void replace_file(const fs::path& path, const std::string& text) {
  refuse_device(path);
  const fs::path temporary = write_beside(path, text);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = reason();
    static_cast<void>(unlink(temporary.c_str()));
    fail(path, "cannot be written: " + why);
  }
  sync_folder_of(path);
}

bool create_file(const fs::path& path, const std::string& text) {
  const fs::path temporary = write_beside(path, text);
  // Unlike rename, link fails if the name exists, also on NFS.
  if (link(temporary.c_str(), path.c_str()) == 0) {
    static_cast<void>(unlink(temporary.c_str()));
    sync_folder_of(path);
    return true;
  }
  const int error = errno;
  if (error != EEXIST && !fs::exists(fs::symlink_status(path)) &&
      rename(temporary.c_str(), path.c_str()) == 0)  // a file system without hard links
    return true;
  static_cast<void>(unlink(temporary.c_str()));
  if (fs::exists(fs::symlink_status(path))) return false;
  fail(path, std::string("cannot be written: ") + std::strerror(error));
}

Descriptor open_for_append(const fs::path& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be written: " + reason());
  return file;
}

void append_whole(const Descriptor& file, const std::string& text, const fs::path& path,
                  const std::string& advice) {
  const off_t before = lseek(file.get(), 0, SEEK_END);
  const std::string why = write_all(file.get(), text);
  if (why.empty()) return;
  if (ftruncate(file.get(), before) != 0) fail(path, why + ", and its last row may be cut off");
  fail(path, why + advice);
}

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error)) fail(path_, "is a file, not a folder");
  for (fs::path up = path_; !up.empty() && !fs::exists(up, error); up = up.parent_path())
    made_.insert(made_.begin(), up);
  fs::create_directories(path_, error);
  if (error) fail(path_, "cannot be created: " + error.message());

  const fs::path name = lock_of(path_);
  for (;;) {
    lock_ = Descriptor(open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    // Its creator may remove the unused folder before we lock it.
    if (lock_.get() < 0 && errno == ENOENT && fs::create_directories(path_, error)) continue;
    if (lock_.get() < 0) fail(path_, "cannot be written: " + reason() + " (.lock)");
    struct stat status {};
    if (fstat(lock_.get(), &status) != 0 || !S_ISREG(status.st_mode)) fail(name, "is not a regular file");
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    is_locked_ = fcntl(lock_.get(), F_OFD_SETLK, &whole) == 0;
    if (!is_locked_ && (errno == EAGAIN || errno == EACCES))
      throw InUse(path_.string() +
                  ": another run is writing there; wait for its end, or name another folder");
    // The previous owner may have removed the lock file: we then locked an unlinked file.
    if (same_file(lock_.get(), name)) return;
  }
}

RunFolder RunFolder::fresh(const fs::path& base) {
  for (int n = 1;; ++n) {
    const fs::path folder = n == 1 ? base : fs::path(base.string() + "-" + std::to_string(n));
    std::error_code error;
    if (fs::exists(fs::symlink_status(folder, error))) continue;
    // Two processes may choose the same free name. If another one was first, the folder is locked or not
    // empty.
    try {
      RunFolder taken(folder);
      if (std::ranges::all_of(fs::directory_iterator(folder),
                              [](const auto& entry) { return entry.path().filename() == ".lock"; }))
        return taken;
    } catch (const InUse&) {
      continue;
    }
  }
}

bool RunFolder::is_there() const { return lock_.get() >= 0 && same_file(lock_.get(), lock_of(path_)); }

RunFolder::~RunFolder() {
  if (!is_there()) return;
  // While still locked: a waiting process then creates a new file.
  static_cast<void>(unlink(lock_of(path_).c_str()));
  std::ranges::for_each(made_.rbegin(), made_.rend(), [](const fs::path& p) { rmdir(p.c_str()); });
}

void reserve_standard_descriptors() {
  for (const int fd : {0, 1, 2})
    if (fcntl(fd, F_GETFD) < 0) {
      const int opened =
          open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // gets the lowest free descriptor: fd
      if (opened != fd) throw UserError(Exit::file, "/dev/null cannot be opened");
    }
}

}  // namespace occbench
