// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/interference_probe.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "harness/device/instruments.hpp"
#include "harness/measure/runner.hpp"

namespace occbench {

namespace {

constexpr int copies = 4;
// A process that has the GPU gives it up when its slice is over, milliseconds later. Our own slice begins
// then: what is short lies within it, and its times tell nothing.
constexpr std::chrono::duration<double, std::milli> wait_of_note{0.3};

std::size_t bytes_per_copy(const Arena& arena) {
  return std::min({std::size_t{256} << 20, arena.input_bytes(), arena.output_bytes()});
}

}  // namespace

InterferenceProbe::InterferenceProbe(Arena& arena, const Stream& stream, const Device& device)
    : arena_(arena),
      stream_(stream),
      blocks_(2 * device.sm.sm_count),
      cycles_(static_cast<std::size_t>(most * blocks_)),
      cycles_host_(static_cast<std::size_t>(most * blocks_)),
      events_(2 * most + 1),
      usual_{copies * 2.0 * static_cast<double>(bytes_per_copy(arena)) / least_copy_alone(device),
             std::numeric_limits<double>::max()} {
  take(1);  // brings in code and addresses
  for (int i = 0; i < 2; ++i) is_quiet(most / 2);
  looks_ = disturbed_ = 0;
}

std::vector<InterferenceProbe::Taken> InterferenceProbe::take(int count, bool* waited) {
  const std::size_t bytes = bytes_per_copy(arena_);
  const auto blocks = static_cast<std::size_t>(blocks_);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    events_[2 * i].record(stream_);
    for (int copy = 0; copy < copies; ++copy)
      check(cudaMemcpyAsync(arena_.output<float>(), arena_.input<float>(), bytes, cudaMemcpyDeviceToDevice,
                            stream_.get()),
            "copying on the device");
    events_[2 * i + 1].record(stream_);
    instruments::exercise(cycles_.data() + i * blocks, blocks_, stream_.get());
  }
  check(cudaMemcpyAsync(cycles_host_.data(), cycles_.data(), count * blocks * sizeof(unsigned long long),
                        cudaMemcpyDeviceToHost, stream_.get()),
        "reading cycles");
  events_[2 * most].record(stream_);
  stream_.synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const std::chrono::duration<double> worked{events_[2 * most].seconds_since(events_[0])};
  if (waited != nullptr) *waited = took - worked > wait_of_note;

  std::vector<Taken> taken;
  for (int i = 0; i < count; ++i) {
    const auto* const first = cycles_host_.data() + i * blocks;
    taken.push_back({events_[2 * i + 1].seconds_since(events_[2 * i]),
                     static_cast<double>(*std::max_element(first, first + blocks))});
  }
  return taken;
}

bool InterferenceProbe::is_slow(const Taken& taken) const {
  return taken.copy_s > (1 + tolerance) * usual_.copy_s || taken.cycles > (1 + tolerance) * usual_.cycles;
}

bool InterferenceProbe::is_quiet(int times) {
  bool waited = false;
  std::ptrdiff_t slow = 0;
  const auto look = [&](int count) {
    const std::vector<Taken> taken = take(std::min(count, most), &waited);
    for (const Taken& each : taken)
      usual_ = {std::min(usual_.copy_s, each.copy_s), std::min(usual_.cycles, each.cycles)};
    slow = std::ranges::count_if(taken, [&](const Taken& each) { return is_slow(each); });
  };
  look(times);
  // Long enough for two slices; one slow repetition may be the board's own doing, a wait the host's.
  if (waited || slow > 0) look(most);
  const bool quiet = slow < 2;
  ++looks_;
  disturbed_ += quiet ? 0 : 1;
  return quiet;
}

}  // namespace occbench
