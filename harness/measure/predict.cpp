// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/predict.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "harness/device/machine_code.hpp"

namespace occbench {

namespace {

theory::LoopFacts facts_of(const Variant& v) {
  return {.dram_bytes = v.pass.dram_bytes,
          .working_set_bytes = v.flow.set_bytes > 0 ? v.flow.set_bytes : v.dials.working_set_bytes,
          .stages = v.dials.stages,
          .uneven = std::ranges::any_of(v.loop_trips, [](double trips) { return trips < 0; }),
          .flow = v.flow};
}

Forecast predict_one(const Case& c, const Device& device, const theory::Parameters& parameters) {
  const Variant& v = *c.spec.variant;
  if (v.in_clusters) return {.why_not = "the network between the SMs of a cluster is outside the model"};
  const theory::Program* const program = machine_code(v, device.cc());
  if (program == nullptr)
    return {.why_not = "no description of its machine code; `occbench audit --describe` writes it"};
  const int warps = theory::warps_per_block(device.sm, c.footprint);
  const theory::Shape shape{.grid_size = c.launch.grid_size,
                            .warps_per_block = warps,
                            .blocks_per_sm = c.occupancy.blocks_per_sm,
                            .working_warps = v.flow.working_warps ? v.flow.working_warps(warps) : warps,
                            .working_share = v.flow.working_share,
                            .passes = c.iterations,
                            .l1_bytes = theory::l1_bytes(device.sm, c.footprint)};
  const theory::Chip chip{.sm_count = device.sm.sm_count,
                          .fp32_lanes_per_sm = device.fp32_lanes_per_sm,
                          .fp64_lanes_per_sm = device.fp64_lanes_per_sm,
                          .tensor_bf16_fma_per_sm = device.tensor_bf16_fma_per_sm,
                          .l2_bytes = device.l2_bytes,
                          .dram_bytes_per_s = device.dram_bytes_per_s};
  try {
    return {.prediction = theory::predict(*program, facts_of(v), shape, chip, parameters),
            .code_cc = described_cc(v, device.cc())};
  } catch (const std::invalid_argument& e) {
    return {.why_not = e.what()};
  }
}

}  // namespace

std::vector<Forecast> predict(std::span<const Case> cases, const Device& device,
                              const theory::Parameters& parameters) {
  std::vector<Forecast> forecasts(cases.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++)
      if (cases[i].status == Status::valid) forecasts[i] = predict_one(cases[i], device, parameters);
  };
  std::vector<std::jthread> others;
  for (unsigned n = 1; n < std::thread::hardware_concurrency(); ++n) others.emplace_back(work);
  work();
  return forecasts;
}

}  // namespace occbench
