// SPDX-License-Identifier: Apache-2.0
// Question: how long does a load take, by memory level and under load? Wong 2010, Mei and Chu 2017.
// Expected: Steps of about 35, 280 and 600-690 cycles over the working set. Two methods agree within 5 %.
//   The L2 has near and far lines. Under load, latency is flat up to half of the bandwidth and then 2-4
//   times the idle latency.
// Found: H200: 32, 276 and 677-685 cycles; no TLB step from 32 MiB to 1 GiB; L2 lines at 248-306; loaded up
//   to 1.3 times the idle latency at 81 % of the bandwidth, 1.7-4.2 times at 90-93 %.
#include "benchmarks/framework/sweep.hpp"

namespace occbench {

const AddExperiment pointer_chase{{
    .name = "pointer_chase",
    .question = "How long does a load take, by memory level and load?",
    .dial = "working_set_bytes",
    .scale = Scale::cycles,
    .compares_kernels = true,
    .define =
        [](Sweep& sweep) {
          const std::string_view family = "pointer_chase";
          // One block on the device, without ballast: the driver may choose a larger carve-out than
          // requested.
          const int large_l1 = sweep.large_l1_carveout();
          constexpr int small_l1 = 100;
          const auto add_lone = [&](const Variant& v, int carveout) {
            sweep.add({.variant = &v, .block_size = 32, .carveout_percent = carveout, .grid_size = 1});
          };
          for (const std::string_view name : {"l1", "l1-timed", "l2", "l2-timed", "dram", "dram-timed"})
            add_lone(sweep.variant(family, name), large_l1);
          if (sweep.at_least(Preset::standard))
            for (const Variant* v : sweep.variants(family, "dram-"))
              if (v->name != "dram-timed") add_lone(*v, large_l1);
          int step = 0;
          for (const Variant* v : sweep.variants(family, "walk-"))
            if (step++ % 6 == 0 || sweep.at_least(Preset::standard)) add_lone(*v, large_l1);
          if (sweep.at_least(Preset::full)) {
            for (const Variant* v : sweep.variants(family, "walk-"))
              if (v->dials.working_set_bytes <= std::size_t{1} << 20) add_lone(*v, small_l1);
          }
          int line = 0;
          for (const Variant* v : sweep.variants(family, "l2-line"))
            if (line++ < 4 || sweep.at_least(Preset::standard)) add_lone(*v, large_l1);
          // One warp of a block chases and the others generate load, which grows with the block size and a
          // second block.
          const int max_threads = sweep.sm().max_threads_per_block;
          for (const Variant* v : sweep.variants(family, "loaded")) {
            if (sweep.is_quick() && v->dials.ilp == 1) continue;
            std::vector<int> blocks{64, max_threads};
            if (sweep.at_least(Preset::standard)) blocks = {64, 96, 128, 256, 512, max_threads};
            if (sweep.at_least(Preset::full)) blocks.insert(blocks.end(), {160, 192, 384, 640, 768});
            for (const int block : blocks)
              sweep.add({.variant = v, .block_size = block, .resident_blocks = 1});
            if (sweep.at_least(Preset::standard) && 2 * max_threads <= sweep.sm().max_threads_per_sm)
              sweep.add({.variant = v, .block_size = max_threads, .resident_blocks = 2});
          }
        },
}};

}  // namespace occbench
