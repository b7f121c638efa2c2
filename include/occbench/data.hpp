// SPDX-License-Identifier: Apache-2.0
// Device memory of a user kernel, and its expected contents after a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace occbench {

namespace detail {
enum class Scalar { f32, f64, i32, u32, i64, u64 };
template <class T>
constexpr Scalar scalar_of() {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "expect() compares numbers of 4 or 8 bytes; check() takes anything");
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Scalar::f32 : Scalar::f64;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? Scalar::i32 : Scalar::u32;
  return std::is_signed_v<T> ? Scalar::i64 : Scalar::u64;
}
float random_f32(std::uint64_t index);
double random_f64(std::uint64_t index);
}  // namespace detail

/// Device data, convertible to a pointer; at(i) is the initial value of element i, on the CPU.
template <class T>
class Elements {
 public:
  Elements(T* device, std::function<std::remove_const_t<T>(std::size_t)> value)
      : device_(device), value_(std::move(value)) {}
  operator T*() const { return device_; }  // NOLINT: implicit, for kernel arguments
  [[nodiscard]] std::remove_const_t<T> at(std::size_t i) const { return value_(i); }

 private:
  T* device_;
  std::function<std::remove_const_t<T>(std::size_t)> value_;
};

/// The results of a launch, for a custom check.
class Results {
 public:
  virtual ~Results() = default;
  /// Copies `count` elements of an output() or update() to the CPU.
  template <class T>
  std::vector<T> copy(const T* device, std::size_t count) {
    std::vector<T> host(count);
    read(device, host.data(), count * sizeof(T));
    return host;
  }
  template <class T>
  std::vector<T> copy(const Elements<T>& elements, std::size_t count) {
    return copy(static_cast<const T*>(elements), count);
  }

 protected:
  virtual void read(const void* device, void* host, std::size_t bytes) = 0;
};

/// Device memory for a kernel's arguments. The suite owns it, fills it before each verified launch and
/// checks it afterwards. Without a GPU the addresses are invalid and never used.
class Data {
 public:
  virtual ~Data() = default;

  /// Read-only: element i holds value(i), or without `value` a random float or double in [-1, 1).
  template <class T>
  Elements<const T> input(std::size_t count) {
    const Place place = random_input(sizeof(T) == 8, count);
    return {static_cast<const T*>(place.device), random_from<T>(place.first)};
  }
  template <class T, class Value>
  Elements<const T> input(std::size_t count, Value value) {
    return {static_cast<const T*>(table(count * sizeof(T), filler<T>(value, count))), value};
  }

  /// Read and written: reset before each verified launch and compared after it. Not reset between timed
  /// launches.
  template <class T>
  Elements<T> update(std::size_t count) {
    const Place place = random_input(sizeof(T) == 8, count);
    return {static_cast<T*>(output(count * sizeof(T), place.device)), random_from<T>(place.first)};
  }
  template <class T, class Value>
  Elements<T> update(std::size_t count, Value value) {
    const void* const from = table(count * sizeof(T), filler<T>(value, count));
    return {static_cast<T*>(output(count * sizeof(T), from)), value};
  }

  /// Written: every launch must write every element, or verification fails.
  template <class T>
  T* output(std::size_t count) {
    return static_cast<T*>(output(count * sizeof(T), nullptr));
  }

  /// After a launch element i of an output() or update() must be within tolerance x max(1, |expected(i)|) of
  /// expected(i), a double; it is called on several CPU threads. Without an expectation two launches must
  /// agree bit by bit.
  template <class T, class Expected>
  void expect(const T* device, std::size_t count, double tolerance, Expected expected) {
    expect(detail::scalar_of<std::remove_const_t<T>>(), device, count, tolerance, std::move(expected));
  }
  template <class T, class Expected>
  void expect(const Elements<T>& elements, std::size_t count, double tolerance, Expected expected) {
    expect(static_cast<const T*>(elements), count, tolerance, std::move(expected));
  }
  /// Custom check: returns a one-line error, or an empty string.
  virtual void check(std::function<std::string(Results&)> wrong) = 0;

 protected:
  struct Place {
    const void* device;
    std::uint64_t first;  ///< index into the suite's random numbers
  };
  using Fill = std::function<void(void* host)>;
  virtual Place random_input(bool is_double, std::size_t count) = 0;
  virtual const void* table(std::size_t bytes, const Fill& fill) = 0;
  virtual void* output(std::size_t bytes, const void* initial) = 0;
  virtual void expect(detail::Scalar type, const void* device, std::size_t count, double tolerance,
                      std::function<double(std::size_t)> expected) = 0;

 private:
  template <class T, class Value>
  static Fill filler(Value value, std::size_t count) {
    return [value, count](void* host) {
      for (std::size_t i = 0; i < count; ++i) static_cast<T*>(host)[i] = static_cast<T>(value(i));
    };
  }
  template <class T>
  static std::function<T(std::size_t)> random_from(std::uint64_t first) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "random data are float or double; pass a function for other types");
    return [first](std::size_t i) {
      if constexpr (std::is_same_v<T, float>)
        return detail::random_f32(first + i);
      else
        return detail::random_f64(first + i);
    };
  }
};

}  // namespace occbench
