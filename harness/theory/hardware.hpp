// SPDX-License-Identifier: Apache-2.0
// Hardware constants of the model that are not parameters, used by name.
//
// A fact measured on one device is assumed for all others; a fact without a device is documented for all
// GPUs. 'beside the suite': measured with a kernel that is not in the tree (docs/history.md). The others are
// measured by `occbench calibrate --probes` (benchmarks/calibration/probe_recipes.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace occbench::theory {

struct Fact {
  std::string_view name;
  double value;
  std::string_view unit;
  std::string_view of;  ///< full name of the device it was measured on; empty: every GPU
  std::string_view meaning;
  std::string_view source;
};

namespace hardware {
constexpr std::string_view every = "";
constexpr std::string_view h200 = "NVIDIA H200";
constexpr std::string_view a6000 = "NVIDIA RTX A6000";  // of Huerta et al., MICRO 2025, arXiv:2503.20481
constexpr std::string_view huerta = "Huerta et al. 2025, arXiv:2503.20481";
constexpr std::string_view no_record = "in the model since its first version; no measurement was kept";

// Masks of the line number whose parities form the tag index in the L1: the set in the slice, then the
// slice. NVIDIA H200, beside the suite. Sets: from 42 groups of five lines that evict each other, found
// among random lines of 64 MiB, and from evictions in chains one line longer than a slice's capacity.
// Eviction order of a slice's sets: from the victims of such chains; 85 % of 2,895 steps from victim to
// victim follow it.
inline constexpr std::array<std::size_t, 9> l1_parities = {0x69184, 0x2b748, 0x0a938, 0x6ddb0, 0x3aec8,
                                                           0x5e5d4, 0x485a1, 0x1af6f, 0x2d5da};

// L2 latencies of SMs over the mean. NVIDIA H200: 0.94 to 1.09, by SM clock readings in cache_reuse when all
// loads miss the L1.
inline constexpr std::array l2_distances = {0.96, 0.99, 1.0, 1.01, 1.03, 1.05, 1.07, 1.09};

// clang-format off
inline constexpr Fact facts[] = {
    // Schedulers and pipes
    {"schedulers", 4, "", every,
     "of an SM",
     "NVIDIA CUDA C++ Programming Guide, cc 7.0 and later"},
    {"warp_lanes", 32, "", every,
     "of a warp",
     "NVIDIA CUDA C++ Programming Guide"},
    {"fma_interval", 2, "cycle", every,
     "for which a warp instruction occupies one half of the FMA pipe",
     "16 lanes of each half; NVIDIA's white papers of V100, A100, H100"},
    {"wide_product_interval", 4, "cycle", h200,
     "the same for an integer multiply-add with a 64-bit product",
     "timed in all warps of a block, beside the suite"},
    {"special_interval", 8, "cycle", every,
     "for which a warp instruction occupies the special-function pipe",
     "16 results a cycle and SM: CUDA C++ Programming Guide, throughput of native arithmetic instructions"},
    {"special_latency", 17, "cycle", h200,
     "of dependent rsqrt, ex2 or lg2",
     "timed beside the suite (docs/history.md)"},
    {"fp64_latency", 6, "cycle", h200,
     "of an FP64 instruction, in addition to its interval",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"uniform_interval", 2, "cycle", h200,
     "between instructions of a scheduler's uniform datapath",
     no_record},
    {"uniform_latency", 12, "cycle", h200,
     "of the uniform datapath",
     no_record},
    {"mma_latency", 24, "cycle", h200,
     "of mma.sync m16n8k16",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"constant_latency", 28, "cycle", h200,
     "of constants, special registers and unknown opcodes",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"constant_read", 4, "cycle", h200,
     "until those have read their operands",
     no_record},
    {"slot_latency", 8, "cycle", h200,
     "of instructions that take an issue slot only",
     no_record},
    {"bank_window", 2, "cycle", h200,
     "in which an instruction reads its operands; longer reads delay it",
     "two warps that read two registers of one bank each take five cycles, beside the suite; Huerta et al. "
     "2025 measure three on another chip"},
    {"fma_latency", 4, "cycle", every,
     "until a dependent FMA or addition may issue",
     "stall counts of nvcc 13 for cc 7.5 to 9.0"},
    {"predicate_latency", 13, "cycle", h200,
     "from a comparison to the branch that depends on it",
     "stall counts of nvcc 13 for cc 9.0"},
    {"warp_launch_interval", 4, "cycle", h200,
     "between the starts of a block's warps",
     no_record},

    // Code
    {"code_line", 8, "instruction", h200,
     "per line of the instruction caches",
     "loops of all lengths, beside the suite"},
    {"code_near_lines", 256, "line", h200,
     "of an SM's instruction cache: 32 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_far_lines", 1024, "line", h200,
     "of the next level: 128 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_near_interval", 19, "cycle", h200,
     "between lines that a scheduler fetches from the next level",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_far_interval", 46, "cycle", h200,
     "the same for loops beyond 128 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},

    // Load/store unit
    {"memory_queue", 5, "instruction", a6000,
     "per scheduler, queued for the load/store unit",
     huerta},
    {"wavefront_interval", 2, "cycle", a6000,
     "between wavefronts of one access; those of other accesses interleave",
     huerta},
    {"register_bytes", 4, "byte/cycle", h200,
     "per lane, returned from shared memory",
     "chains of wide loads: shared_latency is predicted to 0.3 %"},
    {"barrier_lsu_cycles", 1, "cycle", h200,
     "of the load/store unit, per completed barrier",
     "ncu counts it as a wavefront, beside the suite"},
    {"line_bytes", 128, "byte", every,
     "of a cache line",
     "NVIDIA CUDA C++ Programming Guide"},
    {"stores_in_flight", 43008, "byte", h200,
     "of stores that an SM has in flight before the next one stalls",
     "shared-memory reads begin to stall at 32 to 47 KB, beside the suite (docs/history.md)"},
    {"spills_in_flight", 32768, "byte", h200,
     "the same for spilled registers",
     "stores of spilled registers, beside the suite"},

    // L1
    {"l1_slices", 4, "", h200,
     "of an SM's L1, selected by parities of the line number",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_sets", 128, "", h200,
     "per slice",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_ways", 4, "tag", h200,
     "per set: five lines of one set evict each other",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_line_0", 8, "", h200,
     "the set of line 0",
     "single lines timed, beside the suite"},
    {"l1_parities", l1_parities.size(), "mask", h200,
     "that select a line's slice and set: the table above",
     "evictions between lines, beside the suite"},
    // Lines in flight take less space in a larger pool: up to 72 lines of 168, 16 of 680.
    {"l1_lines_in_flight", 768, "line^2", h200,
     "lines in flight that take space of a slice's pool, times the slice's lines",
     "fitted: best or second best of 14 values on 23 sweeps of all SMs beside the suite; mean error of the "
     "times 5 % (docs/history.md)"},
    {"l1_in_flight_share", 0.75, "", h200,
     "of the L1 that lines in flight may fill if it holds reused lines",
     "fitted: best of 0.65, 0.75, 0.85 and 1 on 56 launches beside the suite (docs/history.md)"},
    {"l1_beyond_shared", 28672, "byte", every,
     "of the combined L1 and shared memory that shared memory cannot use",
     "NVIDIA CUDA C++ Programming Guide, 'Shared Memory' of each compute capability"},
    {"l1_beyond_shared_cc7", 32768, "byte", every,
     "the same for cc 7.x",
     "NVIDIA CUDA C++ Programming Guide, 'Shared Memory' of cc 7.x"},

    // L2
    {"l2_distances", l2_distances.size(), "", h200,
     "between SMs and the L2: the table above",
     "SM clock readings in cache_reuse when all loads miss the L1"},
    {"l2_line_spread", 32, "cycle", h200,
     "maximum deviation of a line's L2 latency from the mean, constant per line",
     "standard deviation 18 between lines and 4 between loads of one line, beside the suite"},
    {"l2_request_share", 0.24, "", h200,
     "fixed part of a request's L2 time, relative to a whole line",
     "gathering 32 bytes from each of four lines takes 1.72 times as long as one whole line, beside the "
     "suite"},
    {"l2_share", 0.72, "", h200,
     "of the L2 that a set read by all SMs can fill before lines are evicted; the rest holds copies for the "
     "far half",
     no_record},
    {"write_back_window", 4096, "cycle", h200,
     "within which the L2 writes a stored line back",
     "not measured: without it an SM's stores delay its next loads"},

    // DRAM
    {"dram_own_share", 0.44, "", h200,
     "of the standard deviation of latency, independent between adjacent lines",
     "75 of 170 cycles, within the 1 KiB that a block of 256 threads reads at once, beside the suite"},
    {"dram_open_pages", 6 * 32 * 16, "page", h200,
     "open at once, one per bank",
     "six stacks of HBM3 with 32 pseudo-channels of 16 banks each (JESD238)"},
    {"queued_wait_share", 0.5, "", h200,
     "of the wait of reads for writes that grows with the load, for warps in a loop",
     "fitted: best of 0, 0.5 and 1 on the suite's cases on an H200 and an H100 (docs/history.md)"},
    {"queue_max_load", 0.85, "", h200,
     "DRAM utilization above which that wait stays constant",
     "fitted: better than 0.95 on the same cases (docs/history.md)"},
    {"most_written_per_read", 8, "", h200,
     "bytes written per byte read, up to which each written byte pays for bus turnaround",
     "the slowest mix has eight bytes written per byte read, beside the suite"},
};
// clang-format on

}  // namespace hardware

/// Throws std::invalid_argument on an unknown name.
constexpr const Fact& fact_of(std::string_view name) {
  for (const Fact& f : hardware::facts)
    if (f.name == name) return f;
  throw std::invalid_argument("no such fact");
}
/// A fact's value; an unknown name does not compile.
consteval double fact(std::string_view name) { return fact_of(name).value; }

}  // namespace occbench::theory
