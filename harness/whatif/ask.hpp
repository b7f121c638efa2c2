// SPDX-License-Identifier: Apache-2.0
// What a change would give a measured kernel: the ratio that the model sees, of the time that was measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/prediction/bands.hpp"
#include "harness/whatif/flow.hpp"

namespace occbench::whatif {

/// A GPU as the model knows it.
struct Gpu {
  theory::DeviceSpec facts;
  theory::Parameters parameters;
  theory::Ranges ranges;
};

/// A launch that is asked about.
struct Launch {
  theory::Footprint footprint;
  int grid_size = 0;
};

struct Answer {
  theory::Occupancy occupancy;
  theory::Bound bound = theory::Bound::latency;
  double time_ratio = 0;                 ///< of the launch's time there and as it was measured
  double low_ratio = 0, high_ratio = 0;  ///< 90 % of what it may be
};

/// How far the model may be off the measured time and still be asked.
constexpr double most_off = 0.15;

/// A measured kernel, anchored: the model is asked for the ratio of two times, and corrected by its error at
/// the measured one, the less the further the other lies from it.
class Anchored {
 public:
  /// `kernel` ran on `gpu`. Throws Refused where the model's own time is further off than `most_off`, and
  /// std::invalid_argument as theory::predict() does.
  Anchored(Kernel kernel, Gpu gpu);

  /// Predicted over measured, less 1, before anchoring.
  [[nodiscard]] double off() const { return off_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const Gpu& gpu() const { return gpu_; }
  /// As it was measured.
  [[nodiscard]] const Answer& now() const { return now_; }

  /// The same work in another launch, on another GPU: threads share it evenly. Throws Refused where no such
  /// block launches, and as the constructor does.
  [[nodiscard]] Answer ask(const Launch& launch, const Gpu& there) const;
  [[nodiscard]] Answer ask(const Launch& launch) const { return ask(launch, gpu_); }

  /// As many threads as were measured, in blocks of another size.
  [[nodiscard]] int grid_for(int block_size) const;
  /// As many waves as were measured, of another number of resident blocks: for kernels whose grid is made so.
  [[nodiscard]] int grid_in_waves(const theory::Footprint& footprint) const;

 private:
  struct Times {
    theory::Prediction said;
    std::vector<double> drawn_s;
  };
  [[nodiscard]] Times times(const Launch& launch, const theory::Occupancy& occupancy, const Gpu& there) const;

  Kernel kernel_;
  Gpu gpu_;
  Times base_;
  Answer now_;
  double off_ = 0;
};

}  // namespace occbench::whatif
