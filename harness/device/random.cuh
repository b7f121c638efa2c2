// SPDX-License-Identifier: Apache-2.0
// The suite's random data: a pure function of the index, the same on the device and on the CPU, so
// that gigabytes of input need no transfer and any element's reference can be computed where it is
// needed. Never zeros: a matrix product on zeros runs 13 % faster than on data.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define OCCBENCH_HOST_DEVICE __host__ __device__
#else
#define OCCBENCH_HOST_DEVICE
#endif

namespace occbench {

/// 32 well mixed bits of an index (the finaliser of MurmurHash3, Appleby 2011).
OCCBENCH_HOST_DEVICE constexpr std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  x ^= x >> 16;
  return x;
}

/// Element `index` of the random input, uniform in [-1, 1), exact in the type asked for.
template <class T>
OCCBENCH_HOST_DEVICE constexpr T random_value(std::uint64_t index) {
  const auto low = static_cast<std::uint32_t>(index);
  const auto high = static_cast<std::uint32_t>(index >> 32);
  const auto bits = static_cast<std::int32_t>(mix(low ^ mix(high + 0x9e3779b9U)));
  if constexpr (sizeof(T) == 8) {
    const auto more = mix(static_cast<std::uint32_t>(bits) + 0x7f4a7c15U);
    return (static_cast<T>(bits) + static_cast<T>(more) * 0x1p-32) * static_cast<T>(0x1p-31);
  } else {
    return static_cast<T>(bits >> 8) * static_cast<T>(0x1p-23);
  }
}

/// The random input as the CPU knows it: element i, computed when it is asked for.
template <class T>
struct RandomInput {
  constexpr T operator[](std::uint64_t index) const { return random_value<T>(index); }
};

/// The k-th of `samples` places among `count` elements, samples <= count: each at random in a share of its
/// own.
OCCBENCH_HOST_DEVICE constexpr std::uint64_t sample_place(std::uint64_t k, std::uint64_t samples,
                                                          std::uint64_t count) {
  const std::uint64_t first = k * count / samples;
  return first + mix(static_cast<std::uint32_t>(k)) % ((k + 1) * count / samples - first);
}

}  // namespace occbench
