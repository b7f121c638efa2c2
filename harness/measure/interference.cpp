// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/interference.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>

#include "harness/device/instruments.hpp"

namespace occbench {

namespace {

constexpr int copies = 4;
// Another process keeps the GPU until its time slice ends, milliseconds later. Then ours begins: short work
// fits into it, so that the wait before it is the only sign.
constexpr std::chrono::duration<double, std::milli> min_wait{0.3};

std::size_t bytes_per_copy(const Arena& arena) {
  return std::min({std::size_t{256} << 20, arena.input_bytes(), arena.output_bytes()});
}

}  // namespace

InterferenceProbe::InterferenceProbe(Arena& arena, const Stream& stream, const Device& device)
    : arena_(arena),
      stream_(stream),
      blocks_(2 * device.sm.sm_count),
      cycles_(static_cast<std::size_t>(max_repetitions * blocks_)),
      cycles_host_(static_cast<std::size_t>(max_repetitions * blocks_)),
      events_(2 * max_repetitions + 1),
      fastest_{copies * 2.0 * static_cast<double>(bytes_per_copy(arena)) /
                   least_undisturbed_copy_bytes_per_s(device),
               std::numeric_limits<double>::max()} {
  run(1);  // loads code and fills the TLBs
  for (int i = 0; i < 2; ++i) is_quiet(max_repetitions / 2);
  probes_ = disturbed_probes_ = 0;
}

std::vector<InterferenceProbe::Repetition> InterferenceProbe::run(int count, bool* waited) {
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
    instruments::load_sms(cycles_.data() + i * blocks, blocks_, stream_.get());
  }
  check(cudaMemcpyAsync(cycles_host_.data(), cycles_.data(), count * blocks * sizeof(unsigned long long),
                        cudaMemcpyDeviceToHost, stream_.get()),
        "reading cycles");
  events_[2 * max_repetitions].record(stream_);
  stream_.synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const std::chrono::duration<double> worked{events_[2 * max_repetitions].seconds_since(events_[0])};
  if (waited != nullptr) *waited = took - worked > min_wait;

  std::vector<Repetition> repetitions;
  for (int i = 0; i < count; ++i) {
    const auto* const first = cycles_host_.data() + i * blocks;
    repetitions.push_back({events_[2 * i + 1].seconds_since(events_[2 * i]),
                           static_cast<double>(*std::max_element(first, first + blocks))});
  }
  return repetitions;
}

bool InterferenceProbe::is_disturbed(const Repetition& r) const {
  return r.copy_s > (1 + tolerance) * fastest_.copy_s || r.cycles > (1 + tolerance) * fastest_.cycles;
}

std::ptrdiff_t InterferenceProbe::count_slow(int count, bool* waited) {
  const std::vector<Repetition> repetitions = run(std::min(count, max_repetitions), waited);
  for (const Repetition& r : repetitions)
    fastest_ = {std::min(fastest_.copy_s, r.copy_s), std::min(fastest_.cycles, r.cycles)};
  return std::ranges::count_if(repetitions, [&](const Repetition& r) { return is_disturbed(r); });
}

bool InterferenceProbe::is_quiet(int repetitions) {
  bool waited = false;
  std::ptrdiff_t slow = count_slow(repetitions, &waited);
  // Long enough for two time slices: one slow repetition may be the board's own, a wait the host's.
  if (waited || slow > 0) slow = count_slow(max_repetitions, &waited);
  const bool quiet = slow < 2;
  ++probes_;
  disturbed_probes_ += quiet ? 0 : 1;
  return quiet;
}

Interference::Interference(Arena& arena, const Stream& stream, const Device& device, TimeSpent& time_spent)
    : device_(device),
      probe_(arena, stream, device),
      other_processes_(device.uuid),
      time_spent_(time_spent) {}

void Interference::begin_batch() {
  ++batch_;
  batch_began_ = std::chrono::steady_clock::now();
}

bool Interference::is_batch_full() const {
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - batch_began_;
  return age.count() >= InterferenceProbe::interval_s;
}

void Interference::add(CaseProgress& progress, std::size_t count) {
  for (std::size_t i = progress.samples.size() - count; i < progress.samples.size(); ++i)
    undecided_.push_back({&progress, i, batch_});
  progress.undecided += static_cast<int>(count);
}

void Interference::drop(CaseProgress& progress) {
  std::erase_if(undecided_, [&](const Undecided& each) { return each.progress == &progress; });
  progress.undecided = 0;
}

std::vector<CaseProgress*> Interference::finish_batch(bool last, const Runner::OnSamples& on_samples) {
  const ScopedTimer timer(time_spent_["probing for other processes"]);
  was_quiet_ = {probe_.is_quiet(last ? 6 : 2), was_quiet_[0], was_quiet_[1]};
  other_processes_.poll();
  const auto open =
      std::ranges::find_if(undecided_, [&](const Undecided& each) { return !last && each.batch == batch_; });
  std::vector<CaseProgress*> decided;
  for (auto each = undecided_.begin(); each != open; ++each) {
    SampleRow& sample = each->progress->samples[each->sample];
    const bool counts = was_quiet_[0] && was_quiet_[1] && (each->batch == batch_ || was_quiet_[2]);
    ++decided_samples_;
    disturbed_samples_ += counts ? 0 : 1;
    each->progress->overlapped_by_others += counts || sample.discarded ? 0 : 1;
    sample.discarded = sample.discarded || !counts;
    if (on_samples) on_samples(std::span(&sample, 1));
    if (--each->progress->undecided == 0) decided.push_back(each->progress);
  }
  undecided_.erase(undecided_.begin(), open);
  begin_batch();
  return decided;
}

Disturbance Interference::disturbance(const References& references) const {
  std::string summary;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) summary += (summary.empty() ? "" : "; ") + sentence;
  };
  char line[160];
  if (disturbed_samples_ > 0) {
    std::snprintf(line, sizeof line,
                  "another process used the GPU in %zu of %zu probes: %.3g %% of all launches were discarded",
                  probe_.disturbed_probes(), probe_.probes(),
                  100.0 * static_cast<double>(disturbed_samples_) / static_cast<double>(decided_samples_));
    add(line);
  }
  add(other_processes_.summary());  // before mere signs of them: a terminal shows the beginning
  const bool from_the_start = !references.has_undisturbed_copies(device_);
  if (from_the_start) {
    std::snprintf(
        line, sizeof line,
        "cudaMemcpy reached %.0f %% of DRAM peak at the start: another process may be using the GPU",
        100 * references.memcpy_bytes_per_s / device_.dram_bytes_per_s);
    add(line);
  }
  if (references.sm_clock_hz < 0.97 * device_.sm_clock_max_hz) {
    std::snprintf(line, sizeof line,
                  "SM clock %.0f of %.0f MHz at the start, without load: clocks may be locked",
                  references.sm_clock_hz * 1e-6, device_.sm_clock_max_hz * 1e-6);
    add(line);
  }
  return {.launches = decided_samples_,
          .discarded = disturbed_samples_,
          .probes = probe_.probes(),
          .disturbed_probes = probe_.disturbed_probes(),
          .from_the_start = from_the_start,
          .summary = summary};
}

}  // namespace occbench
