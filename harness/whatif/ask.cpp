// SPDX-License-Identifier: Apache-2.0
#include "harness/whatif/ask.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace occbench::whatif {
namespace {

constexpr std::size_t sets = 8;  // of parameters that are drawn for a band

/// How much of its error at the measured launch the model has at one whose time is `ratio` of it. Over 2,382
/// cases each of an H200 and an H100 the slope between errors at launches of one kernel is 0.7 where their
/// times lie within 10 %, and 0.2 beyond: something else bounds them then.
double kept_error(double ratio) {
  constexpr double range = 0.25;
  return std::exp(-std::abs(std::log(ratio)) / range);
}

/// The carve-out as it was measured, or the driver's own choice where it would keep blocks out that the
/// driver lets in.
theory::Occupancy resident(const theory::SmLimits& sm, theory::Footprint& f) {
  const theory::Occupancy as_measured = theory::occupancy(sm, f);
  theory::Footprint free = f;
  free.carveout_percent = -1;
  const theory::Occupancy chosen = theory::occupancy(sm, free);
  if (chosen.blocks_per_sm <= as_measured.blocks_per_sm) return as_measured;
  f = free;
  return chosen;
}

}  // namespace

Anchored::Anchored(Kernel kernel, Gpu gpu) : kernel_(std::move(kernel)), gpu_(std::move(gpu)) {
  if (kernel_.sm_clock_hz > 0) gpu_.parameters.sm_clock_hz = kernel_.sm_clock_hz;
  Launch launch{kernel_.footprint, kernel_.grid_size};
  now_.occupancy = theory::occupancy(gpu_.facts.sm, launch.footprint);
  if (now_.occupancy.blocks_per_sm == 0) now_.occupancy = resident(gpu_.facts.sm, launch.footprint);
  if (now_.occupancy.blocks_per_sm == 0)
    throw Refused("no such block launches on this GPU: " + now_.occupancy.unlaunchable);
  kernel_.footprint = launch.footprint;
  base_ = times(launch, now_.occupancy, gpu_);
  now_.bound = base_.said.bound;
  now_.time_ratio = now_.low_ratio = now_.high_ratio = 1;
  off_ = base_.said.time_s / kernel_.time_s - 1;
  if (std::abs(off_) > most_off) {
    char text[128];
    std::snprintf(text, sizeof text, "the model says %.4g us where %.4g us were measured, %+.0f %%",
                  1e6 * base_.said.time_s, 1e6 * kernel_.time_s, 100 * off_);
    throw Refused(std::string(text) + ": it does not know what bounds this kernel");
  }
}

Anchored::Times Anchored::times(const Launch& launch, const theory::Occupancy& occupancy,
                                const Gpu& there) const {
  const double threads = static_cast<double>(launch.grid_size) * launch.footprint.block_size;
  const double measured = static_cast<double>(kernel_.grid_size) * kernel_.footprint.block_size;
  theory::Program program = kernel_.program;
  program.iterations *= threads / measured;  // the work stays as it was
  theory::LoopFacts facts = kernel_.facts;
  facts.dram_bytes *= measured / threads;
  facts.flow.l2_bytes *= measured / threads;
  const theory::Shape shape{.grid_size = launch.grid_size,
                            .warps_per_block = theory::warps_per_block(there.facts.sm, launch.footprint),
                            .blocks_per_sm = occupancy.blocks_per_sm,
                            .iterations = 1,
                            .l1_bytes = theory::l1_bytes(there.facts.sm, launch.footprint)};
  const auto predicted = [&](const theory::Parameters& p) {
    theory::Prediction said = theory::predict(program, facts, shape, there.facts, p);
    said.time_s -= p.launch_s;  // ncu times the kernel alone
    return said;
  };
  Times all{.said = predicted(there.parameters), .drawn_s = {}};
  for (const theory::Parameters& p : theory::drawn(there.parameters, there.ranges, sets))
    all.drawn_s.push_back(predicted(p).time_s);
  return all;
}

Answer Anchored::ask(const Launch& launch, const Gpu& there) const {
  Launch l = launch;
  Answer a;
  a.occupancy = resident(there.facts.sm, l.footprint);
  if (a.occupancy.blocks_per_sm == 0) throw Refused("cannot launch: " + a.occupancy.unlaunchable);
  const Times changed = times(l, a.occupancy, there);
  a.bound = changed.said.bound;
  const auto anchored = [&](double there_s, double here_s) {
    const double ratio = there_s / here_s;
    return ratio * std::pow(here_s / kernel_.time_s, 1 - kept_error(ratio));
  };
  a.time_ratio = anchored(changed.said.time_s, base_.said.time_s);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < sets; ++i) ratios.push_back(anchored(changed.drawn_s[i], base_.drawn_s[i]));
  const double error = std::max(theory::own_error(a.bound), std::abs(std::log1p(off_)));
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
  return std::max(1, static_cast<int>(std::lround(waves * resident(gpu_.facts.sm, f).blocks_per_sm)));
}

}  // namespace occbench::whatif
