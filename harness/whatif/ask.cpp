// SPDX-License-Identifier: Apache-2.0
#include "harness/whatif/ask.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace occbench::whatif {
namespace {

constexpr std::size_t sets = 8;  // sampled parameter sets for a band

/// Share of the model's error at the measured launch that remains at a launch with `ratio` of its time. From
/// 2,382 cases each on an H200 and an H100: errors at launches of one kernel correlate with slope 0.7 if the
/// times are within 10 %, and with 0.2 beyond, where they have different bounds.
double shared_error(double ratio) {
  constexpr double range = 0.25;
  return std::exp(-std::abs(std::log(ratio)) / range);
}

/// Occupancy with the measured carve-out, or with the driver's choice if that allows more blocks; sets the
/// carve-out of `f` accordingly.
theory::Occupancy occupancy_of(const theory::SmLimits& sm, theory::Footprint& f) {
  const theory::Occupancy as_measured = theory::occupancy(sm, f);
  theory::Footprint by_driver = f;
  by_driver.carveout_percent = -1;
  const theory::Occupancy occupancy = theory::occupancy(sm, by_driver);
  if (occupancy.blocks_per_sm <= as_measured.blocks_per_sm) return as_measured;
  f = by_driver;
  return occupancy;
}

}  // namespace

Anchored::Anchored(Kernel kernel, Gpu gpu) : kernel_(std::move(kernel)), gpu_(std::move(gpu)) {
  if (kernel_.sm_clock_hz > 0) gpu_.parameters.sm_clock_hz = kernel_.sm_clock_hz;
  Launch launch{kernel_.footprint, kernel_.grid_size};
  now_.occupancy = theory::occupancy(gpu_.facts.sm, launch.footprint);
  if (now_.occupancy.blocks_per_sm == 0) now_.occupancy = occupancy_of(gpu_.facts.sm, launch.footprint);
  if (now_.occupancy.blocks_per_sm == 0)
    throw UnsupportedProfile("no such block launches on this GPU: " + now_.occupancy.launch_error);
  kernel_.footprint = launch.footprint;
  base_ = times(launch, now_.occupancy, gpu_);
  now_.bound = base_.prediction.bound;
  now_.time_ratio = now_.low_ratio = now_.high_ratio = 1;
  model_error_ = base_.prediction.time_s / kernel_.time_s - 1;
  if (std::abs(model_error_) > max_model_error) {
    char text[128];
    std::snprintf(text, sizeof text, "the model says %.4g us where %.4g us were measured, %+.0f %%",
                  1e6 * base_.prediction.time_s, 1e6 * kernel_.time_s, 100 * model_error_);
    throw UnsupportedProfile(std::string(text) + ": it does not know what bounds this kernel");
  }
}

Anchored::Times Anchored::times(const Launch& launch, const theory::Occupancy& occupancy,
                                const Gpu& gpu) const {
  const double threads = static_cast<double>(launch.grid_size) * launch.footprint.block_size;
  const double measured = static_cast<double>(kernel_.grid_size) * kernel_.footprint.block_size;
  theory::Program program = kernel_.program;
  program.iterations *= threads / measured;  // the total work is unchanged
  theory::LoopFacts facts = kernel_.facts;
  facts.dram_bytes *= measured / threads;
  facts.flow.l2_bytes *= measured / threads;
  const theory::Shape shape{.grid_size = launch.grid_size,
                            .warps_per_block = theory::warps_per_block(gpu.facts.sm, launch.footprint),
                            .blocks_per_sm = occupancy.blocks_per_sm,
                            .iterations = 1,
                            .l1_bytes = theory::l1_bytes(gpu.facts.sm, launch.footprint)};
  const auto predict_with = [&](const theory::Parameters& p) {
    theory::Prediction prediction = theory::predict(program, facts, shape, gpu.facts, p);
    prediction.time_s -= p.launch_s;  // ncu times exclude the launch overhead
    return prediction;
  };
  Times all{.prediction = predict_with(gpu.parameters), .sampled_s = {}};
  for (const theory::Parameters& p : theory::sample_parameters(gpu.parameters, gpu.ranges, sets))
    all.sampled_s.push_back(predict_with(p).time_s);
  return all;
}

Answer Anchored::ask(const Launch& launch, const Gpu& gpu) const {
  Launch l = launch;
  Answer a;
  a.occupancy = occupancy_of(gpu.facts.sm, l.footprint);
  if (a.occupancy.blocks_per_sm == 0) throw UnsupportedProfile("cannot launch: " + a.occupancy.launch_error);
  const Times changed = times(l, a.occupancy, gpu);
  a.bound = changed.prediction.bound;
  const auto correct_ratio = [&](double time_s, double base_s) {
    const double ratio = time_s / base_s;
    return ratio * std::pow(base_s / kernel_.time_s, 1 - shared_error(ratio));
  };
  a.time_ratio = correct_ratio(changed.prediction.time_s, base_.prediction.time_s);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < sets; ++i)
    ratios.push_back(correct_ratio(changed.sampled_s[i], base_.sampled_s[i]));
  const double error = std::max(theory::model_error(a.bound), std::abs(std::log1p(model_error_)));
  const theory::Band band = theory::band(a.time_ratio, ratios, error);
  a.low_ratio = band.low_s;
  a.high_ratio = band.high_s;
  return a;
}

int Anchored::grid_for(int block_size) const {
  const double threads = static_cast<double>(kernel_.grid_size) * kernel_.footprint.block_size;
  return std::max(1, static_cast<int>(std::ceil(threads / block_size)));
}

int Anchored::grid_in_waves(const theory::Footprint& footprint) const {
  theory::Footprint f = footprint;
  const double waves = static_cast<double>(kernel_.grid_size) / now_.occupancy.blocks_per_sm;
  return std::max(1, static_cast<int>(std::lround(waves * occupancy_of(gpu_.facts.sm, f).blocks_per_sm)));
}

}  // namespace occbench::whatif
