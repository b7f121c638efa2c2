// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/predict.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "harness/device/arena.hpp"
#include "harness/device/machine_code.hpp"

namespace occbench {

namespace {

/// Bytes that each thread stores once, after its loop: the launch's declared work minus its iterations'.
double once_bytes(const Case& c, Arena& arena) {
  const Variant& v = *c.spec.variant;
  if (v.iteration.dram_bytes == 0 || v.ceiling != Ceiling::dram) return 0;
  const double iterations = v.iteration.dram_bytes * static_cast<double>(c.iterations);
  const Shape shape = c.shape(c.iterations);
  const double declared = v.prepare(arena, shape).work.bytes / static_cast<double>(shape.threads());
  return std::max(0.0, declared - iterations);
}

theory::LoopFacts facts_of(const Variant& v, double once) {
  return {.dram_bytes = v.iteration.dram_bytes,
          .epilogue_bytes = once,
          .working_set_bytes = v.flow.set_bytes > 0 ? v.flow.set_bytes : v.dials.working_set_bytes,
          .stages = v.dials.stages,
          .uneven = std::ranges::any_of(v.loop_trips, [](double trips) { return trips < 0; }),
          .flow = v.flow};
}

/// Takes `device` by value, to reduce its SMs to the case's share.
Forecast predict_one(const Case& c, double once, Device device, const theory::Parameters& parameters,
                     std::span<const theory::Parameters> parameter_samples) {
  device.sm.sm_count = c.sm_count;
  const Variant& v = *c.spec.variant;
  if (v.in_clusters) return {.why_not = "distributed shared memory is not modelled"};
  const theory::Program* const program = machine_code(v, device.cc());
  if (program == nullptr)
    return {.why_not = "no description of its machine code; `occbench audit --describe` writes it"};
  const int warps = theory::warps_per_block(device.sm, c.footprint);
  const theory::Shape shape{.grid_size = c.launch.grid_size,
                            .warps_per_block = warps,
                            .blocks_per_sm = c.occupancy.blocks_per_sm,
                            .working_warps = v.flow.working_warps ? v.flow.working_warps(warps) : warps,
                            .working_share = v.flow.working_share,
                            .iterations = c.iterations,
                            .l1_bytes = theory::l1_bytes(device.sm, c.footprint)};
  try {
    const theory::LoopFacts facts = facts_of(v, once);
    Forecast forecast{.prediction = theory::predict(*program, facts, shape, device, parameters),
                      .code_cc = described_cc(v, device.cc())};
    std::vector<double> times;
    for (const theory::Parameters& p : parameter_samples)
      times.push_back(theory::predict(*program, facts, shape, device, p).time_s);
    if (!times.empty()) forecast.band = theory::band(*forecast.prediction, times);
    return forecast;
  } catch (const std::invalid_argument& e) {
    return {.why_not = e.what()};
  }
}

}  // namespace

std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters,
                              std::span<const theory::Parameters> parameter_samples) {
  std::vector<Forecast> forecasts(cases.size());
  Arena arena(arena_sizes(device.memory_bytes));  // without memory: only gives the work
  std::vector<double> once(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (cases[i].status == Status::valid) once[i] = once_bytes(cases[i], arena);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++)
      if (cases[i].status == Status::valid)
        forecasts[i] = predict_one(cases[i], once[i], device, parameters, parameter_samples);
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min<std::size_t>(cases.size(), std::thread::hardware_concurrency());
  for (std::size_t n = 1; n < threads; ++n) others.emplace_back(work);
  work();
  return forecasts;
}

}  // namespace occbench
