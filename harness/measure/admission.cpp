// SPDX-License-Identifier: Apache-2.0
// What a case must show before it is timed: right results, and the residency that theory says.
#include <algorithm>
#include <utility>

#include "harness/measure/course.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

using namespace std::chrono_literals;

namespace {

// A longer grid is read at some outputs, as timed, when all of its first waves were right.
constexpr int waves_read_whole = 4;

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

}  // namespace

void Session::found_wrong(Course& course, const std::string& what) {
  course.result.planned.status = Status::invalid;
  course.result.planned.reason = what;
  course.samples.clear();  // those that an earlier process took
}

bool Session::begin_check(Course& course, const Problem& problem) {
  // What is not this house's may not be called on another thread.
  if (course.result.planned.spec.variant->user_kernel ||
      !Checks::takes(arena_.poisoned_bytes(), course.is_sampled))
    return false;
  watch_(nullptr);  // it may wait for others' references
  try {
    course.check = checks_.begin(problem.mismatch);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;  // no memory for a copy: then it is read where it lies
  }
  watch_(&course.result.planned);
  if (course.check.valid() && !course.is_sampled) awaited_.insert(course.result.planned.spec.variant);
  return course.check.valid();
}

std::optional<std::string> Session::answer_of(Course& course) {
  const Stopwatch stopwatch(spent_s_["waiting for references"]);
  std::optional<std::string> wrong;
  try {
    wrong = course.check.get();
  } catch (const std::exception& e) {  // no host memory for it, say: nobody knows whether it is right
    wrong = e.what();
  }
  if (course.is_sampled) return wrong;
  const Variant* const variant = course.result.planned.spec.variant;
  awaited_.erase(variant);
  if (wrong) wrong_.insert(variant);
  return wrong;
}

bool Session::may_go_on(const Course& course, bool waits) const {
  if (course.is_sampled && awaited_.contains(course.result.planned.spec.variant)) return false;
  return waits || !course.check.valid() || course.check.wait_for(0s) == std::future_status::ready;
}

bool Session::right(Course& course) {
  const Variant* const variant = course.result.planned.spec.variant;
  if (course.check.valid()) {
    watch_(nullptr);  // the host's time, and perhaps another case's
    const auto wrong = answer_of(course);
    watch_(&course.result.planned);
    if (wrong) found_wrong(course, *wrong);
  } else if (course.is_sampled && wrong_.contains(variant)) {
    // Some of its outputs were right, since all of another case's were about to be looked at.
    found_wrong(course, "wrong result in another case of " + variant->family + "." + variant->name);
  }
  return course.result.planned.status == Status::valid;
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
  Shape shape = c.shape(variant.user_kernel ? 1 : variant.check_iterations);
  course.warm_up = variant.prepare(arena_, shape);
  Launch launch = c.launch;
  std::optional<Problem> few_waves;
  if (const int few = waves_read_whole * c.wave_blocks;
      course.timed.reference_reaches && !variant.user_kernel && few < launch.grid_size) {
    shape.grid_size = launch.grid_size = few;
    few_waves = variant.prepare(arena_, shape);
  }
  const Problem& small = few_waves ? *few_waves : course.warm_up;
  small.poison();
  launch_kernel(launch, small, Census{}, stream_);
  stream_.synchronize();
  // The same code is right at every output, in another shape: some outputs of each block will do.
  std::optional<Sampling> sampling;
  course.is_sampled = verified_.contains(&variant);
  if (course.is_sampled) sampling.emplace(arena_, launch.grid_size);
  if (!begin_check(course, small))
    if (const auto wrong = small.mismatch()) {
      found_wrong(course, *wrong);
      return false;
    }
  verified_.insert(&variant);

  sampling.reset();
  watch.emplace(spent_s_["a launch as timed, checked"]);
  if (const auto wrong = verify_timed(course)) {
    found_wrong(course, *wrong);
    return false;
  }

  watch.emplace(spent_s_["census"]);
  const std::string doubt = variant.user_kernel ? census_of_user_kernel(course) : census_of_waves(course);
  if (!doubt.empty()) {
    r.planned.status = Status::invalid;
    r.planned.reason = doubt + ": no time stands for a residency in doubt";
    return false;
  }

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
        std::max<std::int64_t>(2, iterations_for(variant, c.attributes.local_bytes, device_,
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

std::string Session::census_of_user_kernel(Course& course) {
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

std::string Session::of_iterations(const Course& course, const std::string& what) {
  const Case& c = course.result.planned;
  if (c.spec.variant->user_kernel) return what;
  return what + " (in a launch of " + std::to_string(c.iterations) + " iterations, as it is timed)";
}

std::optional<std::string> Session::verify_timed(Course& course) {
  const Case& c = course.result.planned;
  const Problem& timed = course.timed;
  const auto launch = [&] {
    timed.poison();
    launch_kernel(c.launch, timed, Census{}, stream_);
    stream_.synchronize();
  };
  launch();
  if (timed.reference_reaches) {
    course.result.verified = "reference";
    const Sampling sampling(arena_, c.launch.grid_size);
    const auto wrong = timed.mismatch();
    return wrong ? std::optional(of_iterations(course, *wrong)) : std::nullopt;
  }
  course.result.verified = "repeat";
  course.to_repeat = arena_.digest_output(timed.repeatable_bytes);
  if (course.to_repeat->poisoned > 0 && !timed.poison_alternates)
    return of_iterations(
        course, "wrong result: " + std::to_string(course.to_repeat->poisoned) + " words were not written");
  // Else the first launch to be timed is the second: a poison would stay in a warm L2, and two patterns must
  // follow each other.
  if (!timed.poison_alternates && c.spec.variant->l2_before != L2::warm) return std::nullopt;
  launch();
  return not_repeated(course);
}

std::optional<std::string> Session::not_repeated(Course& course) {
  const Problem& timed = course.timed;
  const auto once = std::exchange(course.to_repeat, std::nullopt);
  if (arena_.digest_output(timed.repeatable_bytes) == once) return std::nullopt;
  return of_iterations(course,
                       timed.poison_alternates
                           ? "wrong result: two launches do not agree bit by bit, or leave words unwritten"
                           : "wrong result: two launches do not agree bit by bit");
}

}  // namespace occbench
