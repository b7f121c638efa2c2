// SPDX-License-Identifier: Apache-2.0
// Cases in, the model's results out: a run without a GPU.
#pragma once

#include "harness/measure/runner.hpp"

namespace occbench {

/// A model in a device's place. Its results have no sample: the time is the predicted one.
class ModelSession : public Runner {
 public:
  /// `device` is a model_device().
  ModelSession(const Device& device, const Precision& precision, Predictor predictor);

  [[nodiscard]] const Arena& arena() const override { return arena_; }
  [[nodiscard]] std::optional<References> references() const override { return {}; }

  /// Asks the model about the whole group at once. What it cannot predict is `skipped`, with its reason.
  void measure(std::span<const Case> group, int repetition, const OnResult& on_result,
               const std::atomic<bool>& stop) override;

  /// Throws UserError(Exit::usage): nothing is launched here.
  std::vector<double> launch_only(const Case& c, int launches, bool mark_for_tools) override;

 private:
  Arena arena_;
  Predictor predictor_;
};

}  // namespace occbench
