// SPDX-License-Identifier: Apache-2.0
// Cases in, results out: checks each against its reference, counts its residents, times it once in each of
// many rounds over all cases.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "harness/measure/checks.hpp"
#include "harness/measure/counters.hpp"
#include "harness/measure/interference_probe.hpp"
#include "harness/measure/other_processes.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/timing.hpp"
#include "harness/statistics/stopping.hpp"

namespace occbench {

/// A case took the CUDA context with it. Its row says so; nothing more can run in this process.
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

  /// Goes through the group in rounds, each in a new random order: prepares and verifies a case, then
  /// visits it until it is precise, so that what changes over a minute is in its samples. No case is visited
  /// before its reference and that of its kernel at every output; others have their turn meanwhile. A
  /// CUDA error makes its case invalid; when it cost the context, throws ContextLost after that case's row.
  /// Stops between visits. Counters and energy are measured when all of the group is timed, and rows wait for
  /// them; a case that `stop` kept from either has no row. Repetitions beyond 0 measure neither.
  void measure(std::span<const Case> group, int repetition, const Finished& finished,
               const std::atomic<bool>& stop) override;

  void on_samples(Taken taken) override { taken_ = std::move(taken); }
  void resume_from(std::vector<SampleRow> samples) override;
  [[nodiscard]] std::vector<std::pair<std::string, double>> spent() const override;
  [[nodiscard]] std::optional<Disturbance> disturbance() const override;

  /// Each launch in a range of its own (observe::CaseRange), with nothing else in it: warm-up and what puts
  /// the L2 into the state of a timed launch go before. No delay kernel, so a time may be some us high.
  std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) override;

 private:
  struct Course;  // one case on its way through a group

  /// Whether a case may be timed, as far as the device tells; its reference may still be at work.
  bool admit(Course& course);
  /// Whether its reference agrees, once it has come to its end.
  bool right(Course& course);
  /// Whether neither its reference nor that of its kernel at every output is still at work on the host; with
  /// `waits`, whether the latter is not.
  [[nodiscard]] bool may_go_on(const Course& course, bool waits) const;
  /// What its reference says, once it has come to its end.
  std::optional<std::string> answer_of(Course& course);
  void found_wrong(Course& course, const std::string& what);
  /// Hands the output of the last launch to another thread; false where it is to be checked in place.
  bool begin_check(Course& course, const Problem& problem);
  static std::string of_iterations(const Course& course, const std::string& what);
  /// Launches what will be timed, untimed: nullopt when its outputs are right, otherwise one line. Where no
  /// reference reaches them, and the poison does no harm, the first launch to be timed must repeat them.
  std::optional<std::string> verify_timed(Course& course);
  /// Why the last launch does not agree bit by bit with the one to repeat, or nothing.
  std::optional<std::string> not_repeated(Course& course);
  /// Counts the resident blocks of two waves: why theory, API and census do not agree, or nothing.
  std::string census_of_waves(Course& course);
  /// The same on a user kernel's own grid, where that can tell.
  std::string census_of_user_kernel(Course& course);
  /// Finds a case wrong, or times it once more.
  void visit(Course& course);
  /// Ends a spell of visits by a look at the GPU, and decides on the samples of the spell before: they count
  /// when the looks before them, behind them and one later found it quiet. `last`: also on those of this one.
  /// Returns the courses of which no sample is open any more.
  std::vector<Course*> end_spell(bool last);
  [[nodiscard]] bool finish_if_done(Course& course) const;
  /// Launches of its own, one per pass of the counters, each in the L2's state of the timed ones.
  Counts count(const Course& course);
  /// Launches back to back for half a second or so while the device counts its energy; nullopt where it does
  /// not.
  std::optional<Energy> energy_of(const Course& course, const std::atomic<bool>& stop);
  /// One launch more, as the timed ones but with a census. nullopt when it took another time, or its grid is
  /// huge.
  std::optional<SlotTime> slot_time_of(const Course& course);
  Dispatch watch_dispatch();
  void summarise(CaseResult& result, std::span<const SampleRow> samples) const;
  [[nodiscard]] statistics::StoppingRule rule() const {
    return {precision_.half_width, precision_.least_rounds, precision_.rounds_per_look,
            precision_.most_rounds, references_.timer_step_s};
  }

  std::mt19937_64 random_;
  Stream stream_;
  Arena arena_;
  Checks checks_;
  Timer timer_;
  References references_;
  Counters counters_;
  Dispatch dispatch_;  ///< of blocks that compete for nothing
  Taken taken_;
  std::map<std::string, std::vector<SampleRow>> earlier_;  ///< by case_id
  InterferenceProbe probe_;
  OtherProcesses other_processes_;
  struct Undecided {
    Course* course;
    std::size_t sample;
    int spell;
  };
  std::vector<Undecided> undecided_;                ///< in the order in which they were taken
  std::array<bool, 3> quiet_ = {true, true, true};  ///< by the last three looks, the latest first
  int spell_ = 0;
  std::chrono::steady_clock::time_point spell_began_;
  std::size_t taken_samples_ = 0;
  std::size_t disturbed_samples_ = 0;
  std::set<const Variant*> verified_;      ///< at all outputs of a launch, or about to be
  std::set<const Variant*> awaited_;       ///< of these a reference is at work on all outputs
  std::set<const Variant*> wrong_;         ///< found so when all outputs were looked at
  std::map<std::string, double> spent_s_;  ///< by what for
};

}  // namespace occbench
