// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/foretold.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <span>
#include <utility>

namespace occbench {

Foretold::Foretold(std::vector<Case> cases, Predictor predictor)
    : predictor_(std::move(predictor)), cases_(std::move(cases)) {
  const unsigned workers = std::max(3U, std::thread::hardware_concurrency()) - 2;
  for (unsigned i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
}

void Foretold::work() {
  // On Linux a thread's own: that which launches goes first, then the references that it waits for.
  setpriority(PRIO_PROCESS, 0, 19);
  for (std::size_t i = next_++; i < cases_.size() && !ending_; i = next_++) {
    if (cases_[i].status != Status::valid) continue;
    try {
      Forecast forecast = predictor_(std::span(&cases_[i], 1)).front();
      const std::scoped_lock lock(mutex_);
      forecasts_.emplace(cases_[i].id, std::move(forecast));
    } catch (...) {  // add_to() will throw it where somebody can catch it
      return;
    }
  }
}

void Foretold::add_to(Case& c) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = forecasts_.find(c.id); found != forecasts_.end()) {
      c.forecast = found->second;
      return;
    }
  }
  // As it was planned: it may have turned out wrong since, and is predicted all the same.
  const auto planned = std::ranges::find(cases_, c.id, &Case::id);
  if (planned != cases_.end() && planned->status == Status::valid)
    c.forecast = predictor_(std::span(&*planned, 1)).front();
}

}  // namespace occbench
