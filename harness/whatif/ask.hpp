// SPDX-License-Identifier: Apache-2.0
// Predicts the effect of a change on a measured kernel: the ratio of two model times, applied to the
// measured time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/prediction/bands.hpp"
#include "harness/whatif/flow.hpp"

namespace occbench::whatif {

/// Model data of a GPU.
struct Gpu {
  theory::DeviceSpec facts;
  theory::Parameters parameters;
  theory::Ranges ranges;
};

struct Launch {
  theory::Footprint footprint;
  int grid_size = 0;
};

struct Answer {
  theory::Occupancy occupancy;
  theory::Bound bound = theory::Bound::latency;
  double time_ratio = 0;                 ///< new time over measured time
  double low_ratio = 0, high_ratio = 0;  ///< 90 % interval
};

/// Largest error of the model at the measured launch for which predictions are made.
constexpr double max_model_error = 0.15;

/// A measured kernel with predictions relative to its measured time. Corrects part of the model's error at
/// the measured launch: less for times further from the measured one.
class Anchored {
 public:
  /// `kernel` ran on `gpu`. Throws UnsupportedProfile if the model's error exceeds max_model_error, and
  /// std::invalid_argument like theory::predict().
  Anchored(Kernel kernel, Gpu gpu);

  /// Predicted over measured time, minus 1, before the correction.
  [[nodiscard]] double model_error() const { return model_error_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const Gpu& gpu() const { return gpu_; }
  /// The measured launch.
  [[nodiscard]] const Answer& now() const { return now_; }

  /// The same work, divided evenly among the threads of another launch, possibly on another GPU. Throws
  /// UnsupportedProfile if no such block launches, and like the constructor.
  [[nodiscard]] Answer ask(const Launch& launch, const Gpu& gpu) const;
  [[nodiscard]] Answer ask(const Launch& launch) const { return ask(launch, gpu_); }

  /// Grid size with the measured number of threads in blocks of another size.
  [[nodiscard]] int grid_for(int block_size) const;
  /// Grid size with the measured number of waves, for kernels whose grid is a multiple of the resident
  /// blocks.
  [[nodiscard]] int grid_in_waves(const theory::Footprint& footprint) const;

 private:
  struct Times {
    theory::Prediction prediction;
    std::vector<double> sampled_s;  ///< with sampled parameters
  };
  [[nodiscard]] Times times(const Launch& launch, const theory::Occupancy& occupancy, const Gpu& gpu) const;

  Kernel kernel_;
  Gpu gpu_;
  Times base_;
  Answer now_;
  double model_error_ = 0;
};

}  // namespace occbench::whatif
