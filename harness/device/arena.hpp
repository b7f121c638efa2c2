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

/// How much of a device's memory the arena takes: enough for a millisecond of any GPU's DRAM, and no more
/// than a share of what is free.
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
  /// Addresses without memory, and without a device: enough to prepare a Problem and to read its work, where
  /// nothing is launched. Whatever touches data (fills, poisons, reads back) must not be called.
  explicit Arena(const ArenaSizes& sizes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::size_t input_bytes() const { return sizes_.input_bytes; }
  [[nodiscard]] std::size_t output_bytes() const { return sizes_.output_bytes; }

  /// The random input of type float or double, input_bytes() long, filled on first use.
  template <class T>
  const T* input();
  /// The output of output_bytes(), whatever the last launch left in it.
  template <class T>
  T* output() {
    return stream_ == nullptr ? nowhere<T>() : reinterpret_cast<T*>(output_.data());
  }
  /// A read-only table of a family's own (a chain of pointers, operands in another format): `count` elements
  /// that `fill` writes on the device, in stream order, on the first call with this name, and that stay until
  /// the end.
  template <class T>
  const T* table(const std::string& name, std::size_t count,
                 const std::function<void(T*, std::size_t, cudaStream_t)>& fill) {
    if (stream_ == nullptr) return nowhere<T>();
    DeviceBuffer<std::byte>& buffer = tables_[name];
    if (buffer.size() < count * sizeof(T)) {
      DeviceBuffer<std::byte> fresh(count * sizeof(T));
      fill(reinterpret_cast<T*>(fresh.data()), count, stream_->get());
      buffer = std::move(fresh);  // now that it is known to be filled
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
  /// Elements 0 ... count-1 of the random input, on the CPU, from any thread. Computed on demand.
  template <class T>
  std::span<const T> reference_input(std::size_t count);

  /// The output's bytes [first, first + bytes), on the CPU until this thread's next call. Not more than
  /// staging_bytes.
  const void* download(std::size_t first, std::size_t bytes);
  static constexpr std::size_t staging_bytes = std::size_t{16} << 20;

  /// Sets the first `bytes` of the output to 0xFF (a NaN in every floating type) or another pattern, in
  /// stream order.
  void poison_output(std::size_t bytes, int pattern = 0xFF);
  /// Fills bytes [first, first + bytes) of the output from others on the device, or with zeros where `from`
  /// is null, in stream order.
  void set_output(std::size_t first, const void* from, std::size_t bytes);

  /// What the first `bytes` of the output hold, once the stream has come to its end; 0: all that was poisoned
  /// last.
  instruments::Digest digest_output(std::size_t bytes = 0);

  /// An output on the host, as a launch left it: what can be checked while the device goes on.
  struct Kept {
    PinnedBuffer<std::byte> data;  ///< grows; may be used again
    std::size_t bytes = 0;
    std::size_t samples = 0;  ///< see look_at()
    std::size_t threads = 1;  ///< that first_mismatch() may take for it
  };
  /// Bytes that were poisoned last: those that a launch writes.
  [[nodiscard]] std::size_t poisoned_bytes() const { return poisoned_; }
  /// Keeps them in `kept`, once the stream has come to its end.
  void keep_output(Kept& kept);
  /// As long as it lives, this thread reads outputs from `kept`, and others as before.
  class Reading {
   public:
    explicit Reading(const Kept& kept);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
  };

  /// From now on first_mismatch() checks so many elements, spread over all, or all of them if there are
  /// no more; 0: each one.
  void look_at(std::size_t samples) { samples_ = samples; }

  /// Compares output elements 0 ... count-1 with `expected(i)`, the reference in float64: nullopt when every
  /// one is within `tolerance` x max(1, |expected|), otherwise one line on the first that is not. NaN never
  /// agrees. `expected` is called from several threads. Element 0 lies at `first_byte` of the output.
  template <class T, class Expected>
  std::optional<std::string> first_mismatch(std::size_t count, double tolerance, const Expected& expected,
                                            std::size_t first_byte = 0) {
    const std::size_t threads = kept_here() == nullptr ? 0 : kept_here()->threads;
    const std::size_t samples = kept_here() == nullptr ? samples_ : kept_here()->samples;
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

  /// An address that must not be dereferenced; not null, so that offsets from it are addresses too.
  template <class T>
  static T* nowhere() {
    return reinterpret_cast<T*>(std::uintptr_t{1} << 40);
  }

  /// Written so that a NaN on either side is wrong.
  template <class T>
  static bool is_wrong(T actual, double want, double tolerance) {
    return !(std::abs(static_cast<double>(actual) - want) <= tolerance * std::max(1.0, std::abs(want)));
  }

  /// Of `count` elements from `first_byte` on, those at sample_place(0 ... samples - 1), on the CPU until the
  /// next call.
  /// The output that this thread reads; null: the device's.
  static const Kept* kept_here();
  const void* gather(std::size_t first_byte, std::size_t samples, std::size_t count,
                     std::size_t element_bytes);
  static std::string describe(std::size_t element, std::size_t count, double actual, double expected);

  const Stream* stream_ = nullptr;  ///< null: there is no memory
  ArenaSizes sizes_;
  Inputs* inputs_;  ///< hidden here: <mutex> and <memory> would slow the compilation of kernels
  DeviceBuffer<std::byte> output_;
  std::size_t poisoned_ = 0;  ///< bytes
  std::size_t samples_ = 0;   ///< that first_mismatch() looks at; 0: all
  DeviceBuffer<instruments::Digest> digest_;
  PinnedBuffer<std::byte> staging_;
  std::map<std::string, DeviceBuffer<std::byte>> tables_;
};

}  // namespace occbench
