// SPDX-License-Identifier: Apache-2.0
// What the model says of a run's cases, made beside their measurement and without knowledge of it.
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
  /// Predicts those that can be launched, on threads behind all others.
  BackgroundPredictor(std::vector<Case> cases, Predictor predictor);
  /// Does not wait for what nobody asked for.
  ~BackgroundPredictor() { ending_ = true; }
  BackgroundPredictor(const BackgroundPredictor&) = delete;
  BackgroundPredictor& operator=(const BackgroundPredictor&) = delete;

  /// Adds what the model says of this case, or why it says nothing; at once, if that was not its turn yet.
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
