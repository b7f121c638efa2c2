// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/interference.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace occbench {

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
  const Stopwatch stopwatch(time_spent_["probing for other processes"]);
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
    each->progress->disturbed += counts || sample.discarded ? 0 : 1;
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
                  probe_.disturbed(), probe_.probes(),
                  100.0 * static_cast<double>(disturbed_samples_) / static_cast<double>(decided_samples_));
    add(line);
  }
  add(other_processes_.summary());  // before mere signs of them: a terminal shows the beginning
  const bool from_the_start = !references.copies_undisturbed(device_);
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
          .disturbed_probes = probe_.disturbed(),
          .from_the_start = from_the_start,
          .said = summary};
}

}  // namespace occbench
