// SPDX-License-Identifier: Apache-2.0
// CUPTI's PM sampling: the device's counters at fixed intervals while the program runs, without replay.
// Metrics are divided into single-pass sets; one set is sampled at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/attach/protocol/quantities.hpp"

namespace occbench::attach {

struct PmSample {
  std::uint64_t start_ns = 0, end_ns = 0;  ///< device clock
  Shares shares;                           ///< NaN if the set lacks the metric
};

struct PmWindow {
  std::vector<PmSample> samples;
  bool has_overflowed = false;  ///< later samples did not fit
  std::string error;            ///< empty if none
};

/// Not thread-safe.
class PmSampler {
 public:
  static constexpr std::uint32_t max_samples =
      768;  ///< per window; each takes 71 KB with all metrics of GH100

  virtual ~PmSampler() = default;
  [[nodiscard]] virtual std::size_t sets() const = 0;
  /// Starts to sample a set. Returns an error sentence, or "".
  [[nodiscard]] virtual std::string start(std::size_t set) = 0;
  /// Stops the sampling and reads its samples.
  [[nodiscard]] virtual PmWindow stop() = 0;
};

struct OpenedSampler {
  std::unique_ptr<PmSampler> sampler;
  std::string why;  ///< why there is no sampler
};

/// Owns the device's counters until the sampler is destroyed. `library`: libcupti's handle; `interval_ns`:
/// time per sample.
[[nodiscard]] OpenedSampler open_pm_sampler(void* library, int device, std::uint32_t interval_ns) noexcept;

}  // namespace occbench::attach
