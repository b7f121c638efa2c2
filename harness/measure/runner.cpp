// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/runner.hpp"

namespace occbench {

double least_undisturbed_copy_bytes_per_s(const Device& device) {
  const bool is_slice = device.nvml.mig.value_or(false) || device.name.find(" MIG ") != std::string::npos;
  return is_slice ? 0 : 0.7 * device.dram_bytes_per_s;
}

void Runner::rate(CaseResult& r) const {
  const Ceiling ceiling = r.planned.spec.variant->ceiling;
  r.throughput = amount(r.work, unit_of(ceiling)) / r.time_s.median;
  r.ceiling = ceiling_rate(ceiling, device_, r.sm_clock_hz);
  r.cycles_per_iteration = r.time_s.median * r.sm_clock_hz / static_cast<double>(r.planned.iterations);
  r.per_cycle_per_sm = r.throughput / r.sm_clock_hz / r.planned.sm_count;
}

}  // namespace occbench
