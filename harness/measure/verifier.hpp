// SPDX-License-Identifier: Apache-2.0
// Checks a case before it is timed: its outputs, and that its residency agrees with theory.
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

  /// Prepares the case, launches it with few and with all iterations, and counts its resident blocks. False:
  /// rejected. Its reference may still be running on the host.
  bool admit(CaseProgress& progress);
  /// Whether a visit can begin without waiting for the case's own reference (ignored if `may_wait`) or for
  /// that of all outputs of its variant.
  [[nodiscard]] bool can_proceed(const CaseProgress& progress, bool may_wait) const;
  /// Waits for the case's reference. False: rejected, by it or by that of all outputs of its variant.
  bool passes_check(CaseProgress& progress);
  /// Waits for the case's reference, if one is running: other cases of its variant depend on it.
  void finish_check(CaseProgress& progress);
  /// Why the last launch does not repeat `expected_digest` bit by bit, or nullopt. Clears the digest.
  std::optional<std::string> repeat_mismatch(CaseProgress& progress);

  /// Makes the case invalid, and drops samples that an earlier process took.
  static void reject(CaseProgress& progress, const std::string& reason);

 private:
  void prepare(CaseProgress& progress);
  /// Compares a launch of few iterations with the reference. Returns what differs, if already known.
  std::optional<std::string> check_short_launch(CaseProgress& progress);
  /// Copies the last launch's output for another thread to check; false: check it in place.
  bool start_reference(CaseProgress& progress, const Problem& problem);
  std::optional<std::string> await_reference(CaseProgress& progress);
  /// Launches the case once untimed. Without a reference for it, and if poison does no harm, the first timed
  /// launch is compared instead.
  std::optional<std::string> check_timed_launch(CaseProgress& progress);
  /// Counts the resident blocks of two waves. Returns why theory, API and census differ, or "".
  std::string census_of_waves(CaseProgress& progress);
  /// The same for a user kernel's own grid, if it is large enough.
  std::string census_of_user_kernel(CaseProgress& progress);

  /// The GPC of each SM; empty if unknown.
  const std::vector<int>& gpcs();

  Arena& arena_;
  const Stream& stream_;
  const Device& device_;
  const Precision& precision_;
  const Runner::OnCase& on_case_;
  TimeSpent& time_spent_;
  Checks checks_;
  std::optional<std::vector<int>> gpc_of_sms_;  ///< once it was needed
  std::set<const Variant*> verified_;           ///< by a reference on all outputs, finished or running
  std::set<const Variant*> awaited_;            ///< whose reference on all outputs is running
  std::set<const Variant*> wrong_;              ///< by a reference on all outputs
};

}  // namespace occbench
