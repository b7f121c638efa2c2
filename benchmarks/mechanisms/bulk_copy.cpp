// SPDX-License-Identifier: Apache-2.0
// Question: how few warps saturate DRAM with bulk copies into shared memory? Little's law; CUDA C++
//   Programming Guide, 'Asynchronous Data Copies'.
// Expected: One warp per SM reaches 94 % of theoretical bandwidth with 48-64 KiB in flight, more than plain
//   loads with 48-64 warps. The knee is between 32 and 64 KiB per SM for any number of warps.
//   bytes_in_flight is per warp: two and four warps need a half and a quarter of it.
// Found: H200: only with large stages, since each stage costs a lone warp about 310 cycles in addition to
//   its bytes. Stages of 4 KiB reach 2.7 TB/s and of 8 KiB 4.2 TB/s at most, at any depth; 16 KiB and more
//   exceed the best plain loads (4.5 TB/s).
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

namespace {

/// Adds a case with `warps` pipelines per SM for each number of stages.
void add_pipelines(Sweep& sweep, const std::string& route, int stage_bytes, std::initializer_list<int> stages,
                   int warps = 1) {
  for (const int n : stages)
    sweep.add({.variant = &sweep.variant(
                   "bulk_copy", route + "-s" + std::to_string(n) + "-" + std::to_string(stage_bytes) + "B"),
               .block_size = warps * sweep.sm().warp_size,
               .resident_blocks = 1});
}

/// Adds all pipelines that fit the shared memory.
void add_every_pipeline(Sweep& sweep) {
  for (const Variant* v : sweep.variants("bulk_copy"))
    for (const int warps : {1, 2, 4}) {
      const int block = warps * sweep.sm().warp_size;
      if (v->dynamic_smem_bytes(block) <= sweep.sm().smem_per_block_optin_bytes &&
          (v->fixed_block_size == 0 || v->fixed_block_size == block))
        sweep.add({.variant = v, .block_size = block, .resident_blocks = 1});
    }
}

void add_standard_pipelines(Sweep& sweep) {
  add_pipelines(sweep, "bulk", 1024, {8, 16, 32});
  add_pipelines(sweep, "bulk", 2048, {4, 8, 16, 32});
  add_pipelines(sweep, "bulk", 4096, {2, 3, 4, 6, 8, 12, 16, 32});
  add_pipelines(sweep, "bulk", 8192, {2, 3, 4, 6, 8, 12, 16, 24});
  add_pipelines(sweep, "bulk", 16384, {2, 3, 4, 6, 8, 12});
  add_pipelines(sweep, "bulk", 32768, {2, 3, 4, 6});
  for (const int warps : {2, 4}) add_pipelines(sweep, "bulk", 4096, {2, 4, 8}, warps);
  add_pipelines(sweep, "bulk", 8192, {2, 4, 8}, 2);
  add_pipelines(sweep, "bulk", 8192, {2, 4}, 4);
  add_pipelines(sweep, "async", 512, {8, 16});
  for (const int warps : {1, 4}) add_pipelines(sweep, "async", 2048, {2, 4, 8, 16}, warps);
}

/// Adds plain loads for comparison: at their best residencies and at those of the pipelines.
void add_plain_loads(Sweep& sweep) {
  const Variant& narrow = sweep.variant("stream", "read-f32-16B-ilp1");
  const Variant& deep = sweep.variant("stream", "read-f32-16B-ilp4");
  constexpr int block = 128;
  if (sweep.is_quick()) {
    sweep.add_resident_warps(narrow, block, std::vector{48});
    sweep.add_resident_warps(deep, sweep.sm().warp_size, std::vector{1});
    return;
  }
  sweep.add_resident_warps(narrow, block, std::vector{48, 64});
  sweep.add_resident_warps(deep, block, std::vector{4, 32, 64});
  sweep.add_resident_warps(deep, sweep.sm().warp_size, std::vector{1});
  if (sweep.at_least(Preset::full)) {
    sweep.add_resident_warps(narrow, block, std::vector{32, 56});
    sweep.add_resident_warps(deep, block, std::vector{8, 16, 48});
    for (const int warps : {1, 2, 4})
      sweep.add_resident_warps(sweep.variant("stream", "read-f32-16B-ilp8"), warps * sweep.sm().warp_size,
                               std::vector{warps});
  }
}

}  // namespace

const AddExperiment bulk_copy{{
    .name = "bulk_copy",
    .question = "How few warps saturate DRAM with bulk copies into shared memory?",
    .dial = "bytes_in_flight",
    .split_by = {"warps_per_sm"},
    .words = {{"async", "async copies"},
              {"bulk", "bulk copies"},
              {"bytes_per_access", "chunks of {}"},
              {"bytes_in_flight", "{} in flight per warp"},
              {"ilp", ""},
              {"stages", ""},
              {"block_size", ""}},
    .define =
        [](Sweep& sweep) {
          if (sweep.is_quick()) {
            add_pipelines(sweep, "bulk", 4096, {2, 4, 8, 16});
            add_pipelines(sweep, "bulk", 16384, {4, 12});
            add_pipelines(sweep, "bulk", 4096, {4}, 4);
            add_pipelines(sweep, "async", 2048, {4, 16});
          } else if (sweep.at_least(Preset::full)) {
            add_every_pipeline(sweep);
          } else {
            add_standard_pipelines(sweep);
          }
          add_plain_loads(sweep);
        },
}};

}  // namespace occbench
