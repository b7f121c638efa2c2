// SPDX-License-Identifier: Apache-2.0
// What a kernel family tells the rest of the house: its variants, their work, how to check a result.
// kernels/ knows this header (and the device headers beside it) and nothing else of the harness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/arena.hpp"
#include "harness/random.cuh"

namespace occbench {

/// Who decides the register count: the compiler, or one of CUDA's three dials.
enum class RegisterRoute { free, launch_bounds, maxnreg, maxrregcount };
std::string_view to_string(RegisterRoute route);

/// The dials that are fixed when a variant is compiled. 0 or empty means that the dial does not apply.
struct Dials {
  std::string data_type = "f32";
  int ilp = 1;               ///< independent operations of one thread in flight
  int bytes_per_access = 0;  ///< width of one global load or store, bytes per thread
  RegisterRoute route = RegisterRoute::free;
  int register_cap = 0;  ///< registers per thread that the route allows
  int tile_width = 0;    ///< elements
  int live_values = 0;   ///< 4-byte values held across the loop
  int barriers = 1;      ///< named barriers the machine code reserves; 1 when it uses none
};

/// What one thread does in one pass of its loop. Sizes the work of a case, and nothing else.
struct Pass {
  double dram_bytes = 0;        ///< bytes this thread moves to or from DRAM
  double flop = 0;              ///< floating-point operations (an FMA is two)
  double latency_cycles = 0;    ///< dependent arithmetic, SM cycles
  bool waits_for_dram = false;  ///< the pass cannot end before its own loads arrive
  int idle_values = 0;          ///< live values that the pass does not touch: spilling these costs it nothing
  double lsu_cycles_per_warp = 0;  ///< SM cycles in which one warp's pass occupies the shared-memory pipe
};

/// Per iteration of the hot loop, as the built machine code must show it ("FFMA" -> 64, "LDG.128" -> 4).
/// Audited classes that are not named must not appear.
using Instructions = std::map<std::string, int>;

/// One launch: how many blocks of how many threads, each making how many passes.
struct Shape {
  int grid_size = 0;
  int block_size = 0;
  std::int64_t iterations = 0;
  [[nodiscard]] std::int64_t threads() const { return std::int64_t{grid_size} * block_size; }
};

/// Bytes moved to or from DRAM and floating-point operations of one launch, by the algorithm's count.
struct Work {
  double bytes = 0;
  double flop = 0;
};

/// One launch made ready: its kernel argument, its work, and how to tell that it was done right.
struct Problem {
  std::vector<std::byte> parameters;  ///< the kernel's first argument, by value
  Work work;
  std::function<void()> poison;  ///< fills the output with NaN patterns, in stream order
  /// After the launch has finished: nullopt when every output agrees with the CPU reference in
  /// float64, otherwise one line naming the first element that does not.
  std::function<std::optional<std::string>()> mismatch;

  template <class Parameters>
  void set_parameters(const Parameters& p) {
    static_assert(std::is_trivially_copyable_v<Parameters>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&p);
    parameters.assign(bytes, bytes + sizeof p);
  }
};

/// What the L2 holds as a timed launch begins. A launch that writes leaves its last lines there, unwritten,
/// so it must find as many of somebody else's (dirty) for its declared bytes to be the bytes that DRAM moved.
enum class L2 { warm, clean, dirty };

/// The ceiling that a variant's throughput is held against.
enum class Ceiling { dram, fp32, fp64 };

/// One compiled kernel of a family. `name` is unique in the family: [A-Za-z0-9_=+-]+.
struct Variant {
  std::string family;
  std::string name;
  std::string series =
      {};  ///< what variants of one curve share when their names carry its dial; empty: the name
  Dials dials = {};
  Ceiling ceiling = Ceiling::dram;
  Pass pass = {};
  Instructions instructions = {};
  bool may_spill = false;    ///< a register cap below need: local loads and stores are expected
  int promised_threads = 0;  ///< per SM: __launch_bounds__'s threads x blocks; 0 without
  int fixed_block_size = 0;  ///< threads; 0 when any block size will do
  L2 l2_before = L2::clean;
  std::int64_t check_iterations = 2;  ///< passes of the launch that is compared with the reference
  std::function<std::size_t()> dynamic_smem_bytes = nullptr;  ///< the kernel's own need per block; empty is 0
  /// Most passes that the arena's data allows at this grid and block; empty: no bound.
  std::function<std::int64_t(const Arena&, const Shape&)> max_iterations = nullptr;
  std::function<Problem(Arena&, const Shape&)> prepare = nullptr;
  const void* entry = nullptr;  ///< host stub of the __global__ function
};

/// Every variant linked into this program, in order of registration.
std::span<const Variant> variants();
/// Adds a variant; throws std::logic_error on a name that is taken or malformed.
void add_variant(Variant variant);

/// Runs `define` before main: how a family enters the registry.
struct Registration {
  explicit Registration(void (*define)()) { define(); }
};

}  // namespace occbench
