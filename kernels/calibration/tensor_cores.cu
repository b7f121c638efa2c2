// SPDX-License-Identifier: Apache-2.0
// Shows: the interval of mma.sync per scheduler, and the SM clock under wgmma.
// Expected: cc 9.0: an mma.sync m16n8k16 per scheduler every 6 cycles; a lower clock than under FMAs.
// Published: Luo et al. (2024, Hopper).
#include "kernels/calibration/calibration.cuh"
#include "kernels/wgmma.cuh"

namespace occbench::calibration {

/// Exact in bf16, whose significand has 8 bits.
__host__ __device__ inline float coarse(unsigned index) {
  return static_cast<float>(static_cast<int>(mix(index) >> 24) * 2 - 255) * 0x1p-8F;
}
#ifdef __CUDACC__
/// This element and that of the next k, in bf16.
__device__ __forceinline__ unsigned pack(unsigned at) {
  return __float_as_uint(coarse(at)) >> 16 | (__float_as_uint(coarse(at + 1)) & 0xFFFF0000U);
}
#endif
/// B's sign flips at random, so that sums do a random walk as in a long product.
__host__ __device__ constexpr bool flips(int iteration) {
  return (mix(static_cast<unsigned>(iteration) + 77) & 1) != 0;
}

__host__ __device__ constexpr unsigned a_at(int f, int row, int k) {
  return static_cast<unsigned>(f * 256 + row * 16 + k);
}
__host__ __device__ constexpr unsigned b_at(int f, int k, int column) {
  return static_cast<unsigned>(1024 + f * 128 + column * 16 + k);
}

/// A warp's tile of accumulators: all products of its fragments of A and B, `mma_steps` times per iteration.
template <int a_fragments, int b_fragments, int mma_steps>
struct Mma {
  using Parameters = calibration::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if __CUDA_ARCH__ >= 800
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;  // of C; k of A and B
    const auto pack = [](unsigned at) {                        // this element and that of the next k
      return __float_as_uint(coarse(at)) >> 16 | (__float_as_uint(coarse(at + 1)) & 0xFFFF0000U);
    };
    unsigned a[a_fragments][4];
    unsigned b[b_fragments][2];
    float d[a_fragments][b_fragments][4] = {};
#pragma unroll
    for (int f = 0; f < a_fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[f][i] = pack(a_at(f, row + i % 2 * 8, column + i / 2 * 8));
    }
#pragma unroll
    for (int f = 0; f < b_fragments; ++f) {
#pragma unroll
      for (int i = 0; i < 2; ++i) b[f][i] = pack(b_at(f, column + i * 8, row));
    }
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const unsigned signs = flips(iteration) ? 0x80008000U : 0;
#pragma unroll
      for (int f = 0; f < b_fragments; ++f) {
        b[f][0] ^= signs;
        b[f][1] ^= signs;
      }
#pragma unroll
      for (int step = 0; step < mma_steps; ++step) {
#pragma unroll
        for (int i = 0; i < a_fragments; ++i) {
#pragma unroll
          for (int j = 0; j < b_fragments; ++j)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
                : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
        }
      }
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < a_fragments; ++i) {
#pragma unroll
      for (int j = 0; j < b_fragments; ++j) sum += (d[i][j][0] + d[i][j][1]) + (d[i][j][2] + d[i][j][3]);
    }
    p.output[device::thread_index()] = sum;
#endif
  }
};

// Two warpgroups with 64 x 256 accumulators each, over two slices of 64 k that the block generates.
constexpr int warpgroups = 2;
constexpr int slices = 2;
constexpr int slice_k = 64;  // one row of the 128-byte swizzle
constexpr int wgmma_columns = 256;
constexpr int wgmma_per_iteration = slices * slice_k / 16;
constexpr int a_tile_bytes = 64 * slice_k * 2;
constexpr int b_tile_bytes = wgmma_columns * slice_k * 2;
constexpr int a_tiles = warpgroups * slices;
constexpr std::size_t wgmma_smem_bytes = a_tiles * a_tile_bytes + 2 * slices * b_tile_bytes;

/// Element (row or column, k) of tile `tile`: those of A, then those of B.
__host__ __device__ constexpr unsigned wgmma_at(unsigned tile, unsigned row, unsigned k) {
  return (tile * wgmma_columns + row) * slice_k + k;
}

extern __shared__ __align__(1024) unsigned char tiles[];  // the swizzle repeats every 1,024 bytes

struct Wgmma {
  using Parameters = calibration::Parameters;

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr unsigned a_bytes = a_tiles * a_tile_bytes;
    constexpr unsigned row_bytes = slice_k * 2;
    // A's tiles, then B's with both signs, two elements at a time.
#pragma unroll 1
    for (unsigned byte = threadIdx.x * 4; byte < wgmma_smem_bytes; byte += blockDim.x * 4) {
      const bool of_a = byte < a_bytes;
      const unsigned b_tile = (byte - a_bytes) / b_tile_bytes;
      const unsigned tile = of_a ? byte / a_tile_bytes : a_tiles + b_tile % slices;
      const unsigned row = byte / row_bytes % (of_a ? 64 : wgmma_columns);
      const unsigned chunk = byte % row_bytes / 16 ^ row % 8;  // the 128-byte swizzle
      const unsigned at = wgmma_at(tile, row, chunk * 8 + byte % 16 / 2);
      const unsigned sign = !of_a && b_tile >= slices ? 0x80008000U : 0;
      *reinterpret_cast<unsigned*>(tiles + byte) = pack(at) ^ sign;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    // In a form that the compiler recognises as warp-uniform.
    const int w = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 128, 0);
    const unsigned a_shared = device::shared_address(tiles) + w * slices * a_tile_bytes;
    const unsigned b_shared = device::shared_address(tiles) + a_bytes;
    float d[wgmma_columns / 2] = {};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const unsigned b_iteration = b_shared + (flips(iteration) ? slices * b_tile_bytes : 0);
      device::wgmma_fence();
#pragma unroll
      for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
        for (int k = 0; k < slice_k / 16; ++k)
          device::multiply<wgmma_columns>(
              d, device::descriptor(a_shared + slice * a_tile_bytes) + k * device::next_k16,
              device::descriptor(b_iteration + slice * b_tile_bytes) + k * device::next_k16);
      }
      device::wgmma_commit();
      device::wgmma_wait<1>();
    }
    device::wgmma_wait<0>();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < wgmma_columns / 2; ++i) {
      asm volatile("" : "+f"(d[i]));  // keeps reads of d after the wait, which does not name d
      sum += d[i];
    }
    p.output[device::thread_index()] = sum;
#endif
  }
};

namespace {

/// Additions of B with its own sign minus those with the other. `turns`: a flip persists until the next.
double walk(int iterations, bool turns) {
  double walked = 0;
  double sign = 1;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (!turns) sign = 1;
    if (flips(iteration)) sign = -sign;
    walked += sign;
  }
  return walked;
}

template <int a_fragments, int b_fragments, int mma_steps>
void add_mma(const std::string& name) {
  constexpr int mma_per_iteration = mma_steps * a_fragments * b_fragments;
  add({.name = name,
       .iteration = {.flop = mma_per_iteration * 2.0 * 16 * 8 * 16 / 32,
                     .latency_cycles = 33.0 * mma_steps,
                     .pipe_cycles_per_warp = 1.6 * mma_per_iteration},
       .instructions = {{"HMMA", mma_per_iteration}},
       .ceiling = Ceiling::tensor_bf16,
       .min_cc = 80,
       .reference =
           [](const float*, int iterations) {
             const double times = mma_steps * walk(iterations, true);
             return of_each_lane([=](int thread) {
               double sum = 0;
               for (int i = 0; i < 4 * a_fragments * b_fragments; ++i) {
                 const int row = thread / 4 + i % 4 / 2 * 8;
                 const int column = thread % 4 * 2 + i % 2;
                 for (int k = 0; k < 16; ++k)
                   sum += times * coarse(a_at(i / 4 / b_fragments, row, k)) *
                          coarse(b_at(i / 4 % b_fragments, k, column));
               }
               return sum;
             });
           },
       .tolerance = [](int iterations) { return 4e-6 * 16 * 24 * mma_steps * iterations; },
       .entry = reinterpret_cast<const void*>(free_entry<Mma<a_fragments, b_fragments, mma_steps>>)});
}

std::vector<double> wgmma_reference(int iterations) {
  const double times = walk(iterations, false);
  std::vector<double> outputs(128 * warpgroups);
  for (unsigned w = 0; w < warpgroups; ++w)
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned column = 0; column < wgmma_columns; ++column) {
        double sum = 0;
        for (unsigned slice = 0; slice < slices; ++slice)
          for (unsigned k = 0; k < slice_k; ++k)
            sum += double{coarse(wgmma_at(w * slices + slice, row, k))} *
                   coarse(wgmma_at(a_tiles + slice, column, k));
        // The thread that holds the element: warp v of the group has rows 16 v to 16 v + 15, in two halves.
        outputs[128 * w + row / 16 * 32 + row % 8 * 4 + column % 8 / 2] += times * sum;
      }
  return outputs;
}

void add_wgmma() {
  constexpr int block = 128 * warpgroups;
  add({.name = "wgmma",
       .iteration = {.flop = 2.0 * warpgroups * 64 * wgmma_columns * slices * slice_k / block,
                     .latency_cycles = 2.0 * wgmma_columns},
       .instructions = {{"FMUL", 2}, {"STS.32", 1}, {"HGMMA", wgmma_per_iteration}},
       .hot_loops = 2,  // filling the tiles, and multiplying
       .ceiling = Ceiling::tensor_bf16,
       .fixed_block_size = block,
       .min_cc = 90,
       .only_this_cc = true,
       .dynamic_smem_bytes = wgmma_smem_bytes,
       .reference = [](const float*, int iterations) { return wgmma_reference(iterations); },
       .tolerance = [](int iterations) { return 4e-6 * 128 * slices * slice_k * iterations; },
       .entry = reinterpret_cast<const void*>(free_entry<Wgmma>)});
}

const Registration registered{[] {
  add_mma<2, 3, 8>("mma-2x3");
  add_mma<1, 1, 8>("mma-chain-8");
  add_mma<1, 1, 32>("mma-chain-32");
  add_wgmma();
}};

}  // namespace

}  // namespace occbench::calibration
