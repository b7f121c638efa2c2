// SPDX-License-Identifier: Apache-2.0
// What the model holds for true of hardware and no parameter says. Each stands here once, and is used by
// name.
//
// A fact is of one device where it was measured, and assumed of all others; of none where a manual says it of
// all. 'beside the suite': measured by a kernel that was not in the tree; docs/history.md has what was seen.
// What a kernel of the tree can measure, `occbench calibrate --probes` does: benchmarks/calibration/probe_recipes.cpp.
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
  std::string_view of;  ///< the device on which it was measured, by its full name; empty: every GPU
  std::string_view meaning;
  std::string_view source;
};

namespace hardware {
constexpr std::string_view every = "";
constexpr std::string_view h200 = "NVIDIA H200";
constexpr std::string_view a6000 = "NVIDIA RTX A6000";  // of Huerta et al., MICRO 2025, arXiv:2503.20481
constexpr std::string_view huerta = "Huerta et al. 2025, arXiv:2503.20481";
constexpr std::string_view no_record = "in the model since its first version; no measurement of it was kept";

// Bits of a line's number whose parities are the bits of its place in the L1: the set within the slice, then
// the slice. NVIDIA H200, beside the suite. Which lines share a set: from 42 groups of five that evict each
// other, found among random lines of 64 MiB, and from who evicts whom where a slice has one line more than
// its room. In which order a slice's sets give a line: from the victims of such chains, one after the other.
// It is not the whole truth: of 2,895 steps from victim to victim 85 % go forward in it.
inline constexpr std::array<std::size_t, 9> l1_parities = {0x69184, 0x2b748, 0x0a938, 0x6ddb0, 0x3aec8,
                                                           0x5e5d4, 0x485a1, 0x1af6f, 0x2d5da};

// SMs by their distance from the L2, as latencies over the mean. NVIDIA H200: by an SM's own clock 0.94 to
// 1.09, where all loads of the suite's cache_reuse loop miss.
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
     "that a warp instruction keeps a half of the FMA pipe busy",
     "16 lanes of each half; NVIDIA's white papers of V100, A100, H100"},
    {"wide_product_interval", 4, "cycle", h200,
     "the same of an integer multiply-add with the high half of its product",
     "timed in all warps of a block, beside the suite"},
    {"special_interval", 8, "cycle", every,
     "that a warp instruction keeps the special functions' pipe busy",
     "16 results a cycle and SM: CUDA C++ Programming Guide, throughput of native arithmetic instructions"},
    {"special_latency", 17, "cycle", h200,
     "of rsqrt, ex2 and lg2 alike, in a chain of them",
     "timed beside the suite (docs/history.md)"},
    {"fp64_latency", 6, "cycle", h200,
     "of an FP64 instruction, beyond its interval",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"uniform_interval", 2, "cycle", h200,
     "between instructions of a scheduler's warp-wide integer unit",
     no_record},
    {"uniform_latency", 12, "cycle", h200,
     "of the warp-wide integer unit",
     no_record},
    {"mma_latency", 24, "cycle", h200,
     "of mma.sync m16n8k16",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"constant_latency", 28, "cycle", h200,
     "of constants, special registers and what is not known better",
     "`occbench calibrate --probes`, on an H200 and an H100 (docs/data/facts.csv)"},
    {"constant_read", 4, "cycle", h200,
     "until these have read their operands",
     no_record},
    {"slot_latency", 8, "cycle", h200,
     "of what takes an issue slot and nothing else",
     no_record},
    {"bank_window", 2, "cycle", h200,
     "in which an instruction reads its operands; what these do not suffice for delays it",
     "two warps that need two registers of a bank each take five cycles, beside the suite; Huerta et al. "
     "2025 find three on another chip"},
    {"fma_latency", 4, "cycle", every,
     "until a dependent FMA or addition may issue",
     "stall counts of nvcc 13 for cc 7.5 to 9.0"},
    {"predicate_latency", 13, "cycle", h200,
     "from a comparison to the branch upon it",
     "stall counts of nvcc 13 for cc 9.0"},
    {"warp_launch_interval", 4, "cycle", h200,
     "from one warp of a block that begins to the next",
     no_record},

    // Code
    {"code_line", 8, "instruction", h200,
     "of a line of the instruction caches",
     "loops of all lengths, beside the suite"},
    {"code_near_lines", 256, "line", h200,
     "of an SM's instruction cache: 32 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_far_lines", 1024, "line", h200,
     "of the cache behind it: 128 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_near_interval", 19, "cycle", h200,
     "between lines that a scheduler has from behind its cache",
     "loops of all lengths, beside the suite (docs/history.md)"},
    {"code_far_interval", 46, "cycle", h200,
     "the same of loops beyond 128 KB",
     "loops of all lengths, beside the suite (docs/history.md)"},

    // Load/store unit
    {"memory_queue", 5, "instruction", a6000,
     "of a scheduler that may wait for the load/store unit",
     huerta},
    {"wavefront_interval", 2, "cycle", a6000,
     "from one wavefront of an access to its next; wavefronts of others come between",
     huerta},
    {"register_bytes", 4, "byte/cycle", h200,
     "of a lane, that come back from shared memory",
     "chains of wide loads: shared_latency is right to 0.3 % with it"},
    {"barrier_lsu_cycles", 1, "cycle", h200,
     "of the load/store unit, for a barrier that is complete",
     "ncu counts it among the wavefronts, beside the suite"},
    {"line_bytes", 128, "byte", every,
     "of a cache line",
     "NVIDIA CUDA C++ Programming Guide"},
    {"stores_under_way", 43008, "byte", h200,
     "of stores that an SM has under way before the next must wait",
     "reads of shared memory begin to wait at 32 to 47 KB, beside the suite (docs/history.md)"},
    {"spills_under_way", 32768, "byte", h200,
     "the same of spilled registers",
     "stores of spilled registers, beside the suite"},

    // L1
    {"l1_slices", 4, "", h200,
     "of an SM's L1; parities of a line's number say which",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_sets", 128, "", h200,
     "of tags in a slice",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_ways", 4, "tag", h200,
     "of a set: five lines of one set evict each other",
     "single lines timed, beside the suite (docs/history.md)"},
    {"l1_line_0", 8, "", h200,
     "the set of line 0",
     "single lines timed, beside the suite"},
    {"l1_parities", l1_parities.size(), "mask", h200,
     "that give a line's slice and set: the table above",
     "who evicts whom, beside the suite"},
    // Lines on their way take the less room the larger the pool is: 72 of all where it has 168, 16 where it
    // has 680.
    {"l1_lines_in_flight", 768, "line^2", h200,
     "lines on their way that take room of a slice's pool, times the slice's lines",
     "best, or next to it, of 14 values over 23 sweeps of all SMs beside the suite: times within 5 % in the "
     "mean (docs/history.md)"},
    {"l1_room_beside_others", 0.75, "", h200,
     "of the L1, that lines on their way may fill where others are used again",
     "best of 0.65, 0.75, 0.85 and 1 over 56 launches beside the suite (docs/history.md)"},
    {"l1_beyond_shared", 28672, "byte", every,
     "of the array that L1 and shared memory divide, beyond what shared memory can take",
     "NVIDIA CUDA C++ Programming Guide, 'Shared Memory' of each compute capability"},
    {"l1_beyond_shared_cc7", 32768, "byte", every,
     "the same on cc 7.x",
     "NVIDIA CUDA C++ Programming Guide, 'Shared Memory' of cc 7.x"},

    // L2
    {"l2_distances", l2_distances.size(), "", h200,
     "of SMs from the L2: the table above",
     "an SM's own clock, where all loads of cache_reuse miss"},
    {"l2_line_spread", 32, "cycle", h200,
     "by which a line is nearer to an SM or farther than the mean, at most; always the same",
     "latencies of lines have a standard deviation of 18, and 4 from one load of a line to the next, beside "
     "the suite"},
    {"l2_request_share", 0.24, "", h200,
     "of the time that a whole line takes, what each request takes whatever it asks for",
     "gathers of 32 bytes from each of four lines take 1.72 times as long as of one line whole, beside the "
     "suite"},
    {"l2_share", 0.72, "", h200,
     "of the L2's size, what a set read by all SMs can fill before lines are lost: the rest holds copies for"
     " the far half",
     no_record},
    {"write_back_window", 4096, "cycle", h200,
     "after which the L2 has written a stored line back, at most: when it needs the room",
     "not measured: an SM's own stores held its next loads up without it"},

    // DRAM
    {"dram_own_share", 0.44, "", h200,
     "of the spread of the latency over single lines, what lines side by side do not have in common",
     "75 of 170 cycles, within the 1 KiB that a block of 256 reads at once, beside the suite"},
    {"dram_open_pages", 6 * 32 * 16, "page", h200,
     "that stay open, one a bank",
     "six stacks of HBM3 with 32 pseudo-channels of 16 banks each (JESD238)"},
    {"queued_wait_share", 0.5, "", h200,
     "of what reads wait for writes, that a queue makes longer, where warps go round a loop",
     "best of 0, 0.5 and 1 over the suite's cases on an H200 and an H100 (docs/history.md)"},
    {"most_crowded", 0.85, "", h200,
     "of DRAM's time, at which that queue is as long as it gets",
     "better than 0.95 over the same (docs/history.md)"},
    {"most_written_per_read", 8, "", h200,
     "bytes written for one that is read, up to which each pays for turning the bus around",
     "one byte read for each eight written is slower than any other mix, beside the suite"},
};
// clang-format on

}  // namespace hardware

/// Throws std::invalid_argument where there is none of this name.
constexpr const Fact& fact_of(std::string_view name) {
  for (const Fact& f : hardware::facts)
    if (f.name == name) return f;
  throw std::invalid_argument("no such fact");
}
/// A fact's value; a name that is not there does not compile.
consteval double fact(std::string_view name) { return fact_of(name).value; }

}  // namespace occbench::theory
