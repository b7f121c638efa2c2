// SPDX-License-Identifier: Apache-2.0
// What a kernel family registers: its variants, their work, how to check a result.
// Of the harness, kernels/ includes only this header and the device headers beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <occbench/kinds.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/device/arena.hpp"
#include "harness/device/census.cuh"
#include "harness/device/random.cuh"
#include "harness/theory/simulator/flow.hpp"

namespace occbench {

/// What limits the register count: nothing (free), or one of CUDA's three controls.
enum class RegisterRoute { free, launch_bounds, maxnreg, maxrregcount };
std::string_view to_string(RegisterRoute route);

/// The dials that are fixed when a variant is compiled. 0 or empty means that the dial does not apply.
struct Dials {
  std::string data_type = "f32";
  int ilp = 1;               ///< independent operations of one thread in flight
  int bytes_per_access = 0;  ///< width of one global load or store, bytes per thread
  RegisterRoute route = RegisterRoute::free;
  int register_cap = 0;                  ///< registers per thread that the route allows
  int tile_width = 0;                    ///< elements
  int live_values = 0;                   ///< 4-byte values held across the loop
  int barriers = 1;                      ///< named barriers that the kernel reserves; 1 if it uses none
  std::optional<int> fma_per_load = {};  ///< FMAs on each loaded value
  int stages = 0;                        ///< of an asynchronous copy pipeline
  std::size_t bytes_in_flight = 0;       ///< maximum of one pipeline of asynchronous copies
  std::size_t working_set_bytes = 0;     ///< that a block or a chain of loads reads repeatedly
  int bank_conflict = 0;  ///< lanes of a warp that access one shared-memory bank at once; 1: none
  std::optional<int> lanes_apart = {};         ///< lanes of a warp that branch away from the others
  std::optional<double> divergent_warps = {};  ///< share of the warps whose lanes diverge, 0 to 1
};

/// What one thread does in one loop iteration. Used only to choose the number of iterations of a case.
struct LoopIteration {
  double dram_bytes = 0;      ///< bytes this thread moves to or from DRAM
  double flop = 0;            ///< floating-point operations (an FMA is two)
  double latency_cycles = 0;  ///< dependent arithmetic, on-chip loads and waits, SM cycles
  double dram_waits = 0;      ///< DRAM latencies that one thread alone cannot hide: 1 if the iteration waits
                              ///< for its own loads, 1 / stages in a pipeline
  int idle_values = 0;        ///< live values that the iteration does not use: spilling them is free
  /// SM cycles for which one warp's iteration occupies its busiest pipe except FP32 and DRAM, which follow
  /// from the above (shared memory, tensor, barriers ...).
  double pipe_cycles_per_warp = 0;
};

using Flow = theory::Flow;
using theory::Sharer;

/// Instructions per iteration of the hot loop that the compiled SASS must contain ("FFMA" -> 64,
/// "LDG.128" -> 4). Audited classes that are missing here must not occur.
using Instructions = std::map<std::string, int>;

/// One launch: blocks, threads per block, iterations per thread.
struct Shape {
  int grid_size = 0;
  int block_size = 0;
  std::int64_t iterations = 0;
  int cluster_size = 1;
  [[nodiscard]] std::int64_t threads() const { return std::int64_t{grid_size} * block_size; }
};

/// The work of one launch as the algorithm counts it. Throughput is computed from the quantity that the
/// variant's ceiling limits.
struct Work {
  double bytes = 0;       ///< moved at the memory level of the ceiling; at DRAM if it has none
  double flop = 0;        ///< floating-point operations
  double operations = 0;  ///< of another kind: dependent loads, barriers, hashes
};

struct Launch;  // harness/device/launch.hpp

/// A prepared launch: its kernel argument, its work, and how to verify its output.
struct Problem {
  std::vector<std::byte> parameters;  ///< the kernel's first argument, by value
  Work work;
  std::function<void()> poison;  ///< fills the output with NaN patterns, in stream order
  /// Called after the launch: nullopt if every output agrees with the CPU reference in float64, otherwise one
  /// line naming the first element that does not.
  std::function<std::optional<std::string>()> mismatch;
  /// mismatch() can check a timed launch, with all of its iterations, within milliseconds if it checks some
  /// outputs only (Arena::limit_checked_samples). Otherwise the outputs of two such launches are compared.
  bool reference_covers_timed = false;
  /// Launches a kernel with another signature, in stream order; empty: its arguments are `parameters` and the
  /// census.
  std::function<void(const Launch&, Census, cudaStream_t)> launch = nullptr;
  /// poison() writes a different pattern at each call: then a word that the kernel does not write differs
  /// between two launches, and all ones may be a result.
  bool poison_alternates = false;
  /// Leading bytes of the output that must be bitwise equal in two launches. 0: all that poison() covers.
  std::size_t repeatable_bytes = 0;
  /// SM cycles of one iteration, or of one load in it (the family says which), by the kernel's own clock64
  /// readings: a second method beside the events. Called while the output is that of the last timed launch.
  /// Empty: the kernel reads no clock.
  std::function<double()> own_cycles_per_iteration = nullptr;

  template <class Parameters>
  void set_parameters(const Parameters& p) {
    static_assert(std::is_trivially_copyable_v<Parameters>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&p);
    parameters.assign(bytes, bytes + sizeof p);
  }
};

std::string_view to_string(Ceiling ceiling);

/// The unit of work of a ceiling: bytes for dram, l1 and shared_memory; floating-point operations for fp32,
/// fp64 and tensor_bf16; the family's operations for issue (thread instructions) and none.
enum class Unit { byte, flop, operation };
Unit unit_of(Ceiling ceiling);
/// "byte/s", "flop/s", "operation/s"
std::string_view rate_name(Unit unit);
/// The work in this unit.
double amount(const Work& work, Unit unit);

/// One compiled kernel of a family. `name` is unique in the family: [A-Za-z0-9_=+-]+.
struct Variant {
  std::string family;
  std::string name;
  /// Common name of the variants of one curve, if their own names contain the dial's value; empty: the name.
  std::string series = {};
  /// What it does, in one word that no dial expresses ("read", "walk", "register"); empty if the family does
  /// one thing only.
  std::string form = {};
  /// The variant of the same family that does the same work without the effect under test; empty: none.
  std::string baseline = {};
  Dials dials = {};
  Ceiling ceiling = Ceiling::dram;
  LoopIteration iteration = {};
  Flow flow = {};
  Instructions instructions = {};
  int hot_loops = 1;  ///< innermost loops with audited instructions; `instructions` are their sum
  /// Trip counts of the function's loops, in address order: of an outermost loop per iteration (1/8: one trip
  /// makes eight iterations), of an inner loop per trip of the loop around it (-8: 0, 1, ... 7, by trip).
  /// Empty: the one loop with audited instructions, one trip per iteration.
  std::vector<double> loop_trips = {};
  bool may_spill = false;         ///< its register cap is below its need: local loads and stores are expected
  bool spills_to_shared = false;  ///< and 4-byte shared ones: compiled to spill to shared memory first
  int launch_bounds_threads = 0;  ///< per SM: __launch_bounds__'s threads x blocks; 0 without
  int fixed_block_size = 0;       ///< threads; 0: any block size
  int largest_block_size = 0;     ///< threads; 0: the hardware's limit
  int min_cc = 0;                 ///< minimum compute capability, 10 x major + minor; 0: any
  bool only_this_cc = false;      ///< later ones lack its instructions (wgmma: 90 only)
  bool in_clusters = false;       ///< blocks of a cluster cooperate; cluster_size is a dial
  L2 l2_before = L2::clean;
  std::int64_t check_iterations = 2;  ///< iterations of the launch that is compared with the reference
  /// Bytes that the kernel needs for a block of so many threads; empty: 0.
  std::function<std::size_t(int block_size)> dynamic_smem_bytes = nullptr;
  /// Maximum iterations that the arena's data allows at this grid and block, 0 if it is too small; empty: no
  /// limit.
  std::function<std::int64_t(const Arena&, const Shape&)> max_iterations = nullptr;
  std::function<Problem(Arena&, const Shape&)> prepare = nullptr;
  /// A user kernel: a launch does all of its work in one iteration, on its own grid.
  bool user_kernel = false;
  /// Grid size of a user kernel at a block size; empty: as many waves as the case asks for.
  std::function<int(int block_size)> grid_size = nullptr;
  bool counts_blocks = true;    ///< its blocks write census records if a census is given
  bool predicted = true;        ///< the model simulates its SASS
  const void* entry = nullptr;  ///< host stub of the __global__ function
};

/// All variants in this program, in order of registration.
std::span<const Variant> variants();
/// Adds a variant; throws std::logic_error on a name that is taken or malformed.
void add_variant(Variant variant);

/// 1, 2, ...: a different number at each call. Thread-safe.
std::uint64_t next_id();

/// Runs `define` before main: how a family enters the registry.
struct Registration {
  explicit Registration(void (*define)()) { define(); }
};

}  // namespace occbench
