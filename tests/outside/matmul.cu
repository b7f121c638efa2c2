// SPDX-License-Identifier: Apache-2.0
// The kernel of tests/samples/matmul.cu as a benchmark: `occbench caps --run` must find the cap that this
// finds.
#include <occbench/kernel.cuh>

#include "matmul.cuh"

namespace {

constexpr int n = 4096;

/// A number per row and column would take a minute, so this takes one of each block.
std::string first_wrong(const std::vector<float>& c, const auto& a, const auto& b) {
  for (int row = 0; row < n; row += matrix::tile)
    for (int column = 0; column < n; column += matrix::tile) {
      const int i = row + row / matrix::tile % matrix::tile,
                j = column + column / matrix::tile % matrix::tile;
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += double(a.at(std::size_t{n} * i + k)) * b.at(std::size_t{n} * k + j);
      if (!(std::abs(c[std::size_t{n} * i + j] - sum) < 1e-3))
        return "row " + std::to_string(i) + ", column " + std::to_string(j) + ": " +
               std::to_string(c[std::size_t{n} * i + j]) + " instead of " + std::to_string(sum);
    }
  return "";
}

const occbench::AddKernel matmul_benchmark{
    matrix::matmul,
    {.name = "matmul",
     .grid = [](int) { return dim3(n / matrix::tile, n / matrix::tile); },
     .flop = 2.0 * n * n * n,
     .block_sizes = {matrix::block_size}},
    [](occbench::Data& data) {
      const auto a = data.input<float>(std::size_t{n} * n);
      const auto b = data.input<float>(std::size_t{n} * n);
      float* const c = data.output<float>(std::size_t{n} * n);
      data.check(
          [=](occbench::Results& results) { return first_wrong(results.copy(c, std::size_t{n} * n), a, b); });
      return [=](const occbench::LaunchConfig& l) {
        matrix::matmul<<<l.grid, l.block_size, l.dynamic_smem_bytes, l.stream>>>(a, b, c, n);
      };
    }};

}  // namespace
