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

/// What limits the register count: nothing (free), or one of CUDA's three dials.
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
  int barriers = 1;                      ///< named barriers the machine code reserves; 1 when it uses none
  std::optional<int> fma_per_load = {};  ///< FMAs on each loaded value
  int stages = 0;                        ///< of an asynchronous copy pipeline
  std::size_t bytes_in_flight = 0;       ///< most that one pipeline of asynchronous copies has under way
  std::size_t working_set_bytes = 0;  ///< what is read again and again: by a block, or along a chain of loads
  int bank_conflict = 0;              ///< lanes of a warp that access one shared-memory bank at once; 1: none
  std::optional<int> lanes_apart = {};         ///< of a warp's 32 lanes, how many branch away from the others
  std::optional<double> divergent_warps = {};  ///< share of the warps whose lanes diverge, 0 to 1
};

/// What one thread does in one iteration of its loop. Sizes the work of a case, and nothing else.
struct LoopIteration {
  double dram_bytes = 0;      ///< bytes this thread moves to or from DRAM
  double flop = 0;            ///< floating-point operations (an FMA is two)
  double latency_cycles = 0;  ///< dependent arithmetic, on-chip loads and waits, SM cycles
  double dram_waits =
      0;  ///< DRAM latencies that it cannot hide from itself: 1 when it ends with its own loads,
          ///< 1 / stages in a pipeline
  int idle_values = 0;  ///< live values that the iteration does not touch: spilling these costs it nothing
  double pipe_cycles_per_warp =
      0;  ///< SM cycles in which one warp's iteration occupies its busiest pipe (shared
          ///< memory, tensor, barriers ...); FP32 and DRAM follow from the above
};

using Flow = theory::Flow;
using theory::Sharer;

/// Per iteration of the hot loop, as the built machine code must show it ("FFMA" -> 64, "LDG.128" -> 4).
/// Audited classes that are not named must not appear.
using Instructions = std::map<std::string, int>;

/// One launch: how many blocks of how many threads, each making how many iterations.
struct Shape {
  int grid_size = 0;
  int block_size = 0;
  std::int64_t iterations = 0;
  int cluster_size = 1;
  [[nodiscard]] std::int64_t threads() const { return std::int64_t{grid_size} * block_size; }
};

/// What one launch does, by the algorithm's count. Throughput is over the one that the ceiling is about.
struct Work {
  double bytes = 0;       ///< moved at the level that the ceiling names; at DRAM where it names none
  double flop = 0;        ///< floating-point operations
  double operations = 0;  ///< anything else that is counted: dependent loads, barriers, hashes
};

struct Launch;  // harness/device/launch.hpp

/// One launch made ready: its kernel argument, its work, and how to tell that it was done right.
struct Problem {
  std::vector<std::byte> parameters;  ///< the kernel's first argument, by value
  Work work;
  std::function<void()> poison;  ///< fills the output with NaN patterns, in stream order
  /// After the launch has finished: nullopt when every output agrees with the CPU reference in
  /// float64, otherwise one line naming the first element that does not.
  std::function<std::optional<std::string>()> mismatch;
  /// mismatch() covers the iterations of a timed launch within milliseconds when it checks some outputs only
  /// (Arena::look_at). Otherwise two launches of that many iterations are compared.
  bool reference_reaches = false;
  /// Launches a kernel of other arguments, in its own way and in stream order; empty: `parameters` and the
  /// census are all that it takes.
  std::function<void(const Launch&, Census, cudaStream_t)> launch = nullptr;
  /// poison() leaves another pattern at each call: a word that nobody writes tells two launches apart, and
  /// one of all ones may be a result.
  bool poison_alternates = false;
  /// Of the output, from its beginning: what two launches must agree on, bit by bit. 0: all that poison()
  /// poisons.
  std::size_t repeatable_bytes = 0;
  /// SM cycles of one iteration, or of one load in it (the family says which), by the kernel's own clock64
  /// readings: a second method beside the events. Asked for while the output still is that of the last timed
  /// launch. Empty: the kernel reads no clock.
  std::function<double()> own_cycles_per_iteration = nullptr;

  template <class Parameters>
  void set_parameters(const Parameters& p) {
    static_assert(std::is_trivially_copyable_v<Parameters>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&p);
    parameters.assign(bytes, bytes + sizeof p);
  }
};

std::string_view to_string(Ceiling ceiling);

/// What is counted under a ceiling: bytes at dram, l1 and shared_memory; floating-point operations at fp32,
/// fp64 and tensor_bf16; the family's own operations at issue (thread instructions) and none.
enum class Unit { byte, flop, operation };
Unit unit_of(Ceiling ceiling);
/// "byte/s", "flop/s", "operation/s"
std::string_view rate_name(Unit unit);
/// The part of the work that is counted in this unit.
double amount(const Work& work, Unit unit);

/// One compiled kernel of a family. `name` is unique in the family: [A-Za-z0-9_=+-]+.
struct Variant {
  std::string family;
  std::string name;
  /// What variants of one curve share when their names carry its dial; empty: the name.
  std::string series = {};
  /// What it does, in one word that no dial says ("read", "walk", "register"); empty where a family does one
  /// thing.
  std::string form = {};
  /// The variant of the same family that does the same work without what this one is about; empty: none.
  std::string baseline = {};
  Dials dials = {};
  Ceiling ceiling = Ceiling::dram;
  LoopIteration iteration = {};
  Flow flow = {};
  Instructions instructions = {};
  int hot_loops = 1;  ///< innermost loops with audited instructions; `instructions` are their sum
  /// Trips of each loop of the function, in address order: of an outermost one per iteration (1/8: one trip
  /// makes eight iterations), of an inner one per trip of the loop around it (-8: 0, 1, ... 7 in trip).
  /// Empty: the one loop with audited instructions, once.
  std::vector<double> loop_trips = {};
  bool may_spill = false;         ///< a register cap below need: local loads and stores are expected
  bool spills_to_shared = false;  ///< and 4-byte shared ones: the compiler was asked to spill there first
  int promised_threads = 0;       ///< per SM: __launch_bounds__'s threads x blocks; 0 without
  int fixed_block_size = 0;       ///< threads; 0 when any block size will do
  int largest_block_size = 0;     ///< threads; 0 when the hardware's limit is the only one
  int least_cc = 0;           ///< 10 x major + minor that the machine code needs: 80, 90; 0 when any will do
  bool only_this_cc = false;  ///< and no later one has these instructions (wgmma: 90 alone)
  bool in_clusters = false;   ///< blocks of a cluster cooperate: cluster_size is a dial
  L2 l2_before = L2::clean;
  std::int64_t check_iterations = 2;  ///< iterations of the launch that is compared with the reference
  /// The kernel's own need per block of so many threads, bytes; empty is 0.
  std::function<std::size_t(int block_size)> dynamic_smem_bytes = nullptr;
  /// Most iterations that the arena's data allows at this grid and block, 0 when it lacks the room; empty: no
  /// bound.
  std::function<std::int64_t(const Arena&, const Shape&)> max_iterations = nullptr;
  std::function<Problem(Arena&, const Shape&)> prepare = nullptr;
  /// A user kernel: a launch does all of its work in one iteration, on a grid that is its own.
  bool user_kernel = false;
  /// Of a user kernel: blocks of its grid at a block size; empty: as many waves as the case asks for.
  std::function<int(int block_size)> grid_size = nullptr;
  bool counts_blocks = true;    ///< its blocks write records when they are given a census
  bool predicted = true;        ///< the model gets its machine code
  const void* entry = nullptr;  ///< host stub of the __global__ function
};

/// Every variant linked into this program, in order of registration.
std::span<const Variant> variants();
/// Adds a variant; throws std::logic_error on a name that is taken or malformed.
void add_variant(Variant variant);

/// 1, 2, ...: another one at each call, from any thread.
std::uint64_t unused_id();

/// Runs `define` before main: how a family enters the registry.
struct Registration {
  explicit Registration(void (*define)()) { define(); }
};

}  // namespace occbench
