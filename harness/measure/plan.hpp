// SPDX-License-Identifier: Apache-2.0
// From dials to a launch: a case as an experiment asks for it, and as the device can run it.
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

/// A case as an experiment asks for it: dials only, no device needed.
struct CaseSpec {
  std::string experiment;
  std::string
      curve;  ///< what the experiment calls the cases that differ in its dial; empty: the variant's series
  const Variant* variant = nullptr;
  int block_size = 0;             ///< threads; 0 takes the variant's own
  int resident_blocks = 0;        ///< per SM, reached with ballast; 0: whatever fits
  std::size_t ballast_bytes = 0;  ///< dynamic shared memory on top of the kernel's own
  int carveout_percent = 100;     ///< pinned, so that ballast does not also move the L1's size
  int waves = 1;                  ///< full waves of blocks in the grid
  int grid_size = 0;              ///< blocks, whole waves or not; 0: `waves` of them
  int cluster_size = 1;           ///< blocks
  int sm_count = 0;               ///< SMs that its launches are confined to; 0: all of the device
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
  std::string why_not;               ///< one line when there is none: an unknown parameter, say
  int code_cc = 0;                   ///< 10 x major + minor of the machine code that was predicted
};

/// A case as this device can run it: theory, launch and work; or why it cannot run.
struct Case {
  CaseSpec spec;
  std::string id;
  bool is_modelled = false;  ///< resolved on a model: no number of it will be a measured one
  Status status = Status::valid;
  std::string reason;  ///< one line when status is not valid
  EntryAttributes attributes;
  theory::Footprint footprint;
  theory::Occupancy occupancy;
  double occupancy_textbook = 0;
  int active_clusters = 0;  ///< cudaOccupancyMaxActiveClusters, on the whole device; 0 without clusters
  int sm_count = 0;         ///< SMs that its launches may use
  int wave_blocks = 0;      ///< blocks that these hold at once
  Launch launch;
  std::int64_t iterations = 0;  ///< iterations of each thread in the timed launch
  Forecast forecast;            ///< made before the case is launched; empty when not requested

  [[nodiscard]] Shape shape(std::int64_t count) const {
    return {launch.grid_size, launch.block_size, count, launch.cluster_size};
  }
};

/// Resolves a spec on the current device, or on a model, by the description of the variant's machine code.
/// Never throws for a footprint: what cannot run comes back `impossible` with the reason. `target_s` is the
/// time one launch should take.
Case resolve(const CaseSpec& spec, const Device& device, const Arena& arena, double target_s);

/// A model: one forecast for each of these cases, all of which are valid.
using Predictor = std::function<std::vector<Forecast>(std::span<const Case>)>;
/// Adds forecasts to the valid cases, in one call of the predictor.
void add_forecasts(std::span<Case> cases, const Predictor& predictor);

/// What the hardware promises of this kind of work at an SM clock, per second in the ceiling's unit; 0 when
/// it is not known.
double ceiling_rate(Ceiling ceiling, const Device& device, double clock_hz);

/// Iterations that should take `target_s` at `warps_per_sm` resident warps, of which each thread has
/// `local_bytes` of spilled registers: target over the larger of the latency bound and the throughput bounds.
/// A function of dials and device alone, never of a measurement, so that two runs do the same work.
std::int64_t iterations_for(const Variant& variant, std::size_t local_bytes, const Device& device,
                            int warps_per_sm, double target_s);

}  // namespace occbench
