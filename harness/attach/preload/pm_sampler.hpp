// SPDX-License-Identifier: Apache-2.0
// CUPTI's PM sampling: the device's counters at fixed intervals while the program runs, without replay. The
// metrics are divided into sets of a single pass; one set is sampled at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/attach/protocol/quantities.hpp"

namespace occbench::attach {

struct PmSample {
  std::uint64_t start_ns = 0, end_ns = 0;  ///< on the device's clock
  Shares shares;                           ///< NaN where the set has no such metric
};

/// The samples of one window.
struct PmWindow {
  std::vector<PmSample> samples;
  bool has_overflowed = false;  ///< later samples had no room
  std::string error;            ///< empty: none
};

/// Not thread-safe.
class PmSampler {
 public:
  static constexpr std::uint32_t most_samples =
      768;  ///< of a window; each takes 71 KB with all metrics of GH100

  virtual ~PmSampler() = default;
  [[nodiscard]] virtual std::size_t sets() const = 0;
  /// Samples a set from here on. What fails gives a sentence; empty: it did not.
  [[nodiscard]] virtual std::string start(std::size_t set) = 0;
  /// Ends what start() began, and reads it.
  [[nodiscard]] virtual PmWindow stop() = 0;
};

struct OpenedSampler {
  std::unique_ptr<PmSampler> sampler;
  std::string why;  ///< why there is none
};

/// Takes the device's counters until the sampler is destroyed. `library` is libcupti's handle; `interval_ns`
/// the time of a sample.
[[nodiscard]] OpenedSampler open_pm_sampler(void* library, int device, std::uint32_t interval_ns) noexcept;

}  // namespace occbench::attach
