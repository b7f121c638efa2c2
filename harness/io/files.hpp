// SPDX-License-Identifier: Apache-2.0
// Result files: replaced atomically, never through a symbolic link, and written by one process at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace occbench {

/// An owned file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Throws UserError(Exit::file): "PATH: WHAT".
[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what);

/// Maximum size of untrusted files, bytes.
constexpr std::size_t parameters_limit = std::size_t{1} << 20;
constexpr std::size_t environment_limit = std::size_t{16} << 20;
constexpr std::size_t cases_limit = std::size_t{256} << 20;
constexpr std::size_t samples_limit = std::size_t{2} << 30;

/// Throws UserError(Exit::file) unless `path` is a readable regular file of at most `limit` bytes. Pipes and
/// devices may never end.
void check_readable(const std::filesystem::path& path, std::size_t limit);
/// Reads a file, with the same checks.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

/// Replaces `path` atomically and durably: readers see the old or the new text, even after a power failure.
/// If `path` is a symbolic link, the link itself is replaced. A device, pipe or socket is refused. Throws
/// UserError(Exit::file).
void replace_file(const std::filesystem::path& path, const std::string& text);

/// The same for a new file; returns false if `path` exists.
bool create_file(const std::filesystem::path& path, const std::string& text);

/// Opens a regular file for appending, without following links. Throws UserError(Exit::file).
Descriptor open_for_append(const std::filesystem::path& path);

/// Appends all of `text`, or nothing if that fails. Throws UserError(Exit::file) with the reason and
/// `advice`.
void append_whole(const Descriptor& file, const std::string& text, const std::filesystem::path& path,
                  const std::string& advice);

/// Exclusive access to a folder during the object's lifetime, by an advisory lock (F_OFD_SETLK) on its file
/// `.lock`. The lock ends with the process. The destructor removes `.lock`, and created folders that are
/// still empty.
class RunFolder {
 public:
  /// Creates `path` if needed. Throws UserError(Exit::file) if that fails or another process has locked it.
  RunFolder(std::filesystem::path path);
  /// `base`, or `base`-2, `base`-3, ...: the first that does not exist.
  static RunFolder fresh(const std::filesystem::path& base);
  RunFolder(RunFolder&&) noexcept = default;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// False on a file system without locks.
  [[nodiscard]] bool is_locked() const { return is_locked_; }
  /// Whether the folder still exists under its name: somebody may have removed or replaced it.
  [[nodiscard]] bool is_there() const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  ///< outermost first
  Descriptor lock_;
  bool is_locked_ = false;
};

/// Opens /dev/null for those of descriptors 0 to 2 that are closed, in a mode in which their use fails.
/// Otherwise the first opened file would get such a descriptor, and messages would be written to it.
void reserve_standard_descriptors();

}  // namespace occbench
