// SPDX-License-Identifier: Apache-2.0
// Move-only owners of what the CUDA runtime hands out. Destructors never throw: a failing free means
// the context is already lost, and that was reported where it happened.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "harness/io/check.hpp"

namespace occbench {

namespace detail {
struct StreamDeleter {
  void operator()(cudaStream_t s) const { static_cast<void>(cudaStreamDestroy(s)); }
};
struct EventDeleter {
  void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
};
struct DeviceDeleter {
  void operator()(void* p) const { static_cast<void>(cudaFree(p)); }
};
struct PinnedDeleter {
  void operator()(void* p) const { static_cast<void>(cudaFreeHost(p)); }
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
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, detail::StreamDeleter> handle_;
};

/// A timing event.
class Event {
 public:
  Event() {
    cudaEvent_t e = nullptr;
    check(cudaEventCreate(&e), "creating an event");
    handle_.reset(e);
  }
  void record(const Stream& stream) const {
    check(cudaEventRecord(handle_.get(), stream.get()), "recording an event");
  }
  /// True once the device has reached it.
  [[nodiscard]] bool is_over() const {
    const cudaError_t state = cudaEventQuery(handle_.get());
    if (state == cudaErrorNotReady) return false;
    check(state, "asking for an event");
    return true;
  }
  /// Seconds from `start` to this event, both finished, in whole steps of the device's timer.
  [[nodiscard]] double seconds_since(const Event& start) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.handle_.get(), handle_.get()), "reading an event");
    return ms * 1e-3;
  }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, detail::EventDeleter> handle_;
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
  std::unique_ptr<T, detail::DeviceDeleter> data_;
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
  std::unique_ptr<T, detail::PinnedDeleter> data_;
  std::size_t count_ = 0;
};

}  // namespace occbench
