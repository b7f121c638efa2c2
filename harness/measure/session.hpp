// SPDX-License-Identifier: Apache-2.0
// Runs cases: checks each against its reference, counts its resident blocks, and times it once in each of
// many rounds over all cases.
#pragma once

#include <cstdint>
#include <map>
#include <random>

#include "harness/measure/extra_launches.hpp"
#include "harness/measure/interference.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/timing.hpp"
#include "harness/measure/verifier.hpp"
#include "harness/statistics/stopping.hpp"

namespace occbench {

/// A case corrupted the CUDA context. Its row says so; nothing more can run in this process.
struct ContextLost : UserError {
  explicit ContextLost(const std::string& line) : UserError(Exit::some_case_failed, line) {}
};

/// Owns the device for the length of a run.
class Session : public Runner {
 public:
  Session(const Device& device, const Precision& precision, std::uint64_t seed,
          const CounterGroups& counters = {});

  [[nodiscard]] const Arena& arena() const override { return arena_; }
  [[nodiscard]] std::optional<References> references() const override { return references_; }
  [[nodiscard]] double empty_launch_s() const { return references_.empty_launch_s; }

  /// Runs the group in rounds, each in a new random order: admits a case, then visits it until it is precise,
  /// so that its samples cover changes over a minute. A case is not visited before its reference and the full
  /// reference of its variant have finished; others are visited meanwhile. A CUDA error makes its case
  /// invalid; if the context is lost, throws ContextLost after that case's row. Stops between visits.
  /// Counters and energy are measured once the whole group is timed, and rows wait for them; a case that
  /// `stop` kept from either has no row. Repetitions beyond 0 measure neither.
  void measure(std::span<const Case> group, int repetition, const OnResult& on_result,
               const std::atomic<bool>& stop) override;

  void on_samples(OnSamples callback) override { on_samples_ = std::move(callback); }
  void resume_from(std::vector<SampleRow> samples) override;
  [[nodiscard]] std::vector<std::pair<std::string, double>> time_spent() const override;
  [[nodiscard]] std::optional<Disturbance> disturbance() const override {
    return interference_.disturbance(references_);
  }

  /// Each launch has its own range (observe::CaseRange) without other work: warm-up and preparation of the L2
  /// run before it. There is no delay kernel, so a time may be some us high.
  std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) override;

 private:
  class GroupRun;  // one call of measure()

  /// Times the case once more; rejects it if its first timed launch does not repeat the checked one.
  void visit(CaseProgress& progress);
  std::vector<Sample> time_launches(const CaseProgress& progress, int count);
  /// Summarises the samples after enough rounds. True if precise, or in the last round.
  bool summarise_if_final(CaseProgress& progress) const;
  void summarise(CaseResult& result, std::span<const SampleRow> samples) const;
  [[nodiscard]] statistics::StoppingRule rule() const {
    return {precision_.half_width, precision_.min_rounds, precision_.rounds_per_look, precision_.max_rounds,
            references_.timer_step_s};
  }

  std::mt19937_64 random_;
  TimeSpent time_spent_;
  Stream stream_;
  Arena arena_;
  Verifier verifier_;
  Timer timer_;
  References references_;
  ExtraLaunches extra_launches_;
  Interference interference_;
  OnSamples on_samples_;
  std::map<std::string, std::vector<SampleRow>> earlier_;  ///< of an earlier process, by case_id
};

}  // namespace occbench
