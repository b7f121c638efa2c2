// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/prediction/classes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "harness/theory/hardware.hpp"
#include "harness/theory/prediction/needs.hpp"

namespace occbench::theory {

namespace {

constexpr std::string_view names[] = {"streaming", "compute", "shared_memory", "mixed"};
constexpr auto fma_cycles = static_cast<int>(fact("fma_latency"));
constexpr auto predicate_cycles = static_cast<int>(fact("predicate_latency"));
constexpr int fmas_per_trip = 512;  // as in kernel fma_chain
constexpr int loads_per_trip = 16;  // as in kernel shared_latency
// Large enough to make the launch's start negligible; the model extrapolates from a few trips.
constexpr std::int64_t iterations = 1'000'000'000;
// Instructions of all warps in one trip of the unrolled loop: random variation of a trip is then 1 %.
constexpr double instructions_per_trip = 120000;

bool loads_from_dram(Kind kind) { return kind == Kind::streaming || kind == Kind::mixed; }

Instruction arithmetic(Pipe pipe, int stall) {
  return {.pipe = pipe, .stall = static_cast<std::uint8_t>(stall)};
}

/// nvcc assigns scoreboards 2 to 5; the fourth and all later loads share the last.
int scoreboard(int load) { return 2 + std::min(load, 3); }

Instruction load(Pipe pipe, int bytes, int number) {
  return {.pipe = pipe,
          .write = static_cast<std::int8_t>(scoreboard(number)),
          .bytes = static_cast<std::uint16_t>(bytes)};
}

void append(std::vector<Instruction>& loop, Instruction i, int load_to_wait_for = -1) {
  if (load_to_wait_for >= 0) i.wait = static_cast<std::uint8_t>(1 << scoreboard(load_to_wait_for));
  loop.push_back(i);
}

/// The counter's addition and comparison, `body`, and the branch as soon as its predicate is ready.
void append_trip(std::vector<Instruction>& loop, const std::vector<Instruction>& body) {
  append(loop, arithmetic(Pipe::uniform, 6));
  append(loop, arithmetic(Pipe::alu, 1));
  int cycles_since_comparison = 1;
  for (const Instruction& i : body) cycles_since_comparison += i.stall;
  loop.insert(loop.end(), body.begin(), body.end());
  const int extra = std::clamp(predicate_cycles - cycles_since_comparison, 0, 255 - loop.back().stall);
  loop.back().stall = static_cast<std::uint8_t>(loop.back().stall + extra);
  append(loop, {.pipe = Pipe::branch, .taken = true, .stall = 5});
}

/// One iteration: loads, each after its address arithmetic; `fmas` spread over the loaded words; the
/// additions to the sums.
void append_iteration(std::vector<Instruction>& loop, const KernelClass& k, int fmas) {
  for (int j = 0; j < k.ilp; ++j) {
    append(loop, arithmetic(Pipe::alu, 2));
    append(loop, arithmetic(Pipe::alu, 5));
    append(loop, load(Pipe::global_load, k.bytes_per_access, j));
  }
  const int words = k.bytes_per_access / 4;
  const int chains = words * k.ilp;
  std::vector<Instruction> body;
  for (int n = 0; n < fmas; ++n) {
    const int chain = n % chains;
    // The chains are interleaved; the next FMA of the first chain waits for the FMA latency.
    const bool last_chain = chain == chains - 1 || n == fmas - 1;
    const int stall = last_chain ? std::max(1, fma_cycles - chain) : 1;
    append(body, arithmetic(Pipe::fma, stall), n < chains && chain % words == 0 ? chain / words : -1);
  }
  for (int chain = 0; chain < chains; ++chain)
    append(body, arithmetic(Pipe::fma, fma_cycles), chain % words == 0 ? chain / words : -1);
  append_trip(loop, body);
}

/// FLOPs per thread of one trip.
double flops_per_trip(const Program& p) {
  double sum = 0;
  for (const Instruction& i : p.loop) sum += i.pipe == Pipe::fma ? 2 : 0;
  return sum;
}

/// FMAs that `iterations_per_trip` iterations need for the intensity; the additions to the sums are FLOPs,
/// too.
int fmas_of(const KernelClass& k, int iterations_per_trip) {
  const double bytes = double(k.bytes_per_access) * k.ilp * iterations_per_trip;
  return static_cast<int>(std::lround((k.intensity * bytes - bytes / 4) / 2));
}

Program streaming(const KernelClass& k) {
  Program p;
  append_iteration(p.loop, k, 0);
  return p;
}

Program mixed(const KernelClass& k) {
  // If no whole number of FMAs gives the intensity, some iterations of a longer trip have one FMA more.
  int trip = 1;
  const auto error = [&] {
    const double bytes = double(k.bytes_per_access) * k.ilp * trip;
    return std::abs((2 * fmas_of(k, trip) + bytes / 4) / (k.intensity * bytes) - 1);
  };
  while (trip < 16 && error() > 0.005) trip *= 2;
  Program p;
  p.iterations = trip;
  const int fmas = fmas_of(k, trip);
  for (int i = 0; i < trip; ++i) append_iteration(p.loop, k, fmas * (i + 1) / trip - fmas * i / trip);
  return p;
}

Program compute(const KernelClass& k) {
  Program p;
  std::vector<Instruction> body;
  for (int n = 0; n < fmas_per_trip / k.ilp * k.ilp; ++n) {
    const int chain = n % k.ilp;
    Instruction fma = arithmetic(Pipe::fma, chain == k.ilp - 1 ? std::max(1, fma_cycles - chain) : 1);
    if (k.operands == 3) {
      // The operand cache keeps the third register for up to two stall cycles, unless another warp issues.
      const int before = body.empty() ? fma_cycles : body.back().stall;
      fma.reads[0] = before >= 3 ? 2 : 1;
      fma.reads[1] = before >= 3 ? 1 : 0;
      fma.reads_alone[0] = 2;
      fma.reads_alone[1] = 1;
    }
    append(body, fma);
  }
  append_trip(p.loop, body);
  return p;
}

Program shared_memory(const KernelClass& k) {
  Program p;
  std::vector<Instruction> body;
  const int words = k.bytes_per_access / 4;
  for (int loads = 0; loads < loads_per_trip; loads += k.ilp) {
    for (int j = 0; j < k.ilp; ++j) append(body, load(Pipe::shared_load, k.bytes_per_access, j));
    for (int n = 0; n < k.ilp * words; ++n)  // one sum per word
      append(body, arithmetic(Pipe::fma, 1), n % words == 0 ? n / words : -1);
  }
  append_trip(p.loop, body);
  return p;
}

/// Repeats the loop body until one trip of `warps` warps has enough instructions to average over. Loops that
/// read DRAM need fewer, since the model simulates several of their trips anyway.
Program unroll(const Program& p, int warps) {
  const double size = static_cast<double>(p.loop.size()) * warps;
  const double enough = p.count(Pipe::global_load) > 0 ? instructions_per_trip / 16 : instructions_per_trip;
  const int copies = static_cast<int>(std::ceil(enough / size));
  Program longer = p;
  longer.iterations *= copies;
  for (int n = 1; n < copies; ++n) longer.loop.insert(longer.loop.end(), p.loop.begin(), p.loop.end());
  return longer;
}

std::string number(double value) {
  char text[24];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// The peak that DRAM bandwidth allows: byte/s, or FLOP/s at the intensity.
double dram_limited_rate(const KernelClass& k, const Parameters& p) {
  return p.dram_read_bytes_per_s * (k.kind == Kind::mixed ? k.intensity : 1);
}

Peak peak_of(const KernelClass& k, const DeviceSpec& device, const Parameters& p) {
  const double fp32 = 2.0 * device.fp32_lanes_per_sm * device.sm.sm_count * p.sm_clock_hz;
  constexpr std::string_view fp32_basis = "2 FLOP x FP32 lanes (data sheet) x parameter sm_clock";
  switch (k.kind) {
    case Kind::streaming:
      return {p.dram_read_bytes_per_s, "byte/s", "parameter dram_read_bandwidth"};
    case Kind::compute:
      return {fp32, "FLOP/s", fp32_basis};
    case Kind::shared_memory:
      return {p.shared_bytes_per_cycle * device.sm.sm_count * p.sm_clock_hz, "byte/s",
              "parameters shared_bandwidth x sm_clock, all SMs"};
    case Kind::mixed:
      break;
  }
  const double dram_limited = dram_limited_rate(k, p);
  if (dram_limited < fp32) return {dram_limited, "FLOP/s", "intensity x parameter dram_read_bandwidth"};
  return {fp32, "FLOP/s", fp32_basis};
}

}  // namespace

std::span<const std::string_view> kind_names() { return names; }
std::string_view to_string(Kind kind) { return names[static_cast<std::size_t>(kind)]; }

std::string describe(const KernelClass& k) {
  const std::string ilp = std::to_string(k.ilp);
  std::string text(to_string(k.kind));
  std::ranges::replace(text, '_', ' ');
  if (k.kind == Kind::compute)
    return text + ", " + ilp + (k.ilp == 1 ? " chain" : " chains") + " of " +
           (k.operands == 2 ? "two" : "three") + "-operand FMAs per thread";
  text += ", " + std::to_string(k.bytes_per_access) + " B x " + ilp + " in flight per thread";
  return k.kind == Kind::mixed ? text + ", " + number(k.intensity) + " FLOP/B" : text;
}

void check(const KernelClass& k) {
  if (k.ilp < 1 || k.ilp > max_ilp)
    throw std::invalid_argument("ilp " + std::to_string(k.ilp) + " is out of range: 1 to " +
                                std::to_string(max_ilp));
  if (k.bytes_per_access != 4 && k.bytes_per_access != 8 && k.bytes_per_access != 16)
    throw std::invalid_argument("bytes per access " + std::to_string(k.bytes_per_access) +
                                " is none of 4, 8 and 16");
  if (k.operands != 2 && k.operands != 3)
    throw std::invalid_argument("operands " + std::to_string(k.operands) + " is neither 2 nor 3");
  if (k.kind == Kind::mixed && !(k.intensity >= min_intensity && k.intensity <= max_intensity))
    throw std::invalid_argument("mixed needs an intensity of " + number(min_intensity) + " to " +
                                number(max_intensity) + " FLOP per byte, not " + number(k.intensity));
}

Program program_of(const KernelClass& k) {
  check(k);
  constexpr std::array programs = {streaming, compute, shared_memory, mixed};
  return programs[static_cast<std::size_t>(k.kind)](k);
}

ClassModel::ClassModel(const KernelClass& kernel, const DeviceSpec& device, const Parameters& p)
    : kernel_(kernel), device_(device), parameters_(p), program_(program_of(kernel)) {
  if (const auto name = missing_parameter(p, program_); !name.empty())
    throw std::invalid_argument("the device's parameters lack '" + std::string(name) + "', which the class " +
                                std::string(to_string(kernel.kind)) + " needs");
  peak_ = peak_of(kernel, device, p);
}

ClassModel::Outcome ClassModel::at(int block_size, int blocks_per_sm) const {
  const int warps = (block_size + 31) / 32;
  const bool from_dram = loads_from_dram(kernel_.kind);
  // A partial warp takes as many issue slots as a full one but moves fewer bytes.
  const bool is_dram_limited = from_dram && peak_.rate >= dram_limited_rate(kernel_, parameters_);
  const double per_iteration =
      program_.bytes(from_dram ? Pipe::global_load : Pipe::shared_load) / program_.iterations;
  const Shape shape{.grid_size = blocks_per_sm * device_.sm.sm_count,
                    .warps_per_block = warps,
                    .blocks_per_sm = blocks_per_sm,
                    .working_share = is_dram_limited ? block_size / (32.0 * warps) : 1,
                    .iterations = iterations};
  const Prediction prediction =
      predict(unroll(program_, warps * blocks_per_sm), {.dram_bytes = from_dram ? per_iteration : 0}, shape,
              device_, parameters_);
  double work =
      kernel_.kind == Kind::compute ? flops_per_trip(program_) / program_.iterations : per_iteration;
  if (kernel_.kind == Kind::mixed) work *= kernel_.intensity;
  const double rate =
      work * static_cast<double>(iterations) * block_size * shape.grid_size / prediction.time_s;
  // The extrapolated rate may exceed the peak slightly, by random variation of the simulated trips.
  return {std::min(1.0, rate / peak_.rate), prediction.bound};
}

std::optional<int> fewest_warps(const ClassModel& model, double share, int max_warps) {
  for (int warps = 4; warps <= max_warps; warps += 4)
    if (model.at(128, warps / 4).share_of_peak >= share) return warps;
  return {};
}

}  // namespace occbench::theory
