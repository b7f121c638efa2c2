// SPDX-License-Identifier: Apache-2.0
// Devices like an H100, on which nothing is computed. A kernel's name says by which law its time follows from
// its resident warps, so that the verdicts of `occbench attach` can be tested to their end. Times pass on the
// device's own clock, not on the wall's.
//
// Laws, in microseconds at natural occupancy (base 100): the name begins with
//   latency_   time ~ 1 / warps                    flat_      no change down to a quarter
//   lower_     80 % of the time at half the warps   l1_        1.5 times where the carve-out is pinned
//   steps_     by whole waves alone                 kinds_     every second launch takes three times as long
//   caps_      2 / blocks, and 2 % more for each register below 64
//   some_      0.97 + 0.03 / warps                  waits_     without end, where not all blocks are resident
//   behind_    1 / warps, and three times as long behind a kernel of another law than flat_
// On fewer SMs a kernel with _sms in its name takes longer in proportion, with _part half of that; the others
// take 2 % more on half of them.
// Each time has a spread of a few parts in ten thousand, always the same.
#include "tests/fake_driver/fake_device.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace fake {

std::mutex mutex;
double clock_us = 0;
std::uint64_t launches = 0, changed = 0, result = 0;
std::atomic<bool> is_stuck{false};
std::atomic<Tracer> tracer{nullptr};

namespace {

constexpr std::size_t parameters_bytes = 12;  // of each kernel: an address and a number

double spread() {
  static std::uint64_t state = 12345;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 40) / static_cast<double>(1 << 24) - 0.5;
}

double time_of(const Function& f, std::uint64_t grid, int block, std::size_t dynamic, bool is_pinned) {
  const int natural = blocks_of(f, block, 0), now = blocks_of(f, block, dynamic);
  const double warps = static_cast<double>(now) / natural;
  const auto waves = [&](int blocks) { return std::ceil(static_cast<double>(grid) / (blocks * sms)); };
  static std::string before;
  const std::string behind = std::exchange(before, f.name);
  double time = 100;
  const auto is = [&](const char* law) { return f.name.rfind(law, 0) == 0; };
  if (is("latency_") || is("behind_")) time /= warps;
  if (is("behind_") && behind.rfind("flat_", 0) != 0) time *= 3;
  if (is("some_")) time *= 0.97 + 0.03 / warps;
  if (is("lower_")) time *= 0.6 + 0.4 * warps;
  if (is("l1_") && is_pinned) time *= 1.5;
  if (is("steps_")) time *= waves(now) * now / (waves(natural) * natural);
  if (is("caps_")) time *= (1 / warps) * (2.0 / now) * (1 + 0.02 * std::max(0, 64 - f.registers));
  if (is("kinds_") && launches % 2 == 1) time *= 3;
  return time * (1 + 4e-4 * spread());
}

/// How much longer a kernel takes on fewer SMs.
double factor_of_sms(const Function& f, int on_sms) {
  const double in_full = static_cast<double>(sms) / on_sms;
  const auto is = [&](const char* law) { return f.name.find(law) != std::string::npos; };
  if (is("_sms")) return in_full;
  if (is("_part")) return 0.5 + 0.5 * in_full;
  return 1 + 0.02 * (in_full - 1);
}

/// For the tests: 'launches changed' of each process behind the end of a file.
__attribute__((destructor)) void log_launches() {
  const char* const path = std::getenv("FAKE_LOG");
  std::FILE* const file = path == nullptr || launches == 0 ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(launches),
               static_cast<unsigned long long>(changed));
  std::fclose(file);
}

}  // namespace

void trace(double start_us, double end_us) {
  constexpr std::uint32_t launch_kernel = 307;
  if (const Tracer tell = tracer) tell(launch_kernel, start_us, end_us);
}

void KernelLaunch::copy_values() {
  values.resize(parameters_bytes);
  std::memset(values.data(), 0, values.size());
  if (params.kernelParams == nullptr) return;
  std::memcpy(values.data(), params.kernelParams[0], 8);
  std::memcpy(values.data() + 8, params.kernelParams[1], 4);
  pointers[0] = values.data();
  pointers[1] = values.data() + 8;
  params.kernelParams = pointers;
}

int blocks_of(const Function& f, int block, std::size_t dynamic) {
  if (static_cast<int>(dynamic) > f.max_dynamic || block < 1 || block > 1024) return 0;
  const int warps = (block + 31) / 32;
  const int by_threads = max_threads / (warps * 32);
  const int by_registers = registers_per_sm / (((f.registers + 7) / 8 * 8) * 32 * warps);
  const int smem = (static_cast<int>(dynamic) + f.static_smem + reserved + 127) / 128 * 128;
  return std::min({by_threads, by_registers, max_blocks, smem_per_sm / smem});
}

void run(const KernelLaunch& launch, bool is_pinned, int on_sms) {
  const CUDA_KERNEL_NODE_PARAMS& p = launch.params;
  const Function& f = *function_of(p.func)->function;
  const std::uint64_t grid = std::uint64_t{p.gridDimX} * p.gridDimY * p.gridDimZ;
  const int block = static_cast<int>(p.blockDimX * p.blockDimY * p.blockDimZ);
  const int resident = blocks_of(f, block, p.sharedMemBytes);
  const double time_us = time_of(f, grid, block, p.sharedMemBytes, is_pinned) * factor_of_sms(f, on_sms);
  clock_us += time_us;
  trace(clock_us - time_us, clock_us);
  if (std::getenv("FAKE_WALL"))
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(time_us));
  if (f.name.rfind("waits_", 0) == 0 && grid > static_cast<std::uint64_t>(on_sms) * resident) is_stuck = true;
  for (const unsigned char byte : launch.values) result = (result ^ byte) * 0x100000001b3u;
}

}  // namespace fake
