// SPDX-License-Identifier: Apache-2.0
// Shows: wgmma needs few warps: every warpgroup multiplies tiles that stay in shared memory.
// Expected: the peak with 4 to 12 warps per SM (6 to 19 %).
// Found: H200: 98-99 % of the ceiling at the SM's momentary clock, 1.75-1.80 GHz under this load, for an
//   unknown reason.
// Published: Luo et al., 'Benchmarking and dissecting the NVIDIA Hopper GPU' (2024); PTX ISA, 'wgmma'.
#include "kernels/async_copy.cuh"
#include "kernels/mechanisms/tensor_core/wgmma_tiles.cuh"

namespace occbench::tensor_core {

/// Every warpgroup has 64 x `columns` accumulators over resident tiles: its own of A, the block's of B.
template <int columns, bool a_in_registers>
struct Resident {
  using Parameters = Tiles;
  static constexpr int b_tile_bytes = columns * depth * 2;
  /// Both signs of B, the warpgroups' tiles of A, and one barrier.
  static constexpr std::size_t smem_bytes(int warpgroups) {
    return 2 * b_tile_bytes + (a_in_registers ? 0 : warpgroups * a_bytes) + 8;
  }

  static __device__ void run([[maybe_unused]] const Parameters& p) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const int warpgroups = static_cast<int>(blockDim.x) / 128;
    const int w = warpgroup();
    const int c = static_cast<int>(blockIdx.x) % classes;
    const std::uint16_t* const a = p.a + (c + w) % a_tiles * a_elements;
    const std::uint32_t b_shared = device::shared_address(swizzled_tiles);
    const std::uint32_t a_shared = b_shared + 2 * b_tile_bytes + w * a_bytes;
    const std::uint32_t arrived = b_shared + 2 * b_tile_bytes + (a_in_registers ? 0 : warpgroups * a_bytes);
    if (threadIdx.x == 0) {
      device::barrier_init(arrived, warpgroups);
      device::fence_async_proxy();
    }
    __syncthreads();
    if (warp() % 4 == 0 && device::elected()) {
      device::barrier_expect(arrived, (w == 0 ? 2 * b_tile_bytes : 0) + (a_in_registers ? 0 : a_bytes));
      if (!a_in_registers) device::copy_async(a_shared, a, a_bytes, arrived);
      if (w == 0) {
        const std::uint16_t* const b = p.b + c % b_tiles * b_elements;
        device::copy_async(b_shared, b, b_tile_bytes, arrived);
        device::copy_async(b_shared + b_tile_bytes, b + b_tiles * b_elements, b_tile_bytes, arrived);
      }
    }
    [[maybe_unused]] std::uint32_t fragment[wgmma_per_iteration][4];
    if constexpr (a_in_registers) {
      const int row = static_cast<int>(threadIdx.x) % 128 / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
#pragma unroll
      for (int k = 0; k < wgmma_per_iteration; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int chunk = (2 * k + i / 2) ^ row % 8;
          fragment[k][i] = *reinterpret_cast<const std::uint32_t*>(a + (row + i % 2 * 8) * depth + chunk * 8 +
                                                                   static_cast<int>(threadIdx.x) % 4 * 2);
        }
      }
    }
    device::barrier_wait(arrived, 0);
    float d[columns / 2] = {};
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      const std::uint64_t b_tile = device::descriptor(b_shared + sign_of(iteration) * b_tile_bytes);
      if constexpr (a_in_registers) {
        device::wgmma_fence();
#pragma unroll
        for (int k = 0; k < wgmma_per_iteration; ++k)
          device::multiply<columns>(d, fragment[k], b_tile + k * device::next_k16);
        device::wgmma_commit();
        device::wgmma_wait<1>();
      } else {
        multiply_tiles<columns>(d, device::descriptor(a_shared), b_tile);
      }
    }
    device::wgmma_wait<0>();
    store<columns>(p.output + (std::int64_t{blockIdx.x} * warpgroups + w) * a_rows * columns, d);
#endif
  }
};

namespace {

std::vector<double> resident_reference(int warpgroups, int columns, int iterations) {
  double walk = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) walk += 1 - 2 * sign_of(iteration);
  return wgmma_reference(warpgroups, columns, [=](int c, int w, int a, int b) {
    return a == (c + w) % a_tiles && b == c % b_tiles ? walk : 0;
  });
}

template <int columns, bool a_in_registers>
void add_resident() {
  using Body = Resident<columns, a_in_registers>;
  const std::string form = "wgmma-n" + std::to_string(columns) + (a_in_registers ? "-rs" : "-ss");
  constexpr int most = columns == 256 ? 3 : 4;  // 128 accumulators need too many registers for 512 threads
  for (int warpgroups = 1; warpgroups <= (a_in_registers ? 1 : most); ++warpgroups)
    add_wgmma(
        {.name = form + std::to_string(warpgroups),
         .series = form,
         .form = a_in_registers ? "wgmma-registers" : "wgmma",
         .block_size = 128 * warpgroups,
         .warpgroups = warpgroups,
         .columns = columns,
         .instructions = {{"HGMMA", wgmma_per_iteration}},
         .check_iterations = 5,
         .smem_bytes = Body::smem_bytes(warpgroups),
         .reference = [=](int iterations) { return resident_reference(warpgroups, columns, iterations); },
         .entry = reinterpret_cast<const void*>(free_entry<Body>)});
}

const Registration wgmma_kernels{[] {
  for_each_value<64, 128, 256>([]<int columns>(std::integral_constant<int, columns>) {
    add_resident<columns, false>();
    add_resident<columns, true>();
  });
}};

}  // namespace

}  // namespace occbench::tensor_core
