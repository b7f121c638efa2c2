// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/journal.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace occbench::attach {

namespace {

constexpr std::size_t window_bytes = std::size_t{1} << 16;
constexpr int read_write = PROT_READ | PROT_WRITE;

int make(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
}

/// The next `bytes` of the file, their room reserved: a full disk is no SIGBUS later.
void* map_more(int file, std::size_t from, std::size_t bytes) {
  if (file < 0 || posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(bytes)) != 0)
    return nullptr;
  void* const mapped = mmap(nullptr, bytes, read_write, MAP_SHARED, file, static_cast<off_t>(from));
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

Journal::Journal(const std::string& folder, std::size_t limit_bytes)
    : most_windows_(std::max<std::size_t>(limit_bytes / window_bytes, 1)) {
  constexpr int most_of_one_id = 10'000;  // after exec, and where ids come again
  const std::string base = folder + "/process-" + std::to_string(getpid());
  std::string name;
  for (int n = 0; n < most_of_one_id && text_ < 0; ++n) {
    name = base + "-" + std::to_string(n);
    text_ = make(name + ".txt");
    if (text_ < 0 && errno != EEXIST) return;
  }
  const int counts = make(name + ".counts");
  counts_ = static_cast<Count*>(map_more(counts, 0, most_signatures * sizeof(Count)));
  if (counts >= 0) close(counts);
  launches_ = make(name + ".launches");
}

void Journal::line(const std::vector<std::string>& fields) {
  if (text_ < 0) return;
  std::string all;
  for (const std::string& field : fields) {
    if (!all.empty()) all += '\t';
    for (const char c : field) all += c == '\t' || c == '\n' ? ' ' : c;
  }
  all += '\n';
  // Whole or not at all, as far as the disk allows: what reads it drops a last line without its end.
  if (write(text_, all.data(), all.size()) < 0) is_full_ = true;
}

void Journal::add(const Launch& launch) {
  if (is_full_ || launches_ < 0) return;
  if (window_ == nullptr || used_ == window_bytes / sizeof(Launch)) {
    if (window_ != nullptr) munmap(window_, window_bytes);
    window_ = windows_ == most_windows_
                  ? nullptr
                  : static_cast<Launch*>(map_more(launches_, windows_ * window_bytes, window_bytes));
    if (window_ == nullptr) {
      is_full_ = true;
      line({"full", windows_ == most_windows_ ? "limit" : "disk"});
      return;
    }
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
