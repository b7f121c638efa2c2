// SPDX-License-Identifier: Apache-2.0
// Question: how many warps does z = x / 2 + y need?
// Expected: as many as there are, like every kernel with 4-byte accesses and no ILP.
#include <occbench/experiment.hpp>

namespace occbench {

const AddExperiment axpy_occupancy{{
    .name = "axpy_occupancy",
    .question = "How many warps does z = x / 2 + y need?",
    .dial = "warps_per_sm",
    .define =
        [](Sweep& sweep) {
          constexpr int warps[] = {4, 8, 16, 32, 48, 64};
          sweep.add_resident_warps(sweep.variant("axpy", "f32"), 128, warps);
        },
}};

}  // namespace occbench
