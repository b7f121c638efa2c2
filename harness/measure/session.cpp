// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/session.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <iterator>

#include "harness/measure/observe.hpp"

namespace occbench {

namespace {

ArenaSizes sizes_for_free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  const ArenaSizes sizes = arena_sizes(free);
  if (std::min(sizes.input_bytes, sizes.output_bytes) < (std::size_t{64} << 20))
    throw UserError(Exit::no_device,
                    "the device has only " + std::to_string(free >> 20) + " MiB of " +
                        std::to_string(total >> 20) +
                        " MiB free; stop other processes on it, or choose another with --device");
  return sizes;
}

/// Announces the case that work begins on, and its end.
class CaseScope {
 public:
  CaseScope(const Runner::OnCase& on_case, const Case& c) : on_case_(on_case) { on_case_(&c); }
  ~CaseScope() { on_case_(nullptr); }
  CaseScope(const CaseScope&) = delete;
  CaseScope& operator=(const CaseScope&) = delete;

 private:
  const Runner::OnCase& on_case_;
};

/// Starts recording in tools that wait for it: `nsys -c cudaProfilerApi`, `ncu --profile-from-start off`.
struct ToolWindow {
  ToolWindow() { check(cudaProfilerStart(), "cudaProfilerStart"); }
  ~ToolWindow() { cudaProfilerStop(); }
  ToolWindow(const ToolWindow&) = delete;
  ToolWindow& operator=(const ToolWindow&) = delete;
};

}  // namespace

Session::Session(const Device& device, const Precision& precision, std::uint64_t seed,
                 const CounterGroups& counters)
    : Runner(device, precision),
      random_(seed),
      arena_(stream_, sizes_for_free_memory()),
      verifier_(arena_, stream_, device_, precision_, on_case_, time_spent_),
      timer_(device, stream_),
      extra_launches_(stream_, device_, precision_, timer_, counters, time_spent_),
      interference_(arena_, stream_, device_, time_spent_) {
  references_.sm_clock_hz = timer_.warm_up();
  references_.empty_launch_s = timer_.empty_launch();
  const std::size_t bytes = std::min(arena_.input_bytes(), arena_.output_bytes());
  references_.memcpy_bytes_per_s =
      2 * static_cast<double>(bytes) / timer_.copy(arena_.output<float>(), arena_.input<float>(), bytes);
  references_.timer_step_s = timer_.step_s();
  extra_launches_.measure_dispatch();
}

/// One group of cases, from the first launch to the last row.
class Session::GroupRun {
 public:
  GroupRun(Session& session, std::span<const Case> group, int repetition, const OnResult& on_result,
           const std::atomic<bool>& stop)
      : session_(session), repetition_(repetition), on_result_(on_result), stop_(stop) {
    for (const Case& c : group) {
      cases_.push_back({.result = {.planned = c, .repetition = repetition}});
      if (repetition == 0) resume(cases_.back());
    }
  }

  void run() {
    sample_in_rounds();
    count_events();
    measure_energy();
  }

 private:
  using Step = void (GroupRun::*)(CaseProgress&);
  // A case is visited this many admissions after its own, so that its host reference has had time.
  static constexpr std::size_t admission_lead = 64;

  void resume(CaseProgress& progress) {
    const auto earlier = session_.earlier_.find(progress.result.planned.id);
    if (earlier == session_.earlier_.end()) return;
    progress.samples = std::move(earlier->second);
    progress.rounds = progress.samples.back().round + 1;
    session_.earlier_.erase(earlier);
  }

  void sample_in_rounds() {
    session_.interference_.begin_batch();
    bool may_wait = false;
    while (true) {
      std::vector<CaseProgress*> open = open_cases();
      if (open.empty() || stop_) {
        if (!session_.interference_.has_undecided()) return;
        finish_batch(true);
        continue;
      }
      std::ranges::shuffle(open, session_.random_);
      may_wait = !run_round(open, may_wait);  // nothing to launch: all open cases wait for references
    }
  }

  [[nodiscard]] std::vector<CaseProgress*> open_cases() {
    std::vector<CaseProgress*> open;
    for (CaseProgress& progress : cases_)
      if (is_open(progress)) open.push_back(&progress);
    return open;
  }

  /// Whether any case was admitted or visited.
  bool run_round(std::span<CaseProgress* const> open, bool may_wait) {
    bool proceeded = false;
    for (std::size_t i = 0; i < open.size() && !stop_; ++i) {
      const bool admits = open[i]->stage == Stage::pending;
      proceeded |= try_advance(*open[i], may_wait);
      if (admits && i >= admission_lead) proceeded |= try_advance(*open[i - admission_lead], may_wait);
      if (session_.interference_.is_batch_full()) finish_batch(false);
    }
    return proceeded;
  }

  bool try_advance(CaseProgress& progress, bool may_wait) {
    if (!is_open(progress) || !session_.verifier_.can_proceed(progress, may_wait)) return false;
    run_step(progress, progress.stage == Stage::pending ? &GroupRun::admit : &GroupRun::visit);
    return true;
  }

  void admit(CaseProgress& progress) {
    if (progress.result.planned.status != Status::valid || !session_.verifier_.admit(progress))
      return close(progress);
    progress.stage = Stage::sampling;
  }

  void visit(CaseProgress& progress) {
    if (!session_.verifier_.passes_check(progress)) return close(progress);
    session_.visit(progress);
    if (progress.result.planned.status != Status::valid) return close(progress);
    if (session_.summarise_if_final(progress)) progress.stage = Stage::sampled;
  }

  void finish_batch(bool last) {
    for (CaseProgress* progress : session_.interference_.finish_batch(last, session_.on_samples_))
      if (!stop_ && progress->stage == Stage::sampled) run_step(*progress, &GroupRun::settle);
  }

  /// All samples of the case are decided: it may need more, be too noisy, or be timed.
  void settle(CaseProgress& progress) {
    if (!session_.summarise_if_final(progress)) {
      progress.stage = Stage::sampling;
      return;
    }
    if (mark_if_noisy(progress)) return close(progress);
    if (repetition_ == 0) progress.result.slot_time = session_.extra_launches_.slot_time(progress);
    if (counts_events() || wants_energy(progress))
      progress.stage = Stage::extra;
    else
      close(progress);
  }

  // Counters slow other launches, and energy heats the device: both follow once all cases are timed.
  void count_events() {
    if (!counts_events()) return;
    for (CaseProgress& progress : cases_)
      if (progress.stage == Stage::extra && !stop_) run_step(progress, &GroupRun::count);
    session_.extra_launches_.release_counters();
  }

  void count(CaseProgress& progress) { progress.result.counts = session_.extra_launches_.count(progress); }

  void measure_energy() {
    for (CaseProgress& progress : cases_) {
      const bool is_stopped = counts_events() && progress.result.counts.status == "off";
      if (progress.stage == Stage::extra && !is_stopped) run_step(progress, &GroupRun::add_energy);
    }
  }

  void add_energy(CaseProgress& progress) {
    if (wants_energy(progress)) {
      if (!stop_) progress.result.energy = session_.extra_launches_.energy(progress, stop_);
      if (stop_ && !progress.result.energy) return;  // without a row, --resume measures it
    }
    close(progress);
  }

  void close(CaseProgress& progress) {
    progress.stage = Stage::done;
    session_.on_case_(nullptr);  // writing its row is not device work that may hang
    session_.verifier_.finish_check(progress);
    on_result_(progress.result, progress.samples);
  }

  /// Runs one step of a case. An exception makes the case invalid, except UserError, which is not its fault.
  void run_step(CaseProgress& progress, Step step) {
    const CaseScope scope(session_.on_case_, progress.result.planned);
    try {
      (this->*step)(progress);
    } catch (const UserError&) {
      throw;
    } catch (const CudaError& e) {
      fail(progress, e.what());
      if (e.context_lost())
        throw ContextLost("case " + progress.result.planned.id + " corrupted the CUDA context: " + e.what() +
                          "; its row says so");
    } catch (const std::exception& e) {  // such as no host memory for its reference
      fail(progress, e.what());
    }
  }

  void fail(CaseProgress& progress, const std::string& reason) {
    session_.interference_.drop(progress);
    Verifier::reject(progress, reason);
    progress.result.samples = progress.result.discarded = 0;
    progress.result.slot_time.reset();  // its launch's time is not reported
    progress.result.counts = {};
    close(progress);
  }

  [[nodiscard]] static bool is_open(const CaseProgress& progress) {
    return progress.stage == Stage::pending || progress.stage == Stage::sampling;
  }
  [[nodiscard]] bool counts_events() const {
    return session_.extra_launches_.wants_counters() && repetition_ == 0;
  }
  [[nodiscard]] bool wants_energy(const CaseProgress& progress) const {
    return progress.result.planned.spec.energy && repetition_ == 0;
  }

  Session& session_;
  std::vector<CaseProgress> cases_;
  int repetition_;
  const OnResult& on_result_;
  const std::atomic<bool>& stop_;
};

void Session::measure(std::span<const Case> group, int repetition, const OnResult& on_result,
                      const std::atomic<bool>& stop) {
  GroupRun(*this, group, repetition, on_result, stop).run();
}

void Session::visit(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["timing"]);
  const Case& c = progress.result.planned;
  prepare_launch(c.launch, progress.timed);
  launch_kernel(c.launch, progress.warm_up, Census{}, stream_);
  std::vector<Sample> samples;
  if (progress.expected_digest) {
    progress.timed.poison();
    samples = time_launches(progress, 1);
    if (const auto wrong = verifier_.repeat_mismatch(progress)) return Verifier::reject(progress, *wrong);
  }
  if (const int more = precision_.samples_per_round - static_cast<int>(samples.size()); more > 0)
    std::ranges::copy(time_launches(progress, more), std::back_inserter(samples));
  if (progress.timed.own_cycles_per_iteration)
    progress.own_cycles.push_back(progress.timed.own_cycles_per_iteration());
  append_samples(progress, samples, precision_.clock_tolerance);
  interference_.add(progress, samples.size());
  ++progress.rounds;
}

std::vector<Sample> Session::time_launches(const CaseProgress& progress, int count) {
  const Case& c = progress.result.planned;
  const auto launch = [&](cudaStream_t stream) {
    const observe::CaseRange range(c);  // around the launch only: delay, stamps and flush are not the case's
    launch_on(c.launch, progress.timed, Census{}, stream);
  };
  return timer_.take(launch, count, c.spec.variant->l2_before, c.launch.share);
}

bool Session::summarise_if_final(CaseProgress& progress) const {
  const auto kept = std::ranges::count(progress.samples, false, &SampleRow::discarded);
  const int visits = static_cast<int>(kept) / precision_.samples_per_round;
  if (!rule().checks_after(visits) && progress.rounds < precision_.max_rounds) return false;
  summarise(progress.result, progress.samples);
  if (!progress.own_cycles.empty())
    progress.result.own_cycles_per_iteration = statistics::median(progress.own_cycles);
  return progress.result.reached_precision || progress.rounds >= precision_.max_rounds;
}

void Session::summarise(CaseResult& r, std::span<const SampleRow> samples) const {
  std::vector<double> times;
  std::vector<double> clocks;
  for (const SampleRow& s : samples) {
    if (s.discarded) continue;
    times.push_back(s.time_s);
    clocks.push_back(s.sm_clock_hz);
  }
  r.samples = times.size();
  r.discarded = samples.size() - times.size();
  if (times.empty()) return;
  r.time_s = statistics::median_interval(times).widened_by(references_.timer_step_s);
  r.time_p10_s = statistics::quantile(times, 0.1);
  r.time_p90_s = statistics::quantile(times, 0.9);
  r.speeds = statistics::two_speeds(times);
  r.reached_precision = rule().is_precise(times);
  r.sm_clock_hz = statistics::median(clocks);
  rate(r);
}

void Session::resume_from(std::vector<SampleRow> samples) {
  for (SampleRow& s : samples) earlier_[s.case_id].push_back(std::move(s));
}

std::vector<std::pair<std::string, double>> Session::time_spent() const {
  std::vector<std::pair<std::string, double>> all(time_spent_.begin(), time_spent_.end());
  std::ranges::sort(all, std::ranges::greater{}, [](const auto& each) { return each.second; });
  return all;
}

std::vector<double> Session::launch_only(const Case& c, int launches, bool mark_for_tools) {
  const Variant& variant = *c.spec.variant;
  if (!variant.user_kernel) {
    configure(c.launch);
    launch_kernel(c.launch, variant.prepare(arena_, c.shape(variant.check_iterations)), Census{}, stream_);
  }
  const Problem problem = variant.prepare(arena_, c.shape(c.iterations));
  prepare_launch(c.launch, problem);
  launch_kernel(c.launch, problem, Census{}, stream_);
  stream_.synchronize();
  std::vector<double> times;
  const Event start;
  const Event end;
  std::optional<ToolWindow> window;
  if (mark_for_tools) window.emplace();
  for (int i = 0; i < launches; ++i) {
    timer_.set_l2(variant.l2_before);
    {
      const observe::CaseRange range(c);  // before the first event, since a tool takes time for it
      const cudaStream_t stream = enter(c.launch.share, stream_);
      start.record(stream);
      launch_on(c.launch, problem, Census{}, stream);
      end.record(stream);
      leave(c.launch.share, stream_);
    }
    stream_.synchronize();
    times.push_back(end.seconds_since(start));
  }
  return times;
}

}  // namespace occbench
