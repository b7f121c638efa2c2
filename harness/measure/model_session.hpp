// SPDX-License-Identifier: Apache-2.0
// A run without a GPU: the model predicts each case.
#pragma once

#include "harness/measure/runner.hpp"

namespace occbench {

/// A model instead of a device. Its results have no samples, and the predicted time.
class ModelSession : public Runner {
 public:
  /// `device` is a model_device().
  ModelSession(const Device& device, const Precision& precision, Predictor predictor);

  [[nodiscard]] const Arena& arena() const override { return arena_; }
  [[nodiscard]] std::optional<References> references() const override { return {}; }

  /// Predicts the whole group at once. Cases that the model cannot predict are `skipped`, with a reason.
  void measure(std::span<const Case> group, int repetition, const OnResult& on_result,
               const std::atomic<bool>& stop) override;

  /// Throws UserError(Exit::usage): nothing is launched here.
  std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) override;

 private:
  Arena arena_;
  Predictor predictor_;
};

}  // namespace occbench
