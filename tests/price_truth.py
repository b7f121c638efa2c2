# SPDX-License-Identifier: Apache-2.0
"""Ten kernels whose registers limit them, for the truth of `inspect --price`: b0 to b9 keep eight values in
registers through their loop, a0 to a9 load them after it.

usage: price_truth.py > app.cu; nvcc -arch=sm_90 -lineinfo -o app app.cu; ./app ROUNDS

The program prints the median times (ms) of each before and after, and the gain. `occbench attach` predicts
the gain of b0 to b9. docs/data/inspect-price.csv holds both of one H200.
"""

LOOPS = {  # dependent loads of a table in the L2, in one chain or two; independent loads from DRAM
    "chase": "p = table[table[table[table[p]]]];\n    float v = __int_as_float(0x3f000000 | (p & 0xffff));",
    "chases": "p = table[table[p]];\n    q = table[table[q]];\n"
    "    float v = __int_as_float(0x3f000000 | ((p ^ q) & 0xffff));",
    "stream": "p = p * 1664525 + 1013904223;\n    float v = in[((p >> 8) * 32 + threadIdx.x % 32) & mask] +\n"
    "              in[((p >> 7 ^ 12345) * 32 + threadIdx.x % 32) & mask];",
}
SEEDS = {
    "chase": "(threadIdx.x + blockIdx.x * 256) & 0xfffff",
    "chases": "(threadIdx.x + blockIdx.x * 256) & 0xfffff,\n"
    "           q = (threadIdx.x + (blockIdx.x + 777) * 256) & 0xfffff",
    "stream": "threadIdx.x / 32 + blockIdx.x * 8",
}
KEPT = {
    "load": "in[i * 4096 + threadIdx.x + blockIdx.x]",
    "table": "__int_as_float(0x3f000000 | (table[i * 512 + threadIdx.x] & 0xfff))",
}
# Loop, values that it uses (ptxas 13.0 takes 40, 48, 56 or 71 registers), kept values, loop iterations.
KERNELS = [
    ("chase", 18, "load", 16), ("chase", 26, "load", 16), ("chase", 16, "table", 16),
    ("chase", 24, "table", 16),
    ("chases", 16, "load", 32), ("chases", 26, "table", 32), ("stream", 12, "load", 16),
    ("stream", 22, "table", 16), ("stream", 28, "load", 16), ("stream", 50, "table", 16),
]  # fmt: skip
KERNEL = """
__global__ void __launch_bounds__(256)
    {name}(const float* in, const unsigned* table, float* out, unsigned mask, int trips) {{
  float kept[8], busy[{busy}];
  unsigned p = {seeds};
  for (int i = 0; i < {busy}; ++i) busy[i] = i * 0.5f;
{before}  for (int trip = 0; trip < trips; ++trip) {{
    {loop}
    for (int i = 0; i < {busy}; ++i) busy[i] = busy[i] * v + busy[(i + 1) % {busy}];
  }}
{after}  float sum = 0;
  for (int i = 0; i < {busy}; ++i) sum += busy[i];
  for (int i = 0; i < 8; ++i) sum = sum * 0.5f + kept[i];
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}}"""
MAIN = r"""
using Kernel = void (*)(const float*, const unsigned*, float*, unsigned, int);
Kernel kernels[][2] = {%s};
int trips[] = {%s};

__global__ void fill(unsigned* table, float* in, unsigned n) {
  for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x) {
    if (i < (1u << 20)) table[i] = (((i >> 5) * 1664525u + 1013904223u) << 5 | (i & 31)) & 0xfffff;
    in[i] = 1e-3f * (i & 255);
  }
}

int main(int, char** arguments) {
  const unsigned n = 1u << 26;
  float *in, *out;
  unsigned* table;
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  const int grid = sms * 120;  // whole waves of 8, 6, 5, 4, 3 and 2 blocks per SM
  cudaMalloc(&in, n * 4 + (1 << 20));
  cudaMalloc(&table, 4 << 20);
  if (cudaMalloc(&out, grid * 1024)) return 1;
  fill<<<1024, 256>>>(table, in, n);
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  constexpr int count = sizeof trips / sizeof *trips;
  std::vector<float> times[count][2];
  for (int round = 0; round < atoi(arguments[1]); ++round)
    for (int k = 0; k < count; ++k)
      for (int moved = 0; moved < 2; ++moved) {
        float ms = 0;
        cudaEventRecord(start);
        kernels[k][moved]<<<grid, 256>>>(in, table, out, n - 1, trips[k]);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, start, end);
        times[k][moved].push_back(ms);
      }
  if (cudaDeviceSynchronize()) return 1;
  for (int k = 0; k < count; ++k) {
    for (auto& of : times[k]) std::sort(of.begin(), of.end());
    const float before = times[k][0][times[k][0].size() / 2], after = times[k][1][times[k][1].size() / 2];
    printf("%%d %%.6f %%.6f %%.4f\n", k, before, after, 1 - after / before);
  }
}"""


def program() -> str:
    text = "#include <algorithm>\n#include <cstdio>\n#include <cstdlib>\n#include <vector>\n"
    for n, (loop, busy, kind, _) in enumerate(KERNELS):
        kept = f"  for (int i = 0; i < 8; ++i) kept[i] = {KEPT[kind]};\n"
        for name, before, after in ((f"b{n}", kept, ""), (f"a{n}", "", kept)):
            text += KERNEL.format(
                name=name, busy=busy, seeds=SEEDS[loop], loop=LOOPS[loop], before=before, after=after
            )
    pairs = ", ".join(f"{{b{n}, a{n}}}" for n in range(len(KERNELS)))
    return text + MAIN % (pairs, ", ".join(str(trips) for *_, trips in KERNELS))


if __name__ == "__main__":
    print(program())
