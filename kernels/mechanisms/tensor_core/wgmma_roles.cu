// SPDX-License-Identifier: Apache-2.0
// Shows: a launch's registers are a pool; setmaxnreg splits it between a producer and two consumers.
// Expected: the split changes nothing until the consumers have too few registers for their values. From
//   there each value that spills is stored and loaded in every iteration.
// Published: PTX ISA, 'setmaxnreg'; Shah et al., 'FlashAttention-3' (2024).
#include "kernels/mechanisms/tensor_core/wgmma_ring.cuh"

namespace occbench::tensor_core {

namespace {

constexpr int values = 64;  // with 128 accumulators and addresses, nvcc 13 needs just under 200 registers
constexpr int iterations_to_check = 11;  // uses every stage more than twice

/// Per thread at launch: 65,536 registers for 384 threads, in steps of 8.
constexpr int launch_registers = 65536 / specialised_threads / 8 * 8;

template <int consumer_registers>
struct Split {
  using Parameters = Tiles;
  using Stream = Ring<true, true>;
  /// What the consumers leave of the pool.
  static constexpr int producer_registers =
      (1 + consumers) * launch_registers - consumers * consumer_registers;
  static_assert(producer_registers >= 24 && consumer_registers >= launch_registers);

  static __device__ void run(const Parameters& p) {
    produce_and_consume<Stream, producer_registers, consumer_registers, values>(p);
  }
};

template <int consumer_registers>
void add_split() {
  using Body = Split<consumer_registers>;
  using Stream = typename Body::Stream;
  add_wgmma({.name = "wgmma-roles-" + std::to_string(Body::producer_registers) + "-" +
                     std::to_string(consumer_registers),
             .series = "wgmma-roles",
             .form = "wgmma-roles",
             .stages = Stream::stages,
             .bytes_in_flight = Stream::stages * Stream::stage_bytes,
             .block_size = specialised_threads,
             .warpgroups = consumers,
             .columns = b_columns,
             .instructions = {{"HGMMA", wgmma_per_iteration}, {"UBLKCP", Stream::copies}, {"FFMA", values}},
             .hot_loops = 2,
             .loop_trips = {0, 1, 0, 0, 0},  // the consumers'
             .working_warps = [](int) { return 4 * consumers; },
             .launch_bounds_threads = specialised_threads,
             .consumer_registers = consumer_registers,
             .check_iterations = iterations_to_check,
             .smem_bytes = Stream::smem_bytes,
             .reference = [](int iterations) { return ring_reference(true, iterations, values); },
             .entry = reinterpret_cast<const void*>(bounded_entry<Body, specialised_threads, 1>)});
}

const Registration wgmma_roles_kernels{[] {
  for_each_value<168, 176, 184, 192, 200, 216, 232, 240>(
      []<int registers>(std::integral_constant<int, registers>) { add_split<registers>(); });
}};

}  // namespace

}  // namespace occbench::tensor_core
