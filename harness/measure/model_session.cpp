// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/model_session.hpp"

#include <utility>

namespace occbench {

ModelSession::ModelSession(const Device& device, const Precision& precision, Predictor predictor)
    : Runner(device, precision), arena_(arena_sizes(device.memory_bytes)), predictor_(std::move(predictor)) {}

void ModelSession::measure(std::span<const Case> group, int repetition, const OnResult& on_result,
                           const std::atomic<bool>& stop) {
  std::vector<Case> cases(group.begin(), group.end());
  add_forecasts(cases, predictor_);
  for (Case& c : cases) {
    if (stop) return;
    CaseResult r{.planned = std::move(c), .repetition = repetition};
    Case& planned = r.planned;
    if (planned.status == Status::valid && !planned.forecast.prediction) {
      planned.status = Status::skipped;
      planned.reason = planned.forecast.why_not;
    }
    if (planned.status == Status::valid) {
      const theory::Prediction& prediction = *planned.forecast.prediction;
      r.work = planned.spec.variant->prepare(arena_, planned.shape(planned.iterations)).work;
      r.time_s.median = r.time_s.low = r.time_s.high = prediction.time_s;
      r.sm_clock_hz = prediction.sm_clock_hz;
      rate(r);
    }
    on_result(r, {});
  }
}

std::vector<double> ModelSession::launch_only(const Case&, int, bool) {
  throw UserError(Exit::usage, "the " + device_.name +
                                   " launches nothing, and --case is for profilers; "
                                   "--benchmark_filter=ID predicts one case");
}

}  // namespace occbench
