// SPDX-License-Identifier: Apache-2.0
// The device memory that all cases share: random inputs and poisoned outputs, allocated once, so that
// every case reads the same addresses and preparing one costs microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/resource.hpp"

namespace occbench {

/// Inputs are random_value<T>(i) at element i, wherever they are read: on the device through input(),
/// on the CPU through reference_input().
class Arena {
 public:
  /// Allocates inputs of `input_bytes` per type (on first use) and one output of `output_bytes`.
  Arena(const Stream& stream, std::size_t input_bytes, std::size_t output_bytes);

  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] std::size_t input_bytes() const { return input_bytes_; }
  [[nodiscard]] std::size_t output_bytes() const { return output_bytes_; }

  /// The random input of type float or double, input_bytes() long, filled on first use.
  template <class T>
  const T* input();
  /// The output of output_bytes(), whatever the last launch left in it.
  template <class T>
  T* output() {
    return reinterpret_cast<T*>(output_.data());
  }
  /// Elements 0 ... count-1 of the random input, on the CPU. Grows on demand; earlier spans go stale.
  template <class T>
  std::span<const T> reference_input(std::size_t count);

  /// Sets the first `bytes` of the output to 0xFF (a NaN in every floating type), in stream order.
  void poison_output(std::size_t bytes);

  /// Compares output elements 0 ... expected.size()-1 with the reference: nullopt when every one is
  /// within `tolerance` x max(1, |expected|), otherwise one line on the first that is not. NaN never passes.
  template <class T>
  std::optional<std::string> first_mismatch(std::span<const double> expected, double tolerance);

 private:
  template <class T>
  struct Input {
    DeviceBuffer<T> device;
    std::vector<T> host;
  };
  template <class T>
  Input<T>& slot();

  const Stream& stream_;
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  Input<float> f32_;
  Input<double> f64_;
  DeviceBuffer<std::byte> output_;
  PinnedBuffer<std::byte> staging_;
};

}  // namespace occbench
