// SPDX-License-Identifier: Apache-2.0
// The model's predictions of a run's cases, made while they are measured, without knowledge of the results.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/measure/plan.hpp"

namespace occbench {

class BackgroundPredictor {
 public:
  /// Predicts the valid ones, on threads of lowest priority.
  BackgroundPredictor(std::vector<Case> cases, Predictor predictor);
  /// Drops predictions that are still missing.
  ~BackgroundPredictor() { ending_ = true; }
  BackgroundPredictor(const BackgroundPredictor&) = delete;
  BackgroundPredictor& operator=(const BackgroundPredictor&) = delete;

  /// Adds the prediction of this case, or why there is none; computes it now where it is missing.
  void add_to(Case& c);

 private:
  void work();

  Predictor predictor_;
  std::vector<Case> cases_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::map<std::string, Forecast> forecasts_;  ///< by case_id
  std::vector<std::jthread> workers_;          // last: they use the others
};

}  // namespace occbench
