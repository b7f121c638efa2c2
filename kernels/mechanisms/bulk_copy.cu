// SPDX-License-Identifier: Apache-2.0
// Shows: asynchronous copies saturate DRAM using shared memory instead of registers and warps.
// Expected: one warp per SM (1.6 % occupancy) exceeds the best plain loads once 32-64 KiB per SM are in
//   flight, reading every byte that arrives; stages of 1-2 KiB take the lone warp longer to handle than to
//   receive.
// Found: H200: a lone warp needs about 310 cycles per stage in addition to its bytes, so stages of 4 KiB
//   reach 2.7 TB/s and of 8 KiB 4.2 TB/s at most, at any depth; from 16 KiB on they exceed the best plain
//   loads (4.5 TB/s).
// Published: Little's law; CUDA C++ Programming Guide, 'Asynchronous Data Copies' (cp.async; bulk copies by
//   the Tensor Memory Accelerator); Luo et al., 'Benchmarking and dissecting the NVIDIA Hopper GPU' (2024).
#include "kernels/async_copy.cuh"
#include "kernels/family.cuh"

namespace occbench::bulk_copy {

/// Every warp is a pipeline: copy k of warp w of n loads stage k n + w of the input, so the grid sweeps DRAM
/// in one front.
struct Parameters {
  const unsigned char* input;
  float* output;         ///< one sum per thread
  unsigned stages;       ///< per warp
  unsigned stage_bytes;  ///< a multiple of the bytes read per step
  int iterations;        ///< copies that each warp reads
};

// Launch bounds for few warps: the compiler then uses enough registers to have all reads of a step in
// flight, not two or three.
constexpr int largest_block = 128;

constexpr unsigned warp_row_bytes = 512;  // a 16-byte access per lane

// The stages of warp 0, warp 1, ..., then their barriers, if any, in the same order.
extern __shared__ __align__(128) unsigned char shared_array[];

/// Adds `rows` rows of 512 bytes to four sums, enough to hide the FADD latency of a lone warp.
template <int rows>
__device__ __forceinline__ void add_rows(const unsigned char* lane_begin, float4& sum) {
  float4 x[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) x[i] = *reinterpret_cast<const float4*>(lane_begin + i * warp_row_bytes);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    sum.x += x[i].x;
    sum.y += x[i].y;
    sum.z += x[i].z;
    sum.w += x[i].w;
  }
}

/// One cp.async.bulk per stage, issued by one lane and tracked by the stage's mbarrier.
template <int rows_per_step>
struct Bulk {
  using Parameters = bulk_copy::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 900
    const unsigned warp = threadIdx.x / 32;
    const unsigned warps = blockDim.x / 32;
    const unsigned char* const first_stage = shared_array + warp * p.stages * p.stage_bytes;
    const unsigned first_barrier =
        device::shared_address(shared_array + warps * p.stages * p.stage_bytes) + warp * p.stages * 8;
    const unsigned end_of_barriers = first_barrier + p.stages * 8;
    if (device::elected()) {
#pragma unroll 1
      for (unsigned barrier = first_barrier; barrier != end_of_barriers; barrier += 8)
        device::barrier_init(barrier, 1);
      device::fence_async_proxy();
    }
    __syncwarp();
    const std::int64_t step = device::thread_count() / 32 * p.stage_bytes;
    const unsigned char* source = p.input + device::thread_index() / 32 * p.stage_bytes;
    const unsigned char* stage = first_stage;
    unsigned barrier = first_barrier;
    unsigned parity = 1;  // of the phase to wait for; the first lap only fills and does not wait
    float4 sum{};
    const int stages = static_cast<int>(p.stages);
#pragma unroll 1
    for (int copy = 0; copy < p.iterations + stages; ++copy) {
      if (copy >= stages) {
        device::barrier_wait(barrier, parity);
        const unsigned char* at = stage + threadIdx.x % 32 * 16;
#pragma unroll 1
        for (unsigned left = p.stage_bytes; left != 0; left -= rows_per_step * warp_row_bytes) {
          add_rows<rows_per_step>(at, sum);
          at += rows_per_step * warp_row_bytes;
        }
      }
      if (copy < p.iterations) {
        __syncwarp();  // all lanes have read the data that the next copy overwrites ...
        if (device::elected()) {
          device::fence_async_proxy();  // ... and the copy must not overtake their reads
          device::barrier_expect(barrier, p.stage_bytes);
          device::copy_async(device::shared_address(stage), source, p.stage_bytes, barrier);
        }
        source += step;
      }
      stage += p.stage_bytes;
      barrier += 8;
      if (barrier == end_of_barriers) {
        stage = first_stage;
        barrier = first_barrier;
        parity ^= 1;
      }
    }
    p.output[device::thread_index()] = (sum.x + sum.y) + (sum.z + sum.w);
#endif
  }
};

/// `rows` cp.async of 16 bytes per lane and stage. A lane reads its own copies, so its own wait suffices.
template <int stages, int rows>
struct Async {
  using Parameters = bulk_copy::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 800
    constexpr unsigned stage_bytes = rows * warp_row_bytes;
    const unsigned warp = threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const unsigned char* const first_stage = shared_array + warp * stages * stage_bytes + lane * 16;
    const unsigned char* const end_of_stages = first_stage + stages * stage_bytes;
    const std::int64_t step = device::thread_count() / 32 * stage_bytes;
    const unsigned char* source = p.input + device::thread_index() / 32 * stage_bytes + lane * 16;
    const unsigned char* stage = first_stage;
    float4 sum{};
#pragma unroll 1
    for (int copy = 0; copy < p.iterations + stages; ++copy) {
      if (copy >= stages) {
        asm volatile("cp.async.wait_group %0;" ::"n"(stages - 1) : "memory");
        add_rows<rows>(stage, sum);
      }
      if (copy < p.iterations) {
#pragma unroll
        for (int i = 0; i < rows; ++i)
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                           device::shared_address(stage + i * warp_row_bytes)),
                       "l"(source + i * warp_row_bytes)
                       : "memory");
        source += step;
      }
      asm volatile("cp.async.commit_group;" ::: "memory");  // empty at the end, to keep the group count
      stage += stage_bytes;
      if (stage == end_of_stages) stage = first_stage;
    }
    p.output[device::thread_index()] = (sum.x + sum.y) + (sum.z + sum.w);
#endif
  }
};

namespace {

/// Sums of the lanes of `warps` warps after `iterations` copies each.
std::vector<double> reference(Arena& arena, std::size_t warps, std::size_t iterations,
                              std::size_t stage_bytes) {
  const std::size_t rows = stage_bytes / warp_row_bytes;
  const float* a = arena.reference_input<float>(iterations * warps * stage_bytes / sizeof(float)).data();
  std::vector<double> sums(warps * 32);
  for (std::size_t iteration = 0; iteration < iterations; ++iteration)
    for (std::size_t warp = 0; warp < warps; ++warp)
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t lane = 0; lane < 32; ++lane, a += 4)
          sums[warp * 32 + lane] += double{a[0]} + double{a[1]} + double{a[2]} + double{a[3]};
  return sums;
}

/// A pipeline of `stages` x `stage_bytes` per warp.
struct Form {
  std::string route;  ///< "bulk" or "async"
  int stages;
  int stage_bytes;
  int barrier_bytes;  ///< per stage
  int min_cc;
  Instructions instructions;
  std::vector<double> loop_trips;
  const void* entry;
};

void add(const Form& f) {
  // A warp whose stages exceed half of the largest shared memory (228 KiB) is alone in its block.
  const bool alone = f.stages * f.stage_bytes > (113 << 10);
  const Dials dials{.bytes_per_access = f.stage_bytes,
                    .route = RegisterRoute::launch_bounds,
                    .stages = f.stages,
                    .bytes_in_flight = static_cast<std::size_t>(f.stages) * f.stage_bytes};  // per warp
  add_variant({
      .family = "bulk_copy",
      .name = f.route + "-s" + std::to_string(f.stages) + "-" + std::to_string(f.stage_bytes) + "B",
      .series = f.route + "-" + std::to_string(f.stage_bytes) + "B",
      .form = f.route,
      .dials = dials,
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = f.stage_bytes / 32.0,
                    .latency_cycles = 100.0 + f.stage_bytes / 512 * 12.0,
                    .dram_waits = 1.0 / f.stages,
                    .pipe_cycles_per_warp = f.stage_bytes / 128.0},
      .instructions = f.instructions,
      .loop_trips = f.loop_trips,
      .launch_bounds_threads = largest_block,
      .fixed_block_size = alone ? 32 : 0,
      .largest_block_size = largest_block,
      .min_cc = f.min_cc,
      .l2_before = L2::clean,
      .check_iterations = f.stages + 1,  // reuses a stage
      .dynamic_smem_bytes =
          [f](int block_size) {
            return static_cast<std::size_t>(block_size / 32 * f.stages * (f.stage_bytes + f.barrier_bytes));
          },
      .max_iterations =
          [f](const Arena& arena, const Shape& shape) {
            return static_cast<std::int64_t>(arena.input_bytes()) / (shape.threads() / 32 * f.stage_bytes);
          },
      .prepare =
          [f](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(
                Parameters{.input = reinterpret_cast<const unsigned char*>(arena.input<float>()),
                           .output = arena.output<float>(),
                           .stages = static_cast<unsigned>(f.stages),
                           .stage_bytes = static_cast<unsigned>(f.stage_bytes),
                           .iterations = static_cast<int>(shape.iterations)});
            problem.work.bytes = static_cast<double>(shape.threads() / 32 * shape.iterations * f.stage_bytes);
            const auto threads = static_cast<std::size_t>(shape.threads());
            problem.poison = poison_one_per_thread<float>(arena, shape);
            problem.mismatch = [=, &arena] {
              const auto sums = reference(arena, threads / 32, static_cast<std::size_t>(shape.iterations),
                                          static_cast<std::size_t>(f.stage_bytes));
              // 1,100 additions to each of four sums of about 20, each with an error of up to 5e-7
              return arena.first_mismatch<float>(threads, 5e-4, [&](std::size_t i) { return sums[i]; });
            };
            return problem;
          },
      .entry = f.entry,
  });
}

template <int rows_per_step>
void add_bulk(int stage_bytes, std::initializer_list<int> stages) {
  for (const int n : stages)
    add({.route = "bulk",
         .stages = n,
         .stage_bytes = stage_bytes,
         .barrier_bytes = 8,
         .min_cc = 90,
         .instructions = {{"LDS.128", rows_per_step}, {"FADD", 4 * rows_per_step}},
         // set-up; the iterations; within them reading a stage, and polling its barrier
         .loop_trips = {0, 1, double(stage_bytes) / (rows_per_step * warp_row_bytes), 0},
         .entry = reinterpret_cast<const void*>(bounded_entry<Bulk<rows_per_step>, largest_block, 1>)});
}

template <int rows>
void add_async() {
  for_each_value<2, 4, 8, 16>([]<int stages>(std::integral_constant<int, stages>) {
    add({.route = "async",
         .stages = stages,
         .stage_bytes = rows * static_cast<int>(warp_row_bytes),
         .barrier_bytes = 0,
         .min_cc = 80,
         .instructions = {{"LDGSTS.128", rows}, {"LDS.128", rows}, {"FADD", 4 * rows}},
         .loop_trips = {},
         .entry = reinterpret_cast<const void*>(bounded_entry<Async<stages, rows>, largest_block, 1>)});
  });
}

const Registration registered{[] {
  add_bulk<2>(1024, {2, 4, 8, 16, 32});
  add_bulk<4>(2048, {2, 4, 8, 16, 32});
  add_bulk<8>(4096, {2, 3, 4, 6, 8, 12, 16, 32});
  add_bulk<8>(8192, {2, 3, 4, 6, 8, 12, 16, 24});
  add_bulk<8>(16384, {2, 3, 4, 6, 8, 12});
  add_bulk<8>(32768, {2, 3, 4, 6});
  add_async<1>();
  add_async<4>();
  add_async<8>();
}};

}  // namespace

}  // namespace occbench::bulk_copy
