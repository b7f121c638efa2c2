// SPDX-License-Identifier: Apache-2.0
// A cooperative launch: the sum of all first, and then each over it. All blocks must be resident at once.
#include <cooperative_groups.h>

#include <occbench/kernel.cuh>

__global__ void normalize(int n, const int* in, unsigned long long* total, float* out) {
  const auto grid = cooperative_groups::this_grid();
  unsigned long long sum = 0;
  for (auto i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
  atomicAdd(total, sum);
  grid.sync();
  for (auto i = grid.thread_rank(); i < n; i += grid.size()) out[i] = static_cast<float>(in[i]) / *total;
}

constexpr int count = 1 << 24;
const occbench::AddKernel normalize_benchmark{
    normalize,
    {.name = "normalize", .waves = 1, .bytes = 12.0 * count, .block_sizes = {512}},
    [](occbench::Data& data) {
      const auto in = data.input<int>(count, [](std::size_t i) { return int(i % 7 + 1); });
      const auto total = data.update<unsigned long long>(1, [](std::size_t) { return 0ULL; });
      float* const out = data.output<float>(count);
      data.check([=](occbench::Results& results) -> std::string {
        const std::vector<float> found = results.copy(out, count);
        double sum = 0;
        for (const float each : found) sum += each;
        return std::abs(sum - 1) < 1e-3 ? "" : "the shares add up to " + std::to_string(sum);
      });
      return [=](const occbench::LaunchConfig& c) {
        cudaMemsetAsync(total, 0, sizeof(unsigned long long), c.stream);
        launch_cooperative(c, normalize, count, in, total, out);
      };
    }};
