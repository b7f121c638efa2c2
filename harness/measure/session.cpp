// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/session.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "harness/device/instruments.hpp"
#include "harness/measure/course.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

namespace {

ArenaSizes sizes_for_free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  const ArenaSizes sizes = arena_sizes(free);
  if (std::min(sizes.input_bytes, sizes.output_bytes) < (std::size_t{64} << 20))
    throw UserError(Exit::no_device, "the device has only " + std::to_string(free >> 20) + " MiB of " +
                                         std::to_string(total >> 20) +
                                         " MiB free; end what else uses it, or choose another with --device");
  return sizes;
}

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

Session::Session(const Device& device, const Precision& precision, std::uint64_t seed,
                 const CounterGroups& counters)
    : Runner(device, precision),
      random_(seed),
      arena_(stream_, sizes_for_free_memory()),
      checks_(arena_),
      timer_(device, stream_),
      counters_(counters),
      probe_(arena_, stream_, device),
      other_processes_(device.uuid) {
  references_.sm_clock_hz = timer_.warm_up();
  references_.empty_launch_s = timer_.empty_launch();
  const std::size_t bytes = std::min(arena_.input_bytes(), arena_.output_bytes());
  references_.memcpy_bytes_per_s =
      2 * static_cast<double>(bytes) / timer_.copy(arena_.output<float>(), arena_.input<float>(), bytes);
  references_.timer_step_s = timer_.step_s();
  dispatch_ = watch_dispatch();
}

Dispatch Session::watch_dispatch() {
  Launch launch{.entry = instruments::stay_entry(), .block_size = 128};
  configure(launch);
  const int places = api_blocks_per_sm(launch);
  launch.grid_size = 4 * places * device_.sm.sm_count;
  Problem problem;
  problem.set_parameters(std::uint64_t{20'000});
  const auto launched = [&](Census census) { launch_kernel(launch, problem, census, stream_); };
  static_cast<void>(observe::census_of(launch.grid_size, launched, stream_));  // brings in the code
  return dispatch_of(observe::census_of(launch.grid_size, launched, stream_), places);
}

void Session::visit(Course& course) {
  const Stopwatch watch(spent_s_["timing"]);
  const Case& c = course.result.planned;
  make_ready(c.launch, course.timed);
  launch_kernel(c.launch, course.warm_up, Census{}, stream_);
  const auto launch = [&] {
    const observe::CaseRange range(c);  // around nothing else: delay, stamps and flush are not the case's
    launch_kernel(c.launch, course.timed, Census{}, stream_);
  };
  std::vector<Sample> taken;
  const auto take = [&](int count) {
    std::ranges::copy(timer_.take(launch, count, c.spec.variant->l2_before), std::back_inserter(taken));
  };
  if (course.to_repeat) {
    course.timed.poison();
    take(1);
    if (const auto wrong = not_repeated(course)) return found_wrong(course, *wrong);
  }
  if (const int more = precision_.samples_per_visit - static_cast<int>(taken.size()); more > 0) take(more);
  if (course.timed.own_cycles_per_pass) course.own_cycles.push_back(course.timed.own_cycles_per_pass());
  std::vector<double> clocks;
  for (const SampleRow& s : course.samples)
    if (!s.discarded) clocks.push_back(s.sm_clock_hz);
  const double usual_hz = clocks.size() < 3 ? 0 : statistics::median(clocks);
  for (const Sample& s : taken)
    course.samples.push_back({.case_id = c.id,
                              .repetition = course.result.repetition,
                              .round = course.rounds,
                              .sample = static_cast<int>(course.samples.size()),
                              .time_s = s.time_s,
                              .sm_clock_hz = s.sm_clock_hz,
                              .discarded = s.sm_clock_hz < (1 - precision_.clock_tolerance) * usual_hz,
                              .started_unix_s = s.started_unix_s});
  for (std::size_t i = course.samples.size() - taken.size(); i < course.samples.size(); ++i)
    undecided_.push_back({&course, i, spell_});
  course.undecided += static_cast<int>(taken.size());
  ++course.rounds;
}

std::vector<Session::Course*> Session::end_spell(bool last) {
  const Stopwatch stopwatch(spent_s_["looking whether the GPU is quiet"]);
  quiet_ = {probe_.is_quiet(last ? 6 : 2), quiet_[0], quiet_[1]};
  other_processes_.look();
  std::vector<Course*> decided;
  const auto keep =
      std::ranges::find_if(undecided_, [&](const Undecided& each) { return !last && each.spell == spell_; });
  for (auto each = undecided_.begin(); each != keep; ++each) {
    SampleRow& sample = each->course->samples[each->sample];
    const bool clean = quiet_[0] && quiet_[1] && (each->spell == spell_ || quiet_[2]);
    ++taken_samples_;
    disturbed_samples_ += clean ? 0 : 1;
    sample.discarded = sample.discarded || !clean;
    if (taken_) taken_(std::span(&sample, 1));
    if (--each->course->undecided == 0) decided.push_back(each->course);
  }
  undecided_.erase(undecided_.begin(), keep);
  ++spell_;
  spell_began_ = std::chrono::steady_clock::now();
  return decided;
}

std::optional<Disturbance> Session::disturbance() const {
  std::string words;
  char line[160];
  const auto add = [&](const std::string& more) {
    if (!more.empty()) words += (words.empty() ? "" : "; ") + more;
  };
  if (disturbed_samples_ > 0) {
    std::snprintf(line, sizeof line,
                  "something else used the GPU in %zu of %zu looks: %.3g %% of all launches were discarded",
                  probe_.disturbed(), probe_.looks(),
                  100.0 * static_cast<double>(disturbed_samples_) / static_cast<double>(taken_samples_));
    add(line);
  }
  add(other_processes_.seen());  // before the signs of it: a terminal shows the beginning
  const bool from_the_start = !references_.copies_alone(device_);
  if (from_the_start) {
    std::snprintf(line, sizeof line,
                  "cudaMemcpy comes to %.0f %% of the DRAM's peak at the start: was it alone?",
                  100 * references_.memcpy_bytes_per_s / device_.dram_bytes_per_s);
    add(line);
  }
  if (references_.sm_clock_hz < 0.97 * device_.sm_clock_max_hz) {
    std::snprintf(line, sizeof line,
                  "the SM clock stood at %.0f MHz of %.0f at the start, without load: did someone lock it?",
                  references_.sm_clock_hz * 1e-6, device_.sm_clock_max_hz * 1e-6);
    add(line);
  }
  return Disturbance{.launches = taken_samples_,
                     .discarded = disturbed_samples_,
                     .looks = probe_.looks(),
                     .disturbed_looks = probe_.disturbed(),
                     .from_the_start = from_the_start,
                     .said = words};
}

void Session::resume_from(std::vector<SampleRow> samples) {
  for (SampleRow& s : samples) earlier_[s.case_id].push_back(std::move(s));
}

std::vector<std::pair<std::string, double>> Session::spent() const {
  std::vector<std::pair<std::string, double>> all(spent_s_.begin(), spent_s_.end());
  std::ranges::sort(all, std::ranges::greater{}, [](const auto& each) { return each.second; });
  return all;
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
  r.time_s = statistics::median_interval(times).of_steps(references_.timer_step_s);
  r.time_p10_s = statistics::quantile(times, 0.1);
  r.time_p90_s = statistics::quantile(times, 0.9);
  r.speeds = statistics::two_speeds(times);
  r.reached_precision = rule().is_precise(times);
  r.sm_clock_hz = statistics::median(clocks);
  rate(r);
}

bool Session::finish_if_done(Course& course) const {
  const auto kept = std::ranges::count(course.samples, false, &SampleRow::discarded);
  const int visits = static_cast<int>(kept) / precision_.samples_per_visit;
  if (!rule().looks_after(visits) && course.rounds < precision_.most_rounds) return false;
  summarise(course.result, course.samples);
  if (!course.own_cycles.empty()) course.result.own_cycles_per_pass = statistics::median(course.own_cycles);
  return course.result.reached_precision || course.rounds >= precision_.most_rounds;
}

void Session::measure(std::span<const Case> group, int repetition, const Finished& finished,
                      const std::atomic<bool>& stop) {
  std::vector<Course> courses;
  for (const Case& c : group) {
    courses.push_back({.result = {.planned = c, .repetition = repetition}});
    if (const auto found = earlier_.find(c.id); repetition == 0 && found != earlier_.end()) {
      courses.back().samples = std::move(found->second);
      courses.back().rounds = courses.back().samples.back().round + 1;
      earlier_.erase(found);
    }
  }

  // Once per case: after that its row stands.
  const bool counted = counters_.wanted() && repetition == 0;
  const auto wants_energy = [&](const Course& course) {
    return course.result.planned.spec.energy && repetition == 0;
  };
  const auto close = [&](Course& course) {
    course.done = true;
    course.waits = false;
    watch_(nullptr);                                                 // its row is not the device's to write
    if (course.check.valid()) static_cast<void>(answer_of(course));  // others may wait for it
    finished(course.result, course.samples);
  };
  const auto guarded = [&](Course& course, const auto& action) {
    const auto give_up = [&](const std::exception& e) {
      course.result.planned.status = Status::invalid;
      course.result.planned.reason = e.what();
      std::erase_if(undecided_, [&](const Undecided& each) { return each.course == &course; });
      course.undecided = 0;
      course.samples.clear();
      course.result.samples = course.result.discarded = 0;
      course.result.slot_time.reset();  // of a launch that no time vouches for
      course.result.counts = {};
      close(course);
    };
    struct Turn {
      const Watch& watch;
      ~Turn() { watch(nullptr); }
    } turn{watch_};
    watch_(&course.result.planned);
    try {
      action();
    } catch (const UserError&) {
      throw;  // not the case's fault
    } catch (const CudaError& e) {
      give_up(e);
      if (e.context_lost())
        throw ContextLost("case " + course.result.planned.id + " cost the CUDA context: " + e.what() +
                          "; its row says so");
    } catch (const std::exception& e) {  // no host memory for its reference, say
      give_up(e);
    }
  };

  const auto settle = [&](Course& course) {
    if (!course.ready || course.done) return;
    guarded(course, [&] {
      course.ready = finish_if_done(course);  // unless some of its samples do not count
      if (!course.ready) return;
      CaseResult& r = course.result;
      if (r.samples < statistics::least_samples(0.95) && r.discarded > 0) {
        r.planned.status = Status::noisy;
        r.planned.reason = "of " + std::to_string(r.samples + r.discarded) + " launches only " +
                           std::to_string(r.samples) + " had the GPU to themselves, at a steady clock";
        course.samples.clear();
        r.samples = r.discarded = 0;
        return close(course);
      }
      if (repetition == 0) r.slot_time = slot_time_of(course);
      // Energy heats the device for the others, and counters slow their launches.
      if (counted || wants_energy(course))
        course.done = course.waits = true;
      else
        close(course);
    });
  };
  const auto end = [&](bool last) {
    for (Course* course : end_spell(last))
      if (!stop) settle(*course);
  };

  // Whether the course had its turn. One whose reference is still at work has none, unless it `waits` for it.
  const auto turn = [&](Course& course, bool waits) {
    if (course.done || course.ready || !may_go_on(course, waits)) return false;
    guarded(course, [&] {
      if (!course.admitted) {
        if (course.result.planned.status != Status::valid || !admit(course)) return close(course);
        course.admitted = true;
        return;
      }
      if (!right(course)) return close(course);
      visit(course);
      if (course.result.planned.status != Status::valid) return close(course);
      course.ready = finish_if_done(course);
    });
    return true;
  };
  // Cases that are admitted before one is visited: its reference on the host has had time.
  constexpr std::size_t behind = 64;

  spell_began_ = std::chrono::steady_clock::now();
  bool waits = false;
  while (true) {
    std::vector<Course*> open;
    for (Course& course : courses)
      if (!course.done && !course.ready) open.push_back(&course);
    if (open.empty() || stop) {
      if (undecided_.empty()) break;
      end(true);
      continue;
    }
    std::ranges::shuffle(open, random_);
    bool went = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (stop) break;
      const bool admits = !open[i]->admitted;
      went |= turn(*open[i], waits);
      if (admits && i >= behind) went |= turn(*open[i - behind], waits);
      if (seconds_since(spell_began_) >= InterferenceProbe::interval_s) end(false);
    }
    waits = !went;  // all that is left is at its references
  }
  if (counted) {
    for (Course& course : courses)
      if (course.waits && !stop) guarded(course, [&] { course.result.counts = count(course); });
    counters_.rest();
  }
  for (Course& course : courses) {
    if (!course.waits || (counted && course.result.counts.status == "off"))
      continue;  // stopped before its turn
    guarded(course, [&] {
      if (wants_energy(course)) {
        if (!stop) course.result.energy = energy_of(course, stop);
        if (stop && !course.result.energy) return;  // without a row, --resume measures it
      }
      close(course);
    });
  }
}

}  // namespace occbench
