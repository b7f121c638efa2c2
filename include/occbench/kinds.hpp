// SPDX-License-Identifier: Apache-2.0
// Words that every kernel is described in, the suite's own and others'.
#pragma once

namespace occbench {

/// What the L2 holds as a timed launch begins. A launch that writes leaves its last lines there, unwritten,
/// so it must find as many of somebody else's (dirty) for its declared bytes to be the bytes that DRAM moved.
enum class L2 { warm, clean, dirty };

/// The rate of the hardware that a variant's throughput is held against; `none` when its subject is a latency
/// or a cost, which no rate bounds.
enum class Ceiling { dram, l1, shared_memory, fp32, fp64, tensor_bf16, issue, none };

}  // namespace occbench
