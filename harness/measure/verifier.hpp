// SPDX-License-Identifier: Apache-2.0
// What a case must show before it is timed: right outputs, and the residency that theory predicts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/measure/case_progress.hpp"
#include "harness/measure/checks.hpp"
#include "harness/measure/runner.hpp"
#include "harness/measure/time_spent.hpp"

namespace occbench {

class Verifier {
 public:
  Verifier(Arena& arena, const Stream& stream, const Device& device, const Precision& precision,
           const Runner::OnCase& on_case, TimeSpent& time_spent);

  /// Prepares the case, launches it short and as timed, and counts its resident blocks. False: rejected. Its
  /// reference may still be running on the host.
  bool admit(CaseProgress& progress);
  /// Whether a visit need not wait for the case's own reference (unless `may_wait`), nor for the one that
  /// checks all outputs of its variant.
  [[nodiscard]] bool can_proceed(const CaseProgress& progress, bool may_wait) const;
  /// Waits for the case's reference. False: rejected, by it or by the one that checked all outputs of its
  /// variant.
  bool passes_check(CaseProgress& progress);
  /// Waits for its reference, if one is running: other cases of its variant depend on the answer.
  void finish_check(CaseProgress& progress);
  /// Why the last launch does not repeat `expected_digest` bit by bit, or nothing. Clears it.
  std::optional<std::string> repeat_mismatch(CaseProgress& progress);

  /// Makes the case invalid, and drops samples that an earlier process took.
  static void reject(CaseProgress& progress, const std::string& reason);

 private:
  void prepare(CaseProgress& progress);
  /// A launch of few iterations against the reference: what differs, if that is known by now.
  std::optional<std::string> check_short_launch(CaseProgress& progress);
  /// Copies the last launch's output for another thread to check; false: check it in place.
  bool start_reference(CaseProgress& progress, const Problem& problem);
  std::optional<std::string> await_reference(CaseProgress& progress);
  /// Launches what will be timed, untimed. Where no reference covers it, and the poison does no harm, the
  /// first timed launch is compared instead.
  std::optional<std::string> check_timed_launch(CaseProgress& progress);
  /// Counts the resident blocks of two waves: why theory, API and census differ, or "".
  std::string census_of_waves(CaseProgress& progress);
  /// The same for a user kernel's own grid, where it is large enough to tell.
  std::string census_of_user_kernel(CaseProgress& progress);

  /// The GPC of each SM: empty where it is not known.
  const std::vector<int>& gpcs();

  Arena& arena_;
  const Stream& stream_;
  const Device& device_;
  const Precision& precision_;
  const Runner::OnCase& on_case_;
  TimeSpent& time_spent_;
  Checks checks_;
  std::optional<std::vector<int>> gpc_of_sms_;  ///< once it was needed
  std::set<const Variant*> verified_;           ///< at all outputs of a launch, or about to be
  std::set<const Variant*> awaited_;            ///< of these, a reference is running on all outputs
  std::set<const Variant*> wrong_;              ///< by a reference on all outputs
};

}  // namespace occbench
