// SPDX-License-Identifier: Apache-2.0
#include "harness/session.hpp"

#include <algorithm>

#include "harness/observe.hpp"

namespace occbench {

namespace {

constexpr std::size_t gibibyte = std::size_t{1} << 30;

/// Large enough for a millisecond of any GPU's DRAM, and no more than a share of what is free.
std::size_t share_of_free_memory(std::size_t most, std::size_t divisor) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  const std::size_t bytes = std::min(most, free / divisor) & ~std::size_t{0xFFFFF};
  if (bytes < (std::size_t{64} << 20))
    throw UserError(Exit::no_device, "the device has only " + std::to_string(free >> 20) + " MiB of " +
                                         std::to_string(total >> 20) +
                                         " MiB free; end what else uses it, or choose another with --device");
  return bytes;
}

}  // namespace

/// A case between its first launch and its row.
struct Session::Course {
  CaseResult result;
  Problem warm_up;  ///< a few passes: brings in code and addresses
  Problem timed;
  std::vector<SampleRow> samples;
  bool done = false;
};

Session::Session(const Device& device, const Precision& precision, std::uint64_t seed)
    : device_(device),
      precision_(precision),
      random_(seed),
      arena_(stream_, share_of_free_memory(5 * gibibyte, 5), share_of_free_memory(5 * gibibyte / 2, 8)),
      timer_(device, stream_) {
  timer_.warm_up();
  empty_launch_s_ = timer_.empty_launch();
  const std::size_t bytes = std::min(arena_.input_bytes(), arena_.output_bytes());
  memcpy_bytes_per_s_ =
      2 * static_cast<double>(bytes) / timer_.copy(arena_.output<float>(), arena_.input<float>(), bytes);
}

bool Session::admit(Course& course) {
  CaseResult& r = course.result;
  const Case& c = r.planned;
  const Variant& variant = *c.spec.variant;
  configure(c.launch);
  r.blocks_per_sm_api = api_blocks_per_sm(c.launch);

  Problem small = variant.prepare(arena_, c.shape(variant.check_iterations));
  small.poison();
  launch_kernel(c.launch, small, Census{}, stream_);
  stream_.synchronize();
  if (const auto wrong = small.mismatch()) {
    r.planned.status = Status::invalid;
    r.planned.reason = *wrong;
    return false;
  }

  // Twice the grid, so that the SM and not the grid decides how many are resident. The scheduler may favour a block so
  // much that it ends before the last of the first wave has begun: a count that differs is taken again with longer ones.
  const int theory = c.occupancy.blocks_per_sm;
  Launch crowded = c.launch;
  crowded.grid_size *= 2;
  for (const std::int64_t passes : {c.iterations / 4, c.iterations}) {
    Shape crowd{crowded.grid_size, crowded.block_size, std::max<std::int64_t>(2, passes)};
    if (variant.max_iterations)
      crowd.iterations = std::min(crowd.iterations, variant.max_iterations(arena_, crowd));
    r.blocks_per_sm_resident = observe::resident_blocks_per_sm(crowded, variant.prepare(arena_, crowd),
                                                               device_.sm.sm_count, stream_);
    if (*r.blocks_per_sm_resident == theory) break;
  }
  if (*r.blocks_per_sm_api != theory || *r.blocks_per_sm_resident != theory) {
    r.planned.status = Status::invalid;
    r.planned.reason = "theory says " + std::to_string(theory) + " blocks per SM, the driver's API " +
                       std::to_string(*r.blocks_per_sm_api) + ", and " +
                       std::to_string(*r.blocks_per_sm_resident) +
                       " were counted: no time stands for a residency in doubt";
    return false;
  }

  course.warm_up = std::move(small);
  course.timed = variant.prepare(arena_, c.shape(c.iterations));
  r.work = course.timed.work;
  return true;
}

void Session::visit(Course& course, int round) {
  const Case& c = course.result.planned;
  configure(c.launch);
  launch_kernel(c.launch, course.warm_up, Census{}, stream_);
  std::vector<Sample> taken;
  {
    const observe::CaseRange range(c.id);
    taken = timer_.take(c.launch, course.timed, precision_.samples_per_visit, c.spec.variant->l2_before);
  }
  for (const Sample& s : taken)
    course.samples.push_back({.case_id = c.id,
                              .repetition = course.result.repetition,
                              .round = round,
                              .sample = static_cast<int>(course.samples.size()),
                              .time_s = s.time_s,
                              .sm_clock_hz = s.sm_clock_hz,
                              .started_unix_s = s.started_unix_s});
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
  r.time_s = statistics::median_interval(times);
  r.reached_precision = times.size() >= statistics::least_samples(0.95) &&
                        r.time_s.relative_half_width() <= precision_.half_width;
  r.sm_clock_hz = statistics::median(clocks);
  const Variant& v = *r.planned.spec.variant;
  r.throughput = (v.ceiling == Ceiling::dram ? r.work.bytes : r.work.flop) / r.time_s.median;
  r.ceiling = v.ceiling == Ceiling::dram
                  ? device_.dram_bytes_per_s
                  : device_.peak_flop_per_s(
                        v.ceiling == Ceiling::fp32 ? device_.fp32_lanes_per_sm : device_.fp64_lanes_per_sm,
                        r.sm_clock_hz);
  r.per_cycle_per_sm = r.throughput / r.sm_clock_hz / device_.sm.sm_count;
}

bool Session::finish_if_done(Course& course, int round) const {
  if (round + 1 < precision_.least_rounds) return false;
  const double fastest_hz = std::ranges::max(course.samples, {}, &SampleRow::sm_clock_hz).sm_clock_hz;
  for (SampleRow& s : course.samples)
    s.discarded = s.sm_clock_hz < (1 - precision_.clock_tolerance) * fastest_hz;
  summarise(course.result, course.samples);
  if (!course.result.reached_precision && round + 1 < precision_.most_rounds) return false;
  return true;
}

void Session::measure(std::span<const Case> group, int repetition, const Finished& finished,
                      const std::atomic<bool>& stop) {
  std::vector<Course> courses;
  for (const Case& c : group) courses.push_back({.result = {.planned = c, .repetition = repetition}});

  const auto close = [&](Course& course) {
    course.done = true;
    finished(course.result, course.samples);
  };
  const auto guarded = [&](Course& course, const auto& action) {
    const auto give_up = [&](const std::exception& e) {
      course.result.planned.status = Status::invalid;
      course.result.planned.reason = e.what();
      course.samples.clear();
      course.result.samples = course.result.discarded = 0;
      close(course);
    };
    try {
      action();
    } catch (const UserError&) {
      throw;  // not the case's fault
    } catch (const CudaError& e) {
      give_up(e);
      if (e.context_lost())
        throw UserError(Exit::some_case_failed, "case " + course.result.planned.id +
                                                    " cost the CUDA context: " + e.what() +
                                                    "; its row says so, and --resume goes on with the rest");
    } catch (const std::exception& e) {  // no host memory for its reference, say
      give_up(e);
    }
  };

  for (Course& course : courses) {
    if (stop) return;
    guarded(course, [&] {
      if (course.result.planned.status != Status::valid || !admit(course)) close(course);
    });
  }
  for (int round = 0; round < precision_.most_rounds; ++round) {
    std::vector<Course*> open;
    for (Course& course : courses)
      if (!course.done) open.push_back(&course);
    std::ranges::shuffle(open, random_);
    for (Course* course : open) {
      if (stop) return;
      guarded(*course, [&] {
        visit(*course, round);
        if (finish_if_done(*course, round)) close(*course);
      });
    }
  }
}

std::vector<double> Session::launch_only(const Case& c, int launches) {
  const Problem problem = c.spec.variant->prepare(arena_, c.shape(c.iterations));
  configure(c.launch);
  launch_kernel(c.launch, problem, Census{}, stream_);
  stream_.synchronize();
  std::vector<double> times;
  const Event start;
  const Event end;
  const observe::CaseRange range(c.id);
  for (int i = 0; i < launches; ++i) {
    start.record(stream_);
    launch_kernel(c.launch, problem, Census{}, stream_);
    end.record(stream_);
    stream_.synchronize();
    times.push_back(end.seconds_since(start));
  }
  return times;
}

}  // namespace occbench
