// SPDX-License-Identifier: Apache-2.0
// Plans a case: from an experiment's dials to a launch that the device can run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/device/launch.hpp"
#include "harness/theory/prediction/bands.hpp"
#include "harness/theory/prediction/model.hpp"

namespace occbench {

/// A case as an experiment requests it: dials only, independent of the device.
struct CaseSpec {
  std::string experiment;
  std::string
      curve;  ///< the experiment's name for cases that differ only in its dial; empty: the variant's series
  const Variant* variant = nullptr;
  int block_size = 0;             ///< threads; 0: the variant's own
  int resident_blocks = 0;        ///< per SM, set with ballast; 0: as many as fit
  std::size_t ballast_bytes = 0;  ///< dynamic shared memory on top of the kernel's own
  int carveout_percent = 100;     ///< fixed, so that ballast does not also change the L1's size
  int waves = 1;                  ///< full waves of blocks in the grid
  int grid_size = 0;              ///< blocks, whole waves or not; 0: `waves` of them
  int cluster_size = 1;           ///< blocks
  int sm_count = 0;               ///< SMs that its launches may use; 0: all
  double block_s = 0;             ///< time that one block should take; 0: the launch's target over the waves
  bool energy = false;            ///< also measure the energy of a launch, which takes most of a second

  /// "experiment.family.variant.b256.r4": stable across devices and runs, [A-Za-z0-9_.=+-] only.
  [[nodiscard]] std::string id() const;
};

/// noisy: verified, but too few of its launches had the GPU to themselves.
enum class Status { valid, noisy, invalid, impossible, skipped };
std::string_view to_string(Status status);

/// The model's prediction of a case, or why there is none.
struct Forecast {
  std::optional<theory::Prediction> prediction;
  std::optional<theory::Band> band;  ///< of the time, where one was asked for
  std::string why_not;               ///< one line when there is none, such as an unknown parameter
  int code_cc = 0;                   ///< 10 x major + minor of the machine code that was predicted
};

/// A case on this device: theory, launch and work, or why it cannot run.
struct Case {
  CaseSpec spec;
  std::string id;
  bool is_modelled = false;  ///< resolved on a model: none of its numbers is measured
  Status status = Status::valid;
  std::string reason;  ///< one line when status is not valid
  EntryAttributes attributes;
  theory::Footprint footprint;
  theory::Occupancy occupancy;
  double occupancy_textbook = 0;
  int active_clusters = 0;  ///< cudaOccupancyMaxActiveClusters, on the whole device; 0 without clusters
  int sm_count = 0;         ///< SMs that its launches may use
  int wave_blocks = 0;      ///< blocks resident on these SMs at once
  Launch launch;
  std::int64_t iterations = 0;  ///< iterations of each thread in the timed launch
  Forecast forecast;            ///< made before the case is launched; empty when not requested

  [[nodiscard]] Shape shape(std::int64_t count) const {
    return {launch.grid_size, launch.block_size, count, launch.cluster_size};
  }
};

/// Resolves a spec on the current device, or on a model by the variant's description. Does not throw for a
/// footprint: a case that cannot run is `impossible`, with the reason. `target_s` is the time that one launch
/// should take.
Case resolve(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s);

/// A model: returns one forecast per case. All cases are valid.
using Predictor = std::function<std::vector<Forecast>(std::span<const Case>)>;
/// Adds forecasts to the valid cases, in one call of the predictor.
void add_forecasts(std::span<Case> cases, const Predictor& predictor);

/// The hardware's theoretical rate for this ceiling at an SM clock, in the ceiling's unit per second; 0 if
/// unknown.
double ceiling_rate(Ceiling ceiling, const Device& device, double clock_hz);

/// Iterations that should take `target_s` at `warps_per_sm` resident warps, with `local_bytes` of spilled
/// registers per thread: `target_s` over the larger of the latency bound and the throughput bounds. Depends
/// only on dials and device, never on a measurement, so that two runs do the same work.
std::int64_t iterations_for(const Variant& variant, std::size_t local_bytes, const Device& device,
                            int warps_per_sm, double target_s);

}  // namespace occbench
