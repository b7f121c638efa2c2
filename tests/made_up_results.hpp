// SPDX-License-Identifier: Apache-2.0
// Results that nobody measured, for the tests of what becomes of them.
#pragma once

#include <vector>

#include "harness/measure/result.hpp"

namespace occbench {

inline const Variant& variant() {
  static const Variant v{.family = "family", .name = "name", .dials = {.ilp = 2, .bytes_per_access = 16}};
  return v;
}

inline CaseResult valid_result(int block_size = 256) {
  CaseResult r;
  Case& c = r.planned;
  c.spec = {.experiment = "experiment", .curve = "curve", .variant = &variant(), .block_size = block_size};
  c.id = c.spec.id();
  c.attributes.registers_per_thread = c.footprint.registers_per_thread = 32;
  c.occupancy = {.blocks_per_sm = 8, .warps_per_sm = 64, .fraction = 1, .limiters = theory::Limiter::warps};
  c.occupancy_textbook = 1;
  c.launch.grid_size = c.wave_blocks = 1056;
  c.iterations = 100;
  r.blocks_per_sm_api = r.blocks_per_sm_resident = 8;
  r.verified = "repeat";
  r.work = {.bytes = 4e9, .flop = 0};
  r.samples = 12;
  r.time_s = {.median = 1e-3, .low = 0.999e-3, .high = 1.001e-3};
  r.time_p10_s = 0.99e-3;
  r.time_p90_s = 1.01e-3;
  r.sm_clock_hz = 1.98e9;
  r.throughput = 4e12;
  r.ceiling = 4.8e12;
  r.per_cycle_per_sm = 15.3;
  return r;
}

inline CaseResult modelled_result() {
  CaseResult r = valid_result();
  r.planned.is_modelled = true;
  r.planned.forecast.prediction = {.time_s = 1e-3, .sm_clock_hz = 1.98e9, .baseline_time_s = 0.8e-3};
  r.samples = 0;
  r.blocks_per_sm_api = r.blocks_per_sm_resident = {};
  r.verified.clear();
  return r;
}

inline CaseResult impossible_result(int block_size) {
  CaseResult r;
  r.planned.spec = {
      .experiment = "experiment", .curve = "curve", .variant = &variant(), .block_size = block_size};
  r.planned.id = r.planned.spec.id();
  r.planned.status = Status::impossible;
  r.planned.reason = "too large, \"far\" too large";
  return r;
}

inline std::vector<SampleRow> samples_of(const CaseResult& r, int count = 3) {
  std::vector<SampleRow> rows;
  for (int i = 0; i < count; ++i)
    rows.push_back({.case_id = r.planned.id,
                    .sample = i,
                    .time_s = 1e-3,
                    .sm_clock_hz = 1.98e9,
                    .started_unix_s = 1.7e9});
  return rows;
}

/// As a run does: its samples as they are taken, then its row.

}  // namespace occbench
