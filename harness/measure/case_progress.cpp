// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/case_progress.hpp"

#include "harness/statistics/statistics.hpp"

namespace occbench {

namespace {

/// "only 3 of 30 launches count: 20 ran beside another process, 7 at a low SM clock"
std::string noisy_reason(const CaseProgress& progress) {
  const CaseResult& r = progress.result;
  std::string causes;
  const auto add = [&](std::size_t launches, const char* cause) {
    if (launches > 0) causes += (causes.empty() ? "" : ", ") + std::to_string(launches) + cause;
  };
  add(progress.overlapped_by_others, " ran beside another process");
  add(progress.slow_clock, " at a low SM clock");
  add(r.discarded - progress.overlapped_by_others - progress.slow_clock, " were discarded before --resume");
  return "only " + std::to_string(r.samples) + " of " + std::to_string(r.samples + r.discarded) +
         " launches count: " + causes;
}

}  // namespace

void append_samples(CaseProgress& progress, std::span<const Sample> samples, double clock_tolerance) {
  std::vector<double> clocks;
  for (const SampleRow& s : progress.samples)
    if (!s.discarded) clocks.push_back(s.sm_clock_hz);
  const double usual_hz = clocks.size() < 3 ? 0 : statistics::median(clocks);
  for (const Sample& s : samples) {
    const bool is_clock_dip = s.sm_clock_hz < (1 - clock_tolerance) * usual_hz;
    progress.slow_clock += is_clock_dip ? 1 : 0;
    progress.samples.push_back({.case_id = progress.result.planned.id,
                                .repetition = progress.result.repetition,
                                .round = progress.rounds,
                                .sample = static_cast<int>(progress.samples.size()),
                                .time_s = s.time_s,
                                .sm_clock_hz = s.sm_clock_hz,
                                .discarded = is_clock_dip,
                                .started_unix_s = s.started_unix_s});
  }
}

bool mark_if_noisy(CaseProgress& progress) {
  CaseResult& r = progress.result;
  if (r.samples >= statistics::min_samples() || r.discarded == 0) return false;
  r.planned.status = Status::noisy;
  r.planned.reason = noisy_reason(progress);
  progress.samples.clear();
  return true;
}

}  // namespace occbench
