// SPDX-License-Identifier: Apache-2.0
// Properties of kernels, shared by the suite's and user kernels.
#pragma once

namespace occbench {

/// The state of the L2 before a timed launch. A launch that writes leaves dirty lines behind, so it must
/// start with as many dirty lines for its declared bytes to equal its DRAM traffic.
enum class L2 { warm, clean, dirty };

/// The hardware rate that a variant's throughput is compared with; `none` for latencies and costs.
enum class Ceiling { dram, l1, shared_memory, fp32, fp64, tensor_bf16, issue, none };

}  // namespace occbench
