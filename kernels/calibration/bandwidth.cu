// SPDX-License-Identifier: Apache-2.0
// Shows: L2 and DRAM bandwidth: reads, writes, both, and writes of single lines per page.
// Expected: H200: 5 to 7 TB/s from the L2 to all SMs, 4.4 TB/s of DRAM reads.
// Published: McCalpin's STREAM (1995).
#include <algorithm>

#include "kernels/family.cuh"

namespace occbench::calibration {

constexpr int l2_loads = 4;  // of 16 bytes, per thread and iteration

struct SweepParameters {
  const float* input;
  float* output;  ///< one per thread
  unsigned set_bytes;
  int iterations;
};

/// The grid sweeps a set in the L2, each block a tile of l2_loads x 16 bytes per thread at a time.
struct L2Sweep {
  using Parameters = SweepParameters;

  static __device__ void run(const Parameters& p) {
    const unsigned tile = blockDim.x * (l2_loads * 16);
    const unsigned row = blockDim.x * 16;
    const auto step = static_cast<unsigned>(std::uint64_t{gridDim.x} * tile % p.set_bytes);
    unsigned first = static_cast<unsigned>(std::uint64_t{blockIdx.x} * tile % p.set_bytes);
    const auto* const input = reinterpret_cast<const char*>(p.input) + threadIdx.x * 16;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float4 x[l2_loads];
#pragma unroll
      for (int j = 0; j < l2_loads; ++j)
        x[j] = __ldcg(reinterpret_cast<const float4*>(input + first + j * row));
#pragma unroll
      for (int j = 0; j < l2_loads; ++j) sum += (x[j].x + x[j].y) + (x[j].z + x[j].w);
      first += step;
      if (first >= p.set_bytes) first -= p.set_bytes;
    }
    p.output[device::thread_index()] = sum;
  }
};

enum class Op { read, write, copy };
constexpr int dram_loads = 3;  // of 8 bytes, per thread and iteration

struct DramParameters {
  const float2* input;
  float2* output;
  int iterations;
};

/// The grid sweeps the array in one front, each block a tile of dram_loads x 8 bytes per thread at a time.
template <Op op>
struct Dram {
  using Parameters = DramParameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t step = device::thread_count() * dram_loads;
    std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x * dram_loads + threadIdx.x;
    const unsigned row = blockDim.x;
    float sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += step) {
      float2 x[dram_loads];
#pragma unroll
      for (int j = 0; j < dram_loads; ++j)
        if constexpr (op != Op::write) x[j] = p.input[at + j * row];
#pragma unroll
      for (int j = 0; j < dram_loads; ++j) {
        if constexpr (op == Op::read) sum += x[j].x + x[j].y;
        if constexpr (op == Op::write) p.output[at + j * row] = {1.5F, static_cast<float>(j)};
        if constexpr (op == Op::copy) p.output[at + j * row] = x[j];
      }
    }
    if constexpr (op == Op::read) reinterpret_cast<float*>(p.output)[device::thread_index()] = sum;
  }
};

constexpr int narrow_streams = 4;

struct NarrowParameters {
  float* output;  ///< `streams` parts of iterations x threads
  int iterations;
};

/// Each warp stores 128 bytes at a time, alternating between four distant places, so one line per DRAM page
/// at a time; Dram writes a block's whole row.
struct NarrowWrites {
  using Parameters = NarrowParameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t threads = device::thread_count();
    float* at = p.output + device::thread_index();
    const std::int64_t part = threads * p.iterations;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += threads) {
#pragma unroll
      for (int j = 0; j < narrow_streams; ++j) at[j * part] = static_cast<float>(j);
    }
  }
};

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::size_t l2_bytes() {
  static const auto bytes = [] {
    int device = 0;
    int l2 = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device) != cudaSuccess)
      l2 = 0;
    return std::max(static_cast<std::size_t>(l2), 4 * mebibyte);
  }();
  return bytes;
}

/// `share`: of the L2, at most `max_bytes`. Sets that must fit are below half of it, since some L2s keep a
/// line in each half.
void add_l2_sweep(const std::string& name, double share, std::size_t max_bytes, int fixed_block_size) {
  constexpr std::size_t largest_tile = 1024 * l2_loads * 16;  // of a block
  const auto set_bytes = [=](const Shape& shape) {            // whole tiles
    const std::size_t tile = static_cast<std::size_t>(shape.block_size) * l2_loads * 16;
    const auto wanted = static_cast<std::size_t>(share * static_cast<double>(l2_bytes()));
    return std::max(std::min(wanted, max_bytes), largest_tile) / tile * tile;
  };
  Dials dials;
  dials.ilp = l2_loads;
  dials.bytes_per_access = 16;
  add_variant({
      .family = "calibration",
      .name = name,
      .dials = dials,
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = 400, .pipe_cycles_per_warp = 16.0 * l2_loads},
      .instructions = {{"LDG.128", l2_loads}, {"FADD", 4 * l2_loads}},
      .fixed_block_size = fixed_block_size,
      .l2_before = L2::warm,
      // A lone block sweeps all of 2 MiB; the launch before each batch fetches the set into the L2.
      .check_iterations = 33,
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t set = set_bytes(shape);
            Problem problem;
            problem.set_parameters(SweepParameters{arena.input<float>(), arena.output<float>(),
                                                   static_cast<unsigned>(set),
                                                   static_cast<int>(shape.iterations)});
            const double loads = static_cast<double>(shape.threads() * shape.iterations) * l2_loads;
            problem.work = {.bytes = loads * 16, .flop = loads * 4, .operations = loads};
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto input = arena.reference_input<float>(set / sizeof(float));
              const auto block = static_cast<std::size_t>(shape.block_size);
              const std::size_t tile = block * l2_loads * 4;  // in elements
              const auto threads = static_cast<std::size_t>(shape.threads());
              return arena.first_mismatch<float>(threads, 1e-4, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t iteration = 0; iteration < static_cast<std::size_t>(shape.iterations);
                     ++iteration) {
                  const std::size_t first =
                      (thread / block + iteration * static_cast<std::size_t>(shape.grid_size)) * tile %
                      input.size();
                  for (std::size_t j = 0; j < l2_loads; ++j)
                    for (std::size_t e = 0; e < 4; ++e)
                      sum += input[first + (j * block + thread % block) * 4 + e];
                }
                return sum;
              });
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<L2Sweep>),
  });
}

template <Op op>
void add_dram(const std::string& name) {
  constexpr bool reads = op != Op::write;
  constexpr bool writes = op != Op::read;
  Instructions instructions;
  if (reads) instructions["LDG.64"] = dram_loads;
  if (writes) instructions["STG.64"] = dram_loads;
  if (op == Op::read) instructions["FADD"] = 2 * dram_loads;
  Dials dials;
  dials.ilp = dram_loads;
  dials.bytes_per_access = 8;
  const auto packs = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * dram_loads;
  };
  add_variant({
      .family = "calibration",
      .name = name,
      .dials = dials,
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = 8.0 * dram_loads * (op == Op::copy ? 2 : 1),
                    .latency_cycles = 8 * dram_loads,
                    .dram_waits = reads ? 1.0 : 0.0},
      .instructions = instructions,
      .l2_before = writes ? L2::dirty : L2::clean,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            std::size_t bytes = reads ? arena.input_bytes() : arena.output_bytes();
            if (writes) bytes = std::min(bytes, arena.output_bytes());
            return static_cast<std::int64_t>(bytes) / (shape.threads() * 8 * dram_loads);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(DramParameters{reinterpret_cast<const float2*>(arena.input<float>()),
                                                  arena.output<float2>(),
                                                  static_cast<int>(shape.iterations)});
            problem.work.bytes = 8.0 * static_cast<double>(packs(shape)) * (op == Op::copy ? 2 : 1);
            problem.poison = [=, &arena] {
              arena.poison_output(writes ? 8 * packs(shape)
                                         : static_cast<std::size_t>(shape.threads()) * sizeof(float));
            };
            problem.mismatch = [=, &arena] {
              const auto block = static_cast<std::size_t>(shape.block_size);
              const auto input = arena.reference_input<float>(reads ? 2 * packs(shape) : 0);
              if (op == Op::copy)
                return arena.first_mismatch<float>(2 * packs(shape), 0,
                                                   [&](std::size_t i) { return input[i]; });
              if (op == Op::write)
                return arena.first_mismatch<float>(2 * packs(shape), 0, [=](std::size_t i) {
                  return i % 2 == 0 ? 1.5 : static_cast<double>(i / 2 / block % dram_loads);
                });
              const auto threads = static_cast<std::size_t>(shape.threads());
              return arena.first_mismatch<float>(threads, 1e-5, [&](std::size_t thread) {
                double sum = 0;
                for (std::size_t iteration = 0; iteration < static_cast<std::size_t>(shape.iterations);
                     ++iteration)
                  for (std::size_t j = 0; j < dram_loads; ++j) {
                    const std::size_t at = iteration * threads * dram_loads +
                                           thread / block * block * dram_loads + j * block + thread % block;
                    sum += double{input[2 * at]} + input[2 * at + 1];
                  }
                return sum;
              });
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<Dram<op>>),
  });
}

void add_narrow_writes() {
  const auto words = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * narrow_streams;
  };
  add_variant({
      .family = "calibration",
      .name = "dram-write-narrow",
      .dials = {.ilp = narrow_streams, .bytes_per_access = 4},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = 4.0 * narrow_streams, .latency_cycles = 8 * narrow_streams},
      .instructions = {{"STG.32", narrow_streams}},
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.output_bytes()) / (shape.threads() * 4 * narrow_streams);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                NarrowParameters{arena.output<float>(), static_cast<int>(shape.iterations)});
            problem.work.bytes = 4.0 * static_cast<double>(words(shape));
            problem.poison = [=, &arena] { arena.poison_output(4 * words(shape)); };
            problem.mismatch = [=, &arena] {
              const std::size_t part = words(shape) / narrow_streams;
              return arena.first_mismatch<float>(
                  words(shape), 0, [=](std::size_t i) { return static_cast<double>(i / part); });
            };
            return problem;
          },
      .predicted = false,
      .entry = reinterpret_cast<const void*>(free_entry<NarrowWrites>),
  });
}

const Registration registered{[] {
  add_l2_sweep("l2-sweep", 0.25, std::size_t{1} << 31, 0);
  add_l2_sweep("l2-sweep-2MiB", 0.25, 2 * mebibyte, 1024);
  for (const int percent : {50, 60, 65, 70, 75, 80, 90, 110})  // of the L2's size
    add_l2_sweep("l2-sweep-" + std::to_string(percent), percent / 100.0, std::size_t{1} << 31, 512);
  add_dram<Op::read>("dram-read");
  add_dram<Op::write>("dram-write");
  add_dram<Op::copy>("dram-copy");
  add_narrow_writes();
}};

}  // namespace

}  // namespace occbench::calibration
