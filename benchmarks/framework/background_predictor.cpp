// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/background_predictor.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "harness/io/threads.hpp"

namespace occbench {

BackgroundPredictor::BackgroundPredictor(std::vector<Case> cases, Predictor predictor)
    : predictor_(std::move(predictor)), cases_(std::move(cases)) {
  start_behind(workers_, 19, [this] { work(); });  // lower than the references, for which cases wait
}

void BackgroundPredictor::work() {
  for (std::size_t i = next_++; i < cases_.size() && !ending_; i = next_++) {
    if (cases_[i].status != Status::valid) continue;
    try {
      Forecast forecast = predictor_(std::span(&cases_[i], 1)).front();
      const std::scoped_lock lock(mutex_);
      forecasts_.emplace(cases_[i].id, std::move(forecast));
    } catch (const std::exception&) {  // add_to() will try again, and say why not
    }
  }
}

void BackgroundPredictor::add_to(Case& c) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = forecasts_.find(c.id); found != forecasts_.end()) {
      c.forecast = found->second;
      return;
    }
  }
  // As it was planned: a case that turned out invalid is predicted as well.
  const auto planned = std::ranges::find(cases_, c.id, &Case::id);
  if (planned == cases_.end() || planned->status != Status::valid) return;
  try {
    c.forecast = predictor_(std::span(&*planned, 1)).front();
  } catch (const std::exception& e) {  // no memory, say: the measurement is recorded without it
    c.forecast = {.why_not = e.what()};
  }
}

}  // namespace occbench
