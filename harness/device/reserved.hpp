// SPDX-License-Identifier: Apache-2.0
// An array that grows without moving: addresses for all of it, memory for what is used.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace occbench {

/// Room for `count` elements of T, zero until they are written. Throws std::bad_alloc where the system has no
/// addresses left.
template <class T>
class Reserved {
 public:
  Reserved() = default;
  explicit Reserved(std::size_t count) : count_(count) {
    void* const at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(at);
  }
  ~Reserved() {
    if (data_ != nullptr) munmap(data_, count_ * sizeof(T));
  }
  Reserved(Reserved&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Reserved& operator=(Reserved&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace occbench
