// SPDX-License-Identifier: Apache-2.0
// Question: what does a cluster cost in distributed shared-memory bandwidth, latency and idle SMs? Luo et
//   al. 2024; CUDA C++ Programming Guide, 'Thread Block Clusters'.
// Expected: Reading another block's shared memory is well below the local bandwidth, and lower for larger
//   clusters. A dependent load takes about 200 cycles at any size. A cluster lies within a GPC, so sizes
//   that do not divide a GPC's SMs leave some idle, and arithmetic throughput falls accordingly.
// Found: H200: remote bandwidth per active SM is 15.7, 14.1, 14.2 and 14.2 B/cycle at sizes 2, 4, 8 and 16
//   (blocks of 1,024): constant from 4 on, where the total falls by idle SMs only. A dependent load takes
//   190 cycles.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment clusters{{
    .name = "clusters",
    .question = "What does a cluster cost in shared-memory bandwidth, latency and idle SMs?",
    .dial = "cluster_size",
    .split_by = {"block_size"},
    .outside_model = "no parameter says which SMs a cluster gets, nor describes the network between them",
    .words = {{"dsmem-read", "reads of a neighbour's shared memory"},
              {"dsmem-spread", "reads spread over the cluster's shared memory"},
              {"smem-read", "reads of a block's own shared memory"},
              {"dsmem-latency", "dependent loads of a neighbour's shared memory"}},
    .define =
        [](Sweep& sweep) {
          const auto sizes =  // above 8 is not portable
              sweep.by_preset({1, 8, 16}, {1, 2, 4, 8, 16}, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16});
          // With one block per SM all reads of other blocks are remote. With several small blocks per SM
          // some are local.
          const CaseSpec large{.block_size = 1024, .resident_blocks = 1};
          const CaseSpec small{.block_size = 128, .resident_blocks = 8};
          const CaseSpec lone{.block_size = 32, .resident_blocks = 1};
          const auto add = [&](const Variant& variant, CaseSpec spec, int cluster_size) {
            spec.variant = &variant;
            spec.cluster_size = cluster_size;
            sweep.add(spec);
          };
          const Variant& own = sweep.variant("clusters", "smem-read");
          const Variant& read = sweep.variant("clusters", "dsmem-read");
          const Variant& spread = sweep.variant("clusters", "dsmem-spread");
          const bool all = sweep.at_least(Preset::standard);
          add(own, large, 1);
          if (all) add(own, small, 1);
          for (const int size : sizes) {
            add(read, large, size);
            add(sweep.variant("clusters", "dsmem-latency"), lone, size);
            add(sweep.variant("fma_chain", "two-operand-ilp4"), large, size);
            if (!all) continue;
            add(read, small, size);
            if (size == 1) continue;  // no other block to read
            add(spread, large, size);
            add(spread, small, size);
          }
        },
}};

}  // namespace occbench
