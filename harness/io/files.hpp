// SPDX-License-Identifier: Apache-2.0
// Files of results: replaced whole, never through a link out of their folder, and written by one program at a
// time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace occbench {

/// An open file, closed with its owner.
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

/// Most that is read of a file that somebody may have sent, bytes.
constexpr std::size_t parameters_limit = std::size_t{1} << 20;
constexpr std::size_t environment_limit = std::size_t{16} << 20;
constexpr std::size_t cases_limit = std::size_t{256} << 20;
constexpr std::size_t samples_limit = std::size_t{2} << 30;

/// Throws UserError(Exit::file) where `path` is no regular file, of at most `limit` bytes, that can be read.
/// A pipe or device would never end.
void check_readable(const std::filesystem::path& path, std::size_t limit);
/// Its bytes, checked so.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

/// Replaces `path` in one step: readers see the old text or the new, never a part, and so does whoever comes
/// after a power cut. Where `path` is a link, the link gives way and what it points to stays. Throws
/// UserError(Exit::file).
void replace_file(const std::filesystem::path& path, const std::string& text);

/// The same for a file that must be new; false where `path` is taken, whatever by.
bool create_file(const std::filesystem::path& path, const std::string& text);

/// Opens a regular file to write behind its end, not through a link. Throws UserError(Exit::file).
Descriptor open_for_append(const std::filesystem::path& path);

/// Writes all of `text` behind the end or, when the disk refuses, nothing of it. Throws UserError(Exit::file)
/// with `advice` behind the reason.
void append_whole(const Descriptor& file, const std::string& text, const std::filesystem::path& path,
                  const std::string& advice);

/// A folder that this program alone writes to, for as long as the object lives. The lock is advisory and on
/// the folder's file `.lock` (F_OFD_SETLK): it ends with the program, however that ends, and the file with
/// the object. Folders that had to be made for it go again if they stay empty.
class RunFolder {
 public:
  /// Throws UserError(Exit::file) where `path` is no folder and cannot be made one, or another program has
  /// it.
  // Not explicit: a path is what most callers have.
  RunFolder(std::filesystem::path path);
  /// `base`, or it with -2, -3, ... behind: the first that is not there yet.
  static RunFolder fresh(const std::filesystem::path& base);
  RunFolder(RunFolder&&) noexcept = default;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// False on a file system without locks: then nothing keeps another program out.
  [[nodiscard]] bool is_locked() const { return is_locked_; }
  /// Whether the folder is still there by its name, and this program's: somebody may have removed it.
  [[nodiscard]] bool is_there() const;

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  ///< outermost first
  Descriptor lock_;
  bool is_locked_ = false;
};

/// Descriptors 0 to 2 are somebody's from here on: what the caller closed becomes /dev/null, opened so that
/// using it fails as it would closed. Without that the first file opened would take their place, and messages
/// for it.
void reserve_standard_descriptors();

}  // namespace occbench
