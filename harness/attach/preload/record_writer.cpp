// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/record_writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/attach/preload/children.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 16;
constexpr int read_write = PROT_READ | PROT_WRITE;

/// Whether the file may grow to this size. Beyond the limit, SIGXFSZ would end the program.
bool may_hold(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

/// Maps the next `bytes` of the file. Allocates them first, so that a full disk causes no SIGBUS later.
void* map_more(int file, std::size_t from, std::size_t bytes) {
  if (file < 0 || !may_hold(from + bytes) ||
      posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(bytes)) != 0)
    return nullptr;
  void* const mapped = mmap(nullptr, bytes, read_write, MAP_SHARED, file, static_cast<off_t>(from));
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

bool RecordWriter::File::is_open() const {
  struct stat now {};
  return descriptor >= 0 && fstat(descriptor, &now) == 0 && now.st_dev == device && now.st_ino == inode;
}

RecordWriter::File RecordWriter::make(const std::string& path) {
  const int folder = folder_descriptor();
  const char* const name = folder < 0 ? path.c_str() : path.c_str() + path.rfind('/') + 1;
  const int descriptor =
      openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
  struct stat made {};
  if (descriptor < 0 || fstat(descriptor, &made) != 0) return {};
  return {descriptor, made.st_dev, made.st_ino};
}

RecordWriter::RecordWriter(const std::string& folder, std::size_t limit_bytes)
    : folder_(folder), max_windows_(std::max<std::size_t>(limit_bytes / window_bytes, 1)) {
  constexpr int most_of_one_id = 10'000;  // after exec, and if process ids are reused
  const std::string base = folder + "/process-" + std::to_string(getpid());
  std::string name;
  for (int n = 0; n < most_of_one_id && !text_.is_open(); ++n) {
    name = base + "-" + std::to_string(n);
    text_ = make(name + ".txt");
    if (!text_.is_open() && errno != EEXIST) return;
  }
  const File counts = make(name + ".counts");
  counts_ = static_cast<Counts*>(map_more(counts.descriptor, 0, sizeof(Counts)));
  if (counts.is_open()) close(counts.descriptor);
  launches_ = make(name + ".launches");
}

void RecordWriter::write_line(const std::string& line) {
  if (text_.descriptor < 0) return;
  text_bytes_ += line.size();
  const bool is_open = text_.is_open();
  if (is_open && may_hold(text_bytes_) &&
      ::write(text_.descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return;
  if (is_open) close(text_.descriptor);  // the reader drops an unfinished last line
  text_.descriptor = -1;
  end(is_open ? Full::disk : Full::closed);
}

void RecordWriter::write_file(const std::string& name, const std::string& text) const {
  const File file = make(folder_ + '/' + name);
  if (!file.is_open()) return;
  if (may_hold(text.size())) static_cast<void>(!::write(file.descriptor, text.data(), text.size()));
  close(file.descriptor);
}

void RecordWriter::end(Full why) {
  if (counts_ != nullptr) counts_->full = why;
}

void RecordWriter::add(const Launch& launch) {
  if (is_full()) return;
  if (window_ == nullptr || used_ == window_bytes / sizeof(Launch)) {
    if (window_ != nullptr) munmap(window_, window_bytes);
    window_ = nullptr;
    if (windows_ == max_windows_) return end(Full::limit);
    if (!launches_.is_open()) return end(Full::closed);
    window_ = static_cast<Launch*>(map_more(launches_.descriptor, windows_ * window_bytes, window_bytes));
    if (window_ == nullptr) return end(Full::disk);
    ++windows_;
    used_ = 0;
  }
  Launch& place = window_[used_++];
  place.arm = launch.arm;
  place.flags = launch.flags;
  place.thread = launch.thread;
  place.time_us = launch.time_us;
  place.sequence = launch.sequence;
  __atomic_store_n(&place.signature, launch.signature, __ATOMIC_RELEASE);
}

}  // namespace occbench::attach
