// SPDX-License-Identifier: Apache-2.0
// Shows: the cost of reading another block's shared memory, by cluster size.
// Expected: local shared memory at 128 B per cycle and SM; remote at about 14, falling as clusters grow
//   (Luo: 3.3 TB/s on an H800 in pairs, 2.7 in fours); a dependent remote load takes 180-220 cycles, a local
//   one 30.
// Found: H200: 15.7 B/cycle per active SM in pairs, 14.1-14.2 at sizes 4, 8 and 16 (blocks of 1,024
//   threads): constant from 4 on. A dependent load takes 190 cycles; a local one by the same path 26.
// Published: Luo et al., 'Benchmarking and dissecting the NVIDIA Hopper GPU' (2024), distributed shared
//   memory; CUDA C++ Programming Guide, 'Distributed Shared Memory'.
#include "kernels/chain.cuh"
#include "kernels/family.cuh"

namespace occbench::clusters {

/// Whose shared memory a block reads: its own, that of the next rank in the cluster, or those of all other
/// ranks in turn. In a cluster of one the last two read its own through the distributed shared memory path.
enum class Pattern { own, next, spread };
constexpr const char* name_of(Pattern pattern) {
  return pattern == Pattern::own ? "smem-read" : pattern == Pattern::next ? "dsmem-read" : "dsmem-spread";
}

constexpr int ilp = 4;  // 16-byte loads in flight per thread
constexpr int iteration_bytes = 16 * ilp;
// Block b holds the input from element `shift` x b on: distinct within a cluster, and all in the L2.
constexpr int shift = 64;
constexpr int column_step = 512;  // bytes by which the position in a row advances per iteration, cyclically

extern __shared__ __align__(16) unsigned char shared_array[];

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
__device__ __forceinline__ unsigned rank_after(unsigned rank) {
  return rank + 1 == cluster_size() ? 0 : rank + 1;
}
/// The array of `rank` of this cluster.
__device__ __forceinline__ unsigned address_in(unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(device::shared_address(shared_array)), "r"(rank));
  return address;
}
/// Cluster barrier, with release and acquire of shared memory.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}
#endif

struct ReadParameters {
  const float* input;
  float* output;  ///< one sum per thread
  int iterations;
};

template <Pattern pattern>
struct Read {
  using Parameters = ReadParameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 900
    const auto* const source = reinterpret_cast<const float4*>(p.input + std::int64_t{blockIdx.x} * shift);
    auto* const mine = reinterpret_cast<float4*>(shared_array);
    const unsigned row_bytes = blockDim.x * 16;
#pragma unroll
    for (int j = 0; j < ilp; ++j) mine[threadIdx.x + j * blockDim.x] = source[threadIdx.x + j * blockDim.x];
    cluster_sync();
    const unsigned own = cluster_rank();
    const unsigned next = rank_after(own);
    unsigned rank = next;
    unsigned column = threadIdx.x * 16;
    unsigned base = pattern == Pattern::own ? device::shared_address(shared_array) : address_in(rank);
    float4 sum{};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      float4 x[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) x[j] = load(base + column + j * row_bytes);
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        sum.x += x[j].x;
        sum.y += x[j].y;
        sum.z += x[j].z;
        sum.w += x[j].w;
      }
      column += column_step;  // otherwise the loads would be hoisted out of the loop
      if (column >= row_bytes) column -= row_bytes;
      if constexpr (pattern == Pattern::spread) {
        rank = rank_after(rank);
        if (rank == own) rank = next;
        base = address_in(rank);
      }
    }
    p.output[device::thread_index()] = (sum.x + sum.y) + (sum.z + sum.w);
    cluster_sync();  // no block exits while others still read its shared memory
#endif
  }

 private:
  static __device__ __forceinline__ float4 load(unsigned address) {
    float4 x{};
#if __CUDA_ARCH__ >= 900
    if constexpr (pattern == Pattern::own)
      asm volatile("ld.shared::cta.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                   : "r"(address));
    else
      asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                   : "r"(address));
#endif
    return x;
  }
};

constexpr unsigned chain_length = 1024;  // elements: a power of two, so that the map visits all
constexpr int loads_per_iteration = 32;

/// The map from an element to the next, modulo the length, different in each block.
__host__ __device__ constexpr AffineMap<unsigned> chain_of(unsigned block) { return {5, 2 * block + 1}; }

struct ChaseParameters {
  unsigned* last;     ///< last element of each block's chain
  long long* cycles;  ///< of its loop
  int iterations;
};

/// One thread per block follows a chain of generic pointers through the next rank's shared memory:
/// shared::cluster addresses would need a conversion per load.
struct Chase {
  using Parameters = ChaseParameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 900
    auto* const mine = reinterpret_cast<std::uint64_t*>(shared_array);
    const unsigned rank = cluster_rank();
    const std::uint64_t here = pointer_in(rank);  // as all blocks of the cluster address it
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < chain_length; i += blockDim.x)
      mine[i] = here + sizeof here * (chain_of(blockIdx.x)(i) % chain_length);
    cluster_sync();
    if (threadIdx.x == 0) {
      const std::uint64_t there = pointer_in(rank_after(rank));
      std::uint64_t at = there;
      const long long begin = clock64();
#pragma unroll 1
      for (int iteration = 0; iteration < p.iterations; ++iteration) {
#pragma unroll
        for (int i = 0; i < loads_per_iteration; ++i) asm volatile("ld.u64 %0, [%0];" : "+l"(at)::"memory");
      }
      const long long end = clock64();
      p.last[blockIdx.x] = static_cast<unsigned>(at - there) / sizeof at;
      p.cycles[blockIdx.x] = end - begin;
    }
    cluster_sync();  // no block exits while others still read its shared memory
#endif
  }

 private:
#if __CUDA_ARCH__ >= 900
  static __device__ __forceinline__ std::uint64_t pointer_in(unsigned rank) {
    std::uint64_t pointer;
    asm("mapa.u64 %0, %1, %2;" : "=l"(pointer) : "l"(shared_array), "r"(rank));
    return pointer;
  }
#endif
};

namespace {

/// The block whose shared memory `block` reads, `ranks` further in its cluster.
std::int64_t block_after(std::int64_t block, std::int64_t ranks, std::int64_t cluster_size) {
  const std::int64_t rank = block % cluster_size;
  return block - rank + (rank + ranks) % cluster_size;
}

std::optional<std::string> read_mismatch(Arena& arena, const Shape& shape, Pattern pattern) {
  const std::int64_t row = std::int64_t{4} * shape.block_size;  // elements
  const auto input = arena.reference_input<float>(
      static_cast<std::size_t>(shape.grid_size * std::int64_t{shift} + ilp * row));
  return arena.first_mismatch<float>(static_cast<std::size_t>(shape.threads()), 1e-5, [&](std::size_t i) {
    const auto block = static_cast<std::int64_t>(i) / shape.block_size;
    std::int64_t column = static_cast<std::int64_t>(i) % shape.block_size * 4;
    double sum = 0;
    for (std::int64_t iteration = 0; iteration < shape.iterations; ++iteration) {
      const std::int64_t others = std::max(1, shape.cluster_size - 1);
      const std::int64_t ranks = pattern == Pattern::own    ? 0
                                 : pattern == Pattern::next ? 1
                                                            : 1 + iteration % others;
      const float* const first =
          input.data() + block_after(block, ranks, shape.cluster_size) * shift + column;
      for (int j = 0; j < ilp; ++j)
        for (int e = 0; e < 4; ++e) sum += first[j * row + e];
      column = (column + column_step / 4) % row;
    }
    return sum;
  });
}

template <Pattern pattern>
void add_read() {
  const bool own = pattern == Pattern::own;
  const Dials dials{.ilp = ilp};
  add_variant({
      .family = "clusters",
      .name = name_of(pattern),
      .form = name_of(pattern),
      .dials = dials,
      .ceiling = Ceiling::shared_memory,
      // remote reads reach about 14 bytes per cycle; the same kernel in a cluster of one up to 128
      .iteration = {.latency_cycles = own ? 60.0 : 250.0,
                    .pipe_cycles_per_warp = (own ? 1 : 5) * iteration_bytes / 4.0},
      .instructions = {{own ? "LDS.128" : "LD.128", ilp}, {"FADD", 4 * ilp}},
      .min_cc = 90,
      .in_clusters = true,
      .l2_before = L2::warm,
      .check_iterations = 3,
      .dynamic_smem_bytes =
          [](int block_size) { return static_cast<std::size_t>(block_size) * iteration_bytes; },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(ReadParameters{arena.input<float>(), arena.output<float>(),
                                                  static_cast<int>(shape.iterations)});
            problem.work.bytes = static_cast<double>(shape.threads() * shape.iterations * iteration_bytes);
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [&arena, shape] { return read_mismatch(arena, shape, pattern); };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Read<pattern>>),
  });
}

void add_chase() {
  const Dials dials{.working_set_bytes = chain_length * sizeof(std::uint64_t)};
  add_variant({
      .family = "clusters",
      .name = "dsmem-latency",
      .form = "dsmem-latency",
      .dials = dials,
      .ceiling = Ceiling::none,
      .iteration = {.latency_cycles = 200.0 * loads_per_iteration},
      .flow = {.working_warps = [](int) { return 1; }, .layout = {.lanes = 1}},
      .instructions = {{"LD.64", loads_per_iteration}, {"STS.64", 1}},
      .hot_loops = 2,  // building the chain, and the chase
      .loop_trips = {0, 1},
      .min_cc = 90,
      .in_clusters = true,
      .l2_before = L2::warm,
      .dynamic_smem_bytes = [](int) { return chain_length * sizeof(std::uint64_t); },
      .prepare =
          [](Arena& arena, const Shape& shape) {
            const auto blocks = static_cast<std::size_t>(shape.grid_size);
            const std::size_t first_cycles = (blocks + 1) / 2;  // 8-byte values after the 4-byte elements
            Problem problem;
            problem.set_parameters(ChaseParameters{arena.output<unsigned>(),
                                                   arena.output<long long>() + first_cycles,
                                                   static_cast<int>(shape.iterations)});
            problem.work.operations =
                static_cast<double>(shape.grid_size * shape.iterations * loads_per_iteration);
            problem.poison = [=, &arena] {
              arena.poison_output((first_cycles + blocks) * sizeof(long long));
            };
            problem.reference_covers_timed = true;
            problem.mismatch = [=, &arena] {
              return arena.first_mismatch<unsigned>(blocks, 0, [&](std::size_t block) {
                const auto holder = static_cast<unsigned>(
                    block_after(static_cast<std::int64_t>(block), 1, shape.cluster_size));
                const auto loads = static_cast<std::uint64_t>(shape.iterations * loads_per_iteration);
                return static_cast<double>(chain_of(holder).advance(0, loads) % chain_length);
              });
            };
            problem.own_cycles_per_iteration = [=, &arena] {
              const std::size_t step = blocks / 256 + 1;  // each value is a separate transfer
              double sum = 0;
              int count = 0;
              for (std::size_t block = 0; block < blocks; block += step, ++count)
                sum += static_cast<double>(arena.output_value<long long>(first_cycles + block));
              return sum / count / static_cast<double>(shape.iterations);
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Chase>),
  });
}

const Registration registered{[] {
  add_read<Pattern::own>();
  add_read<Pattern::next>();
  add_read<Pattern::spread>();
  add_chase();
}};

}  // namespace

}  // namespace occbench::clusters
