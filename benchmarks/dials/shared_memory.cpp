// SPDX-License-Identifier: Apache-2.0
// Question: what does one more byte of shared memory per block cost? PMPP 5.6.
// Expected: Residency falls in steps of floor(shared memory per SM / (bytes + 1 KiB reserved)). Throughput
//   falls only if the kernel needs the warps. The machine code is the same at all points.
#include <algorithm>

#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment shared_memory{{
    .name = "shared_memory",
    .question = "What does one more byte of shared memory per block cost?",
    .dial = "dynamic_smem_bytes",
    .scale = Scale::best,
    .define =
        [](Sweep& sweep) {
          const Variant* const kernels[] = {&sweep.variant("stream", "read-f32-4B-ilp1"),
                                            &sweep.variant("fma_chain", "two-operand-ilp4")};
          std::vector<int> blocks{256};
          if (sweep.at_least(Preset::full)) blocks.insert(blocks.end(), {64, 128, 512});
          const theory::SmLimits& sm = sweep.sm();
          const std::size_t step = std::size_t{sweep.is_quick() ? 16U : 4U} << 10;
          for (const Variant* kernel : kernels)
            for (const int block : blocks) {
              std::vector<std::size_t> bytes;
              for (std::size_t b = 0; b <= sm.smem_per_block_optin_bytes; b += step) bytes.push_back(b);
              // Both sides of every step: the most with n resident blocks, and one allocation unit more.
              for (int n = sm.max_threads_per_sm / block; n >= 1; --n) {
                const std::size_t share = sm.smem_per_sm_bytes / static_cast<std::size_t>(n) / 128 * 128;
                if (share <= sm.smem_reserved_per_block_bytes) continue;
                const std::size_t max_bytes = share - sm.smem_reserved_per_block_bytes;
                if (sweep.is_quick() && n > 4) continue;
                bytes.push_back(max_bytes);
                bytes.push_back(max_bytes + 128);
              }
              bytes.push_back(sm.smem_per_block_optin_bytes);
              bytes.push_back(sm.smem_per_block_optin_bytes + 1024);  // an invalid case with its reason
              std::ranges::sort(bytes);
              bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
              for (const std::size_t b : bytes)
                sweep.add({.variant = kernel, .block_size = block, .ballast_bytes = b});
            }
        },
}};

}  // namespace occbench
