// SPDX-License-Identifier: Apache-2.0
// Whether this is still the attached process: a fork's child has its files, but no driver.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace occbench::attach {

class OwnProcess {
 public:
  OwnProcess() {
    void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
      *(mark_ = static_cast<bool*>(page)) = true;
    else
      munmap(page, bytes);
  }
  ~OwnProcess() {
    if (mark_ != nullptr) munmap(mark_, bytes);
  }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  [[nodiscard]] bool is_this() const noexcept { return mark_ != nullptr ? *mark_ : getpid() == number_; }
  /// Same, by a system call: also false in a vfork child, which shares its parent's memory.
  [[nodiscard]] bool is_caller() const noexcept { return getpid() == number_ && is_this(); }
  [[nodiscard]] pid_t number() const noexcept { return number_; }

 private:
  static constexpr std::size_t bytes = 1;  // of a page
  pid_t number_ = getpid();
  bool* mark_ = nullptr;  ///< in a page that any fork wipes: each launch checks it without a system call
};

}  // namespace occbench::attach
