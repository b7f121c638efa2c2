// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/session.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/device/instruments.hpp"
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

/// What tools that wait for it may record: `nsys -c cudaProfilerApi`, `ncu --profile-from-start off`.
struct ToolWindow {
  ToolWindow() { check(cudaProfilerStart(), "cudaProfilerStart"); }
  ~ToolWindow() { cudaProfilerStop(); }
  ToolWindow(const ToolWindow&) = delete;
  ToolWindow& operator=(const ToolWindow&) = delete;
};

/// As long as it lives, references look at some outputs, spread over all: 1,024, of large grids one of each
/// block, 8,192 at most.
class Sampling {
 public:
  Sampling(Arena& arena, int grid_size) : arena_(arena) {
    arena.look_at(static_cast<std::size_t>(std::clamp(grid_size, 1024, 8192)));
  }
  ~Sampling() { arena_.look_at(0); }
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

 private:
  Arena& arena_;
};

/// Adds the time of its life to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

/// Why theory, API and census do not agree, or nothing. Clusters are placed in whole GPCs: there the API and
/// the census speak of the device, and an SM may hold fewer blocks than theory allows one alone.
std::string residency_doubt(const CaseResult& r) {
  const int theory = r.planned.occupancy.blocks_per_sm;
  if (*r.blocks_per_sm_api != theory || (!r.clusters_resident && *r.blocks_per_sm_resident != theory))
    return "theory says " + std::to_string(theory) + " blocks per SM, the driver's API " +
           std::to_string(*r.blocks_per_sm_api) + ", and " + std::to_string(*r.blocks_per_sm_resident) +
           " were counted";
  if (r.clusters_resident && *r.clusters_resident != r.planned.active_clusters)
    return "the driver's API says " + std::to_string(r.planned.active_clusters) + " clusters, and " +
           std::to_string(*r.clusters_resident) + " were counted";
  return "";
}

/// Sets the entry up, and the data of a kernel with arguments of its own: another case may have had either.
void make_ready(const Launch& launch, const Problem& problem) {
  configure(launch);
  if (problem.launch) problem.poison();
}

/// A case between its first launch and its row.
struct Session::Course {
  CaseResult result;
  Problem warm_up;  ///< a few passes: brings in code and addresses
  Problem timed;
  std::vector<SampleRow> samples;
  std::vector<double> own_cycles;  ///< by the kernel's own clock, one per visit
  int rounds = 0;                  ///< visits so far
  bool admitted = false;           ///< prepared and verified
  bool done = false;               ///< no more visits
  bool waits = false;  ///< timed, and its row has yet to get what is measured when all of the group is timed
};

Session::Session(const Device& device, const Precision& precision, std::uint64_t seed,
                 const CounterGroups& counters)
    : Runner(device, precision),
      random_(seed),
      arena_(stream_, sizes_for_free_memory()),
      timer_(device, stream_),
      counters_(counters) {
  timer_.warm_up();
  references_.empty_launch_s = timer_.empty_launch();
  const std::size_t bytes = std::min(arena_.input_bytes(), arena_.output_bytes());
  references_.memcpy_bytes_per_s =
      2 * static_cast<double>(bytes) / timer_.copy(arena_.output<float>(), arena_.input<float>(), bytes);
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

bool Session::admit(Course& course) {
  CaseResult& r = course.result;
  const Case& c = r.planned;
  const Variant& variant = *c.spec.variant;
  {
    const Stopwatch watch(spent_s_["preparing"]);
    course.timed = variant.prepare(arena_, c.shape(c.iterations));
    r.work = course.timed.work;
    configure(c.launch);
    r.blocks_per_sm_api = api_blocks_per_sm(c.launch);
    r.block_size_api = api_block_size(c.launch.entry, variant.dynamic_smem_bytes);
  }

  std::optional<Stopwatch> watch(std::in_place, spent_s_["a short launch against the reference"]);
  Problem small = variant.prepare(arena_, c.shape(variant.ordinary ? 1 : variant.check_iterations));
  small.poison();
  launch_kernel(c.launch, small, Census{}, stream_);
  stream_.synchronize();
  // The same code has been right at every output, in another shape: some outputs of each block will do.
  std::optional<Sampling> sampling;
  if (verified_.contains(&variant)) sampling.emplace(arena_, c.launch.grid_size);
  if (const auto wrong = small.mismatch()) {
    r.planned.status = Status::invalid;
    r.planned.reason = *wrong;
    return false;
  }

  sampling.reset();
  verified_.insert(&variant);
  watch.emplace(spent_s_["a launch as timed, checked"]);
  if (const auto wrong = verify_timed(course)) {
    r.planned.status = Status::invalid;
    r.planned.reason = *wrong;
    return false;
  }

  watch.emplace(spent_s_["census"]);
  const std::string doubt = variant.ordinary ? census_of_ordinary(course) : census_of_waves(course);
  if (!doubt.empty()) {
    r.planned.status = Status::invalid;
    r.planned.reason = doubt + ": no time stands for a residency in doubt";
    return false;
  }

  course.warm_up = std::move(small);
  return true;
}

std::string Session::census_of_waves(Course& course) {
  CaseResult& r = course.result;
  const Case& c = r.planned;
  const Variant& variant = *c.spec.variant;
  // Two waves, so that the SM and not the grid decides how many are resident. The scheduler may favour a
  // block so much that it ends before the last of the first wave has begun: a count that differs is taken
  // again with longer ones.
  Launch crowded = c.launch;
  crowded.grid_size = 2 * c.wave_blocks;
  std::string doubt;
  for (const double part : {0.25, 1.0}) {
    Shape crowd{crowded.grid_size, crowded.block_size, 0, crowded.cluster_size};
    crowd.iterations =
        std::max<std::int64_t>(2, passes_for(variant, c.attributes.local_bytes, device_,
                                             c.occupancy.warps_per_sm, part * precision_.launch_s));
    if (variant.max_iterations)
      crowd.iterations = std::min(crowd.iterations, variant.max_iterations(arena_, crowd));
    const auto seen =
        observe::residency(crowded, variant.prepare(arena_, crowd), device_.sm.sm_count, stream_);
    r.blocks_per_sm_resident = seen.blocks_per_sm;
    r.idle_sms = seen.idle_sms;
    if (c.active_clusters > 0) r.clusters_resident = seen.blocks / c.spec.cluster_size;
    doubt = residency_doubt(r);
    if (doubt.empty()) break;
  }
  return doubt;
}

std::string Session::census_of_ordinary(Course& course) {
  constexpr std::int64_t lasting_ns = 50'000;  // five times what the ramp of a launch takes
  CaseResult& r = course.result;
  const Case& c = r.planned;
  r.blocks_per_sm_resident = r.blocks_per_sm_api;  // until somebody has counted
  const std::string doubt = residency_doubt(r);
  r.blocks_per_sm_resident.reset();
  if (!doubt.empty() || !c.spec.variant->counts_blocks || c.launch.grid_size < 2 * c.wave_blocks)
    return doubt;
  const auto launch = [&](Census census) { launch_kernel(c.launch, course.timed, census, stream_); };
  const std::vector<CensusRecord> records = observe::census_of(c.launch.grid_size, launch, stream_);
  std::vector<double> stays;
  for (const CensusRecord& record : records) {
    if (record.sm == ~0U)
      return "a block of " + c.spec.variant->family +
             " left no record: its kernel wants a BlockCensus in its "
             "first line, or .counts_blocks = false";
    stays.push_back(static_cast<double>(record.end_ns - record.begin_ns));
  }
  const observe::Residency seen = observe::residency_of(records, device_.sm.sm_count);
  // Blocks that are over before their SM is full cannot tell how many more it would hold.
  if (seen.blocks_per_sm < c.occupancy.blocks_per_sm && statistics::quantile(stays, 0.1) < lasting_ns)
    return "";
  r.blocks_per_sm_resident = seen.blocks_per_sm;
  r.idle_sms = seen.idle_sms;
  return residency_doubt(r);
}

std::optional<std::string> Session::verify_timed(Course& course) {
  const Case& c = course.result.planned;
  const Problem& timed = course.timed;
  const auto launch = [&] {
    timed.poison();
    launch_kernel(c.launch, timed, Census{}, stream_);
    stream_.synchronize();
  };
  const auto of_passes = [&](const std::string& what) {
    if (c.spec.variant->ordinary) return what;
    return what + " (in a launch of " + std::to_string(c.iterations) + " passes, as it is timed)";
  };
  launch();
  if (timed.reference_reaches) {
    course.result.verified = "reference";
    const Sampling sampling(arena_, c.launch.grid_size);
    const auto wrong = timed.mismatch();
    return wrong ? std::optional(of_passes(*wrong)) : std::nullopt;
  }
  course.result.verified = "repeat";
  const instruments::Digest once = arena_.digest_output(timed.repeatable_bytes);
  if (once.poisoned > 0 && !timed.poison_alternates)
    return of_passes("wrong result: " + std::to_string(once.poisoned) + " words were not written");
  launch();
  if (arena_.digest_output(timed.repeatable_bytes) != once)
    return of_passes(timed.poison_alternates
                         ? "wrong result: two launches do not agree bit by bit, or leave words unwritten"
                         : "wrong result: two launches do not agree bit by bit");
  return std::nullopt;
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
  const std::vector<Sample> taken =
      timer_.take(launch, precision_.samples_per_visit, c.spec.variant->l2_before);
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
  ++course.rounds;
  if (taken_) taken_(std::span(course.samples).last(taken.size()));
}

void Session::take_up(std::vector<SampleRow> samples) {
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
  r.time_s = statistics::median_interval(times);
  r.time_p10_s = statistics::quantile(times, 0.1);
  r.time_p90_s = statistics::quantile(times, 0.9);
  r.reached_precision = rule().is_precise(times);
  r.sm_clock_hz = statistics::median(clocks);
  rate(r);
}

std::optional<SlotTime> Session::slot_time_of(const Course& course) {
  const Stopwatch watch(spent_s_["blocks' own times"]);
  constexpr int most_blocks = 1 << 20;  // 24 MiB of records
  constexpr double tolerance = 0.05;
  constexpr int tries = 3;  // for a clock that dips, or a kernel of two speeds
  const CaseResult& r = course.result;
  const Case& c = r.planned;
  if (!c.spec.variant->counts_blocks || c.launch.grid_size > most_blocks) return {};
  make_ready(c.launch, course.timed);
  launch_kernel(c.launch, course.warm_up, Census{}, stream_);
  for (int i = 0; i < tries; ++i) {
    double time_s = 0;
    const auto launch = [&](Census census) {
      const auto once = [&] { launch_kernel(c.launch, course.timed, census, stream_); };
      time_s = timer_.take(once, 1, c.spec.variant->l2_before).front().time_s;
    };
    auto records = observe::census_of(c.launch.grid_size, launch, stream_);
    if (std::abs(time_s - r.time_s.median) <= tolerance * r.time_s.median)
      return slot_time(std::move(records), device_.sm.sm_count, c.occupancy.blocks_per_sm,
                       c.occupancy.fraction, c.active_clusters > 0 ? Dispatch{} : dispatch_);
  }
  return {};
}

bool Session::finish_if_done(Course& course) const {
  if (!rule().looks_after(course.rounds)) return false;
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
    finished(course.result, course.samples);
  };
  const auto guarded = [&](Course& course, const auto& action) {
    const auto give_up = [&](const std::exception& e) {
      course.result.planned.status = Status::invalid;
      course.result.planned.reason = e.what();
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

  while (!stop) {
    std::vector<Course*> open;
    for (Course& course : courses)
      if (!course.done) open.push_back(&course);
    if (open.empty()) break;
    std::ranges::shuffle(open, random_);
    for (Course* course : open) {
      if (stop) break;
      guarded(*course, [&] {
        if (!course->admitted) {
          if (course->result.planned.status != Status::valid || !admit(*course)) return close(*course);
          course->admitted = true;
        }
        visit(*course);
        if (!finish_if_done(*course)) return;
        if (repetition == 0) course->result.slot_time = slot_time_of(*course);
        // Energy heats the device for the others, and counters slow their launches.
        if (counted || wants_energy(*course))
          course->done = course->waits = true;
        else
          close(*course);
      });
    }
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

Counts Session::count(const Course& course) {
  const Case& c = course.result.planned;
  const auto launch = [&] {
    launch_kernel(c.launch, course.timed, Census{}, stream_);
    stream_.synchronize();
  };
  try {
    make_ready(c.launch, course.timed);
    launch();  // where the L2 is to be warm, this warms it
    return counters_.count(
        [&] {
          timer_.set_l2(c.spec.variant->l2_before);
          stream_.synchronize();
        },
        launch);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;
    counters_.rest();
    return {.status = std::string("its launch failed: ") + e.what()};  // the case's time stands all the same
  }
}

std::optional<Energy> Session::energy_of(const Course& course, const std::atomic<bool>& stop) {
  constexpr double warm_up_s = 0.15;  // the board's power follows a load with some delay
  constexpr double window_s = 0.5;
  constexpr double queued_s = 40e-3;  // work in the queue: the device never waits while the counter is read
  constexpr double poll_s = 5e-3;     // the counter moves less often
  const nvml::EnergyCounter counter(device_.uuid);
  std::optional<double> last_j = counter.joules();
  if (!last_j) return {};
  const Case& c = course.result.planned;
  make_ready(c.launch, course.timed);
  const auto ahead =
      static_cast<std::size_t>(std::clamp(queued_s / course.result.time_s.median, 4.0, 1000.0));
  std::vector<Event> ends(ahead);  // of the launches in the queue, in turn
  std::uint64_t launched = 0;
  std::uint64_t ended = 0;
  const auto refill = [&] {
    while (ended < launched && ends[ended % ahead].is_over()) ++ended;
    for (; launched < ended + ahead; ++launched) {
      launch_kernel(c.launch, course.timed, Census{}, stream_);
      ends[launched % ahead].record(stream_);
    }
  };
  /// The counter right after one of its steps, when that was, and how many launches had ended.
  struct Reading {
    double energy_j, at_s;
    std::uint64_t ended;
  };
  std::optional<Reading> first;
  std::optional<Energy> energy;
  const auto begin = std::chrono::steady_clock::now();
  for (double now = 0; now < 3 * (warm_up_s + window_s) && !energy && !stop;) {
    refill();
    std::this_thread::sleep_for(std::chrono::duration<double>(poll_s));
    const std::optional<double> energy_j = counter.joules();
    refill();
    now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (now < warm_up_s || !energy_j || energy_j == last_j) continue;
    last_j = energy_j;
    const Reading reading{*energy_j, now, ended};
    if (!first) {
      first = reading;
    } else if (now - first->at_s >= window_s) {
      const double joules = reading.energy_j - first->energy_j;
      energy =
          Energy{joules / (now - first->at_s), joules / static_cast<double>(reading.ended - first->ended)};
    }
  }
  stream_.synchronize();
  return energy;  // nothing when the counter stood still
}

std::vector<double> Session::launch_only(const Case& c, int launches, bool mark_for_tools) {
  const Variant& variant = *c.spec.variant;
  if (!variant.ordinary) {
    configure(c.launch);
    launch_kernel(c.launch, variant.prepare(arena_, c.shape(variant.check_iterations)), Census{}, stream_);
  }
  const Problem problem = variant.prepare(arena_, c.shape(c.iterations));
  make_ready(c.launch, problem);
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
      const observe::CaseRange range(c);  // begun before the first event: a tool takes its time over it
      start.record(stream_);
      launch_kernel(c.launch, problem, Census{}, stream_);
      end.record(stream_);
    }
    stream_.synchronize();
    times.push_back(end.seconds_since(start));
  }
  return times;
}

}  // namespace occbench
