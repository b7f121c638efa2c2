// SPDX-License-Identifier: Apache-2.0
// The device memory that all cases share: random inputs and poisoned outputs, allocated once, so that
// every case reads the same addresses and preparing one costs microseconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/first_where.hpp"
#include "harness/device/instruments.hpp"
#include "harness/device/random.cuh"
#include "harness/device/resource.hpp"

namespace occbench {

/// How much device memory the arena takes: enough for a millisecond of DRAM traffic on any GPU, and at most a
/// share of the free memory.
struct ArenaSizes {
  std::size_t input_bytes = 0;  ///< of each type
  std::size_t output_bytes = 0;
};
ArenaSizes arena_sizes(std::size_t free_bytes);

/// Inputs are random_value<T>(i) at element i, wherever they are read: on the device through input(),
/// on the CPU through reference_input().
class Arena {
 public:
  /// Allocates inputs of `input_bytes` per type (on first use) and one output of `output_bytes`.
  Arena(const Stream& stream, const ArenaSizes& sizes);
  /// Addresses without memory or a device: enough to prepare a Problem and read its work where nothing is
  /// launched. Functions that touch data (fill, poison, read back) must not be called.
  explicit Arena(const ArenaSizes& sizes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::size_t input_bytes() const { return sizes_.input_bytes; }
  [[nodiscard]] std::size_t output_bytes() const { return sizes_.output_bytes; }

  /// The random input of type float or double, input_bytes() long, filled on first use.
  template <class T>
  const T* input();
  /// The output, output_bytes() long, as the last launch left it.
  template <class T>
  T* output() {
    return stream_ == nullptr ? placeholder<T>() : reinterpret_cast<T*>(output_.data());
  }
  /// A read-only table of one family (a pointer chain, operands in another format): `count` elements, which
  /// `fill` writes on the device in stream order at the first call with this name. It lives as long as the
  /// arena.
  template <class T>
  const T* table(const std::string& name, std::size_t count,
                 const std::function<void(T*, std::size_t, cudaStream_t)>& fill) {
    if (stream_ == nullptr) return placeholder<T>();
    DeviceBuffer<std::byte>& buffer = tables_[name];
    if (buffer.size() < count * sizeof(T)) {
      DeviceBuffer<std::byte> fresh(count * sizeof(T));
      fill(reinterpret_cast<T*>(fresh.data()), count, stream_->get());
      buffer = std::move(fresh);  // only after `fill` has succeeded
    }
    return reinterpret_cast<const T*>(buffer.data());
  }
  /// Element `index` of the output as the last finished launch left it.
  template <class T>
  T output_value(std::size_t index) {
    T value;
    std::memcpy(&value, download(index * sizeof(T), sizeof(T)), sizeof value);
    return value;
  }
  /// Elements 0 ... count-1 of the random input on the CPU, computed on demand. Thread-safe.
  template <class T>
  std::span<const T> reference_input(std::size_t count);

  /// Copies the output's bytes [first, first + bytes), at most staging_bytes, to the CPU; valid until this
  /// thread's next call.
  const void* download(std::size_t first, std::size_t bytes);
  static constexpr std::size_t staging_bytes = std::size_t{16} << 20;

  /// Sets the first `bytes` of the output to 0xFF (a NaN in every floating type) or another pattern, in
  /// stream order.
  void poison_output(std::size_t bytes, int pattern = 0xFF);
  /// Copies device memory at `from` into bytes [first, first + bytes) of the output, or sets them to 0 if
  /// `from` is null, in stream order.
  void set_output(std::size_t first, const void* from, std::size_t bytes);

  /// Synchronizes the stream and returns the checksum of the output's first `bytes`; 0: of the range that was
  /// poisoned last.
  instruments::Digest digest_output(std::size_t bytes = 0);

  /// A host copy of an output, which can be checked while the device runs other launches.
  struct OutputCopy {
    PinnedBuffer<std::byte> data;  ///< grows; may be reused
    std::size_t bytes = 0;
    std::size_t samples = 0;  ///< see limit_checked_samples()
    std::size_t threads = 1;  ///< that first_mismatch() may use
  };
  /// Size of the range that was poisoned last: the bytes that a launch writes.
  [[nodiscard]] std::size_t poisoned_bytes() const { return poisoned_; }
  /// Synchronizes the stream and copies that range.
  void copy_output(OutputCopy& copy);
  /// During its lifetime, this thread reads outputs from the copy. Other threads are not affected.
  class ReadCopy {
   public:
    explicit ReadCopy(const OutputCopy& copy);
    ~ReadCopy();
    ReadCopy(const ReadCopy&) = delete;
    ReadCopy& operator=(const ReadCopy&) = delete;
  };

  /// Makes first_mismatch() check at most so many elements, spread over the output; 0: all elements.
  void limit_checked_samples(std::size_t samples) { samples_ = samples; }

  /// Compares output elements 0 ... count-1 with `expected(i)`, the float64 reference: nullopt if each is
  /// within `tolerance` x max(1, |expected|), otherwise one line about the first that is not. A NaN is a
  /// mismatch. `expected` is called from several threads. Element 0 lies at `first_byte` of the output.
  template <class T, class Expected>
  std::optional<std::string> first_mismatch(std::size_t count, double tolerance, const Expected& expected,
                                            std::size_t first_byte = 0) {
    const std::size_t threads = copy_in_use() == nullptr ? 0 : copy_in_use()->threads;
    const std::size_t samples = copy_in_use() == nullptr ? samples_ : copy_in_use()->samples;
    if (samples > 0 && samples < count) {
      const T* const actual = static_cast<const T*>(gather(first_byte, samples, count, sizeof(T)));
      const auto wrong = [&](std::size_t i) {
        return is_wrong(actual[i], expected(sample_place(i, samples, count)), tolerance);
      };
      const std::size_t k = first_where(samples, wrong, threads);
      if (k == samples) return std::nullopt;
      const std::size_t place = sample_place(k, samples, count);
      return describe(place, count, static_cast<double>(actual[k]), expected(place));
    }
    constexpr std::size_t step = staging_bytes / sizeof(T);
    for (std::size_t first = 0; first < count; first += step) {
      const std::size_t n = std::min(step, count - first);
      const T* const actual = static_cast<const T*>(download(first_byte + first * sizeof(T), n * sizeof(T)));
      const std::size_t wrong = first_where(
          n, [&](std::size_t i) { return is_wrong(actual[i], expected(first + i), tolerance); }, threads);
      if (wrong < n)
        return describe(first + wrong, count, static_cast<double>(actual[wrong]), expected(first + wrong));
    }
    return std::nullopt;
  }

 private:
  template <class T>
  struct Input;
  struct Inputs;
  template <class T>
  Input<T>& slot();

  /// Must not be dereferenced. Not null, so that pointer arithmetic on it is valid.
  template <class T>
  static T* placeholder() {
    return reinterpret_cast<T*>(std::uintptr_t{1} << 40);
  }

  /// Negated, so that a NaN on either side is a mismatch.
  template <class T>
  static bool is_wrong(T actual, double want, double tolerance) {
    return !(std::abs(static_cast<double>(actual) - want) <= tolerance * std::max(1.0, std::abs(want)));
  }

  /// The copy that this thread reads outputs from; null: the device's memory.
  static const OutputCopy* copy_in_use();
  /// Of `count` elements from `first_byte` on, those at sample_place(0 ... samples - 1). Valid until the next
  /// call.
  const void* gather(std::size_t first_byte, std::size_t samples, std::size_t count,
                     std::size_t element_bytes);
  static std::string describe(std::size_t element, std::size_t count, double actual, double expected);

  const Stream* stream_ = nullptr;  ///< null: an arena without memory
  ArenaSizes sizes_;
  Inputs* inputs_;  ///< incomplete here: <mutex> and <memory> would slow down the compilation of kernels
  DeviceBuffer<std::byte> output_;
  std::size_t poisoned_ = 0;  ///< bytes
  std::size_t samples_ = 0;   ///< that first_mismatch() checks; 0: all
  DeviceBuffer<instruments::Digest> digest_;
  PinnedBuffer<std::byte> staging_;
  std::map<std::string, DeviceBuffer<std::byte>> tables_;
};

}  // namespace occbench
