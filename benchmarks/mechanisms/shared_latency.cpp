// SPDX-License-Identifier: Apache-2.0
// Question: how many loads in flight saturate shared memory, with and without bank conflicts? PMPP 6,
//   Volkov 2016.
// Expected: min(warps x ILP x 128 B / latency, 128 B per cycle / conflict). ILP 1 saturates with about 24
//   warps, ILP 4 with 6. A C-way conflict divides the bandwidth by C, and fewer warps reach it.
// Found: H200: confirmed, except for ILP 1 without conflicts: 99 % at 32 warps and 77 % at 64, for an
//   unknown reason.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// Resident warps of a read variant: points around the knee where warps x ILP hide the latency.
std::vector<int> warps_for(const Variant& v, const Sweep& sweep) {
  const int ilp = v.dials.ilp;
  const int conflict = v.dials.bank_conflict;
  if (sweep.at_least(Preset::full)) return {4, 8, 12, 16, 20, 24, 32, 48, 64};
  if (v.name.starts_with("read16B"))
    return ilp > 1 || sweep.is_quick() ? std::vector<int>{} : std::vector{4, 8, 16};
  if (sweep.is_quick()) {
    if (conflict == 1 && (ilp == 1 || ilp == 4)) return {4, 32};
    if (ilp == 1 && (conflict == 2 || conflict == 32)) return {16};
    return {};
  }
  if (conflict == 1) return {4, 8, 16, 32, 64};
  return ilp == 1 || ilp == 4 ? std::vector{4, 8, 16, 32} : std::vector<int>{};
}

}  // namespace

const AddExperiment shared_latency{{
    .name = "shared_latency",
    .question = "How many loads in flight saturate shared memory, with and without bank conflicts?",
    .dial = "warps_per_sm",
    .words = {{"chain", "dependent loads"},
              {"read", "shared-memory reads"},
              {"bank_conflict", "{}-way bank conflicts"},
              {"ilp", "{} loads in flight"}},
    .define =
        [](Sweep& sweep) {
          for (const Variant* v : sweep.variants("shared_latency", "chain"))
            sweep.add({.variant = v, .block_size = 32, .resident_blocks = 1, .grid_size = 1});
          constexpr int block = 128;
          for (const Variant* v : sweep.variants("shared_latency", "read"))
            sweep.add_resident_warps(*v, block, warps_for(*v, sweep));
        },
}};

}  // namespace occbench
