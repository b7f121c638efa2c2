// SPDX-License-Identifier: Apache-2.0
// Question: what does one element per thread cost, and does the size of its many short blocks matter?
// Expected: with few threads in a block the GPU is busy dealing blocks. It begins so many a second whatever
//   they do. Half the threads then take twice the time, and resident warps do not matter. Larger blocks are
//   as fast as long ones where an SM keeps enough bytes in flight. With narrow loads that takes full
//   occupancy. Blocks of 1,024 lose the time in which one of two is replaced.
// Published: the course text's first kernels, PMPP ch. 2; McCalpin's STREAM.
#include <algorithm>
#include <set>
#include <vector>

#include "benchmarks/sweep.hpp"

namespace occbench {

namespace {

constexpr double one_pass_s = 1e-9;
constexpr int threads_per_sm = 480 * 2048;  // in all: half a gigabyte of each array on 132 SMs

/// Blocks of one pass per thread, as many whole waves as it takes for an SM to have had that many threads.
void add_short(Sweep& sweep, const Variant& kernel, int block, int blocks) {
  sweep.add({.variant = &kernel,
             .block_size = block,
             .resident_blocks = blocks,
             .waves = threads_per_sm / (blocks * block),
             .block_s = one_pass_s});
}

}  // namespace

const AddExperiment short_blocks{{
    .name = "short_blocks",
    .question = "What does one element per thread cost, and which block size does it want?",
    .dial = "block_size",
    .parted_by = {"warps_per_sm"},
    .define =
        [](Sweep& sweep) {
          std::vector<int> blocks{32, 64, 128, 256, 512, 1024};
          if (sweep.quick()) blocks = {32, 128, 1024};
          std::vector<const Variant*> kernels{&sweep.variant("stream", "read-f32-4B-ilp1"),
                                              &sweep.variant("stream", "triad-f32-4B-ilp1")};
          if (!sweep.quick()) {
            kernels.insert(kernels.begin(), &sweep.variant("stream", "init-f32-4B-ilp1"));
            kernels.push_back(&sweep.variant("stream", "scale-f32-4B-ilp1"));
            kernels.push_back(&sweep.variant("stencil", "f32-points3"));
          }
          for (const int block : blocks) {
            const int most = std::min(sweep.sm().max_threads_per_sm / block, sweep.sm().max_blocks_per_sm);
            std::set<int> resident{most};
            if (sweep.at_least(Preset::full) || (block == 128 && !sweep.quick()))
              for (const int warps : {16, 32}) resident.insert(std::min(most, warps * 32 / block));
            resident.erase(0);
            for (const Variant* kernel : kernels)
              for (const int n : resident) add_short(sweep, *kernel, block, n);
          }
        },
}};

}  // namespace occbench
