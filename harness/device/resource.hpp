// SPDX-License-Identifier: Apache-2.0
// Move-only owners of CUDA runtime handles. Destructors do not throw: a free fails only if the context is
// already lost, and that was reported by the call that lost it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <utility>

#include "harness/io/check.hpp"

namespace occbench {

namespace detail {
/// Owns a handle that `release` frees. Not std::unique_ptr: every kernel file includes this header, and
/// <memory> would add a sixth to its compile time.
template <class Handle, auto release>
class Owner {
 public:
  Owner() = default;
  ~Owner() { reset(); }
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  void reset(Handle handle = nullptr) noexcept {
    if (const Handle old = std::exchange(handle_, handle); old != nullptr) static_cast<void>(release(old));
  }
  [[nodiscard]] Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
}  // namespace detail

/// A non-blocking stream of the current device.
class Stream {
 public:
  Stream() {
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "creating a stream");
    handle_.reset(s);
  }
  [[nodiscard]] cudaStream_t get() const { return handle_.get(); }
  void synchronize() const { check(cudaStreamSynchronize(get()), "waiting for the device"); }

 private:
  detail::Owner<cudaStream_t, cudaStreamDestroy> handle_;
};

/// A timing event.
class Event {
 public:
  Event() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreate(&e), "creating an event");
    handle_.reset(e);
  }
  void record(const Stream& stream) const { record(stream.get()); }
  void record(cudaStream_t stream) const {
    check(cudaEventRecord(handle_.get(), stream), "recording an event");
  }
  [[nodiscard]] cudaEvent_t get() const { return handle_.get(); }
  /// Whether the device has reached it.
  [[nodiscard]] bool is_over() const {
    const cudaError_t state = cudaEventQuery(handle_.get());
    if (state == cudaErrorNotReady) return false;
    check(state, "querying an event");
    return true;
  }
  /// Seconds from `start` to this event; both must have completed. Resolution: the device's timer.
  [[nodiscard]] double seconds_since(const Event& start) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.handle_.get(), handle_.get()), "reading an event");
    return ms * 1e-3;
  }

 private:
  detail::Owner<cudaEvent_t, cudaEventDestroy> handle_;
};

/// `count` elements of device memory, plain cudaMalloc, uninitialised.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    void* p = nullptr;
    if (count > 0) check(cudaMalloc(&p, count * sizeof(T)), "allocating device memory");
    data_.reset(static_cast<T*>(p));
  }
  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  detail::Owner<T*, cudaFree> data_;
  std::size_t count_ = 0;
};

/// `count` elements of page-locked host memory, uninitialised.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t count) : count_(count) {
    void* p = nullptr;
    if (count > 0) check(cudaMallocHost(&p, count * sizeof(T)), "allocating pinned memory");
    data_.reset(static_cast<T*>(p));
  }
  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<T> span() const { return {data(), count_}; }

 private:
  detail::Owner<T*, cudaFreeHost> data_;
  std::size_t count_ = 0;
};

}  // namespace occbench
