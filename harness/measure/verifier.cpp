// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/verifier.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "harness/measure/gpcs.hpp"
#include "harness/measure/observe.hpp"

namespace occbench {

using namespace std::chrono_literals;

namespace {

// Longer grids are checked in all outputs of the first waves, and in some of the whole grid.
constexpr int fully_checked_waves = 4;

/// During its lifetime, references check only a spread of outputs: 1,024, or one per block, at most 8,192.
class SpotCheck {
 public:
  SpotCheck(Arena& arena, int grid_size) : arena_(arena) {
    arena.limit_checked_samples(static_cast<std::size_t>(std::clamp(grid_size, 1024, 8192)));
  }
  ~SpotCheck() { arena_.limit_checked_samples(0); }
  SpotCheck(const SpotCheck&) = delete;
  SpotCheck& operator=(const SpotCheck&) = delete;

 private:
  Arena& arena_;
};

/// Why theory, API and census differ, or "". A cluster lies within one GPC: for clusters the API and the
/// census count the whole device, and an SM may hold fewer blocks than without them.
std::string residency_mismatch(const CaseResult& r) {
  const int theory = r.planned.occupancy.blocks_per_sm;
  if (*r.blocks_per_sm_api != theory || (!r.clusters_resident && *r.blocks_per_sm_resident != theory))
    return "residency mismatch: theory " + std::to_string(theory) + " blocks/SM, driver API " +
           std::to_string(*r.blocks_per_sm_api) + ", census " + std::to_string(*r.blocks_per_sm_resident);
  if (r.planned.launch.share != nullptr && *r.idle_sms != 0)
    return "residency mismatch: confined to " + std::to_string(r.planned.sm_count) + " SMs, census " +
           std::to_string(r.planned.sm_count - *r.idle_sms);
  if (r.clusters_resident && *r.clusters_resident != r.planned.active_clusters)
    return "residency mismatch: driver API " + std::to_string(r.planned.active_clusters) +
           " clusters, census " + std::to_string(*r.clusters_resident);
  return "";
}

/// Adds the launch's length to the message `what`.
std::string in_timed_launch(const Case& c, const std::string& what) {
  if (c.spec.variant->user_kernel) return what;
  return what + " (in a launch of " + std::to_string(c.iterations) + " iterations, as timed)";
}

}  // namespace

Verifier::Verifier(Arena& arena, const Stream& stream, const Device& device, const Precision& precision,
                   const Runner::OnCase& on_case, TimeSpent& time_spent)
    : arena_(arena),
      stream_(stream),
      device_(device),
      precision_(precision),
      on_case_(on_case),
      time_spent_(time_spent),
      checks_(arena) {}

bool Verifier::admit(CaseProgress& progress) {
  prepare(progress);
  if (const auto wrong = check_short_launch(progress)) {
    reject(progress, *wrong);
    return false;
  }
  verified_.insert(progress.result.planned.spec.variant);
  if (const auto wrong = check_timed_launch(progress)) {
    reject(progress, *wrong);
    return false;
  }
  const bool user_kernel = progress.result.planned.spec.variant->user_kernel;
  const std::string mismatch = user_kernel ? census_of_user_kernel(progress) : census_of_waves(progress);
  if (!mismatch.empty()) reject(progress, "not timed: " + mismatch);
  return mismatch.empty();
}

bool Verifier::can_proceed(const CaseProgress& progress, bool may_wait) const {
  if (progress.is_spot_checked && awaited_.contains(progress.result.planned.spec.variant)) return false;
  return may_wait || !progress.reference.valid() ||
         progress.reference.wait_for(0s) == std::future_status::ready;
}

bool Verifier::passes_check(CaseProgress& progress) {
  const Variant* const variant = progress.result.planned.spec.variant;
  if (progress.reference.valid()) {
    on_case_(nullptr);  // host time, perhaps of another case
    const auto wrong = await_reference(progress);
    on_case_(&progress.result.planned);
    if (wrong) reject(progress, *wrong);
  } else if (progress.is_spot_checked && wrong_.contains(variant)) {
    reject(progress, "wrong result in another case of " + variant->family + "." + variant->name);
  }
  return progress.result.planned.status == Status::valid;
}

void Verifier::finish_check(CaseProgress& progress) {
  if (progress.reference.valid()) static_cast<void>(await_reference(progress));
}

std::optional<std::string> Verifier::repeat_mismatch(CaseProgress& progress) {
  const Problem& timed = progress.timed;
  const auto expected = std::exchange(progress.expected_digest, std::nullopt);
  if (arena_.digest_output(timed.repeatable_bytes) == expected) return std::nullopt;
  return in_timed_launch(progress.result.planned,
                         timed.poison_alternates
                             ? "wrong result: two launches do not agree bit by bit, or leave words unwritten"
                             : "wrong result: two launches do not agree bit by bit");
}

void Verifier::reject(CaseProgress& progress, const std::string& reason) {
  progress.result.planned.status = Status::invalid;
  progress.result.planned.reason = reason;
  progress.samples.clear();
}

void Verifier::prepare(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["preparing"]);
  CaseResult& r = progress.result;
  const Case& c = r.planned;
  const Variant& variant = *c.spec.variant;
  progress.timed = variant.prepare(arena_, c.shape(c.iterations));
  r.work = progress.timed.work;
  configure(c.launch);
  r.blocks_per_sm_api = api_blocks_per_sm(c.launch);
  r.block_size_api = api_block_size(c.launch.entry, variant.dynamic_smem_bytes);
}

std::optional<std::string> Verifier::check_short_launch(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["short launch against the reference"]);
  const Case& c = progress.result.planned;
  const Variant& variant = *c.spec.variant;
  Shape shape = c.shape(variant.user_kernel ? 1 : variant.check_iterations);
  progress.warm_up = variant.prepare(arena_, shape);
  Launch launch = c.launch;
  std::optional<Problem> few_waves;
  if (const int blocks = fully_checked_waves * c.wave_blocks;
      progress.timed.reference_covers_timed && !variant.user_kernel && blocks < launch.grid_size) {
    shape.grid_size = launch.grid_size = blocks;
    few_waves = variant.prepare(arena_, shape);
  }
  const Problem& problem = few_waves ? *few_waves : progress.warm_up;
  problem.poison();
  launch_kernel(launch, problem, Census{}, stream_);
  stream_.synchronize();
  // The same code was checked at every output of another shape.
  std::optional<SpotCheck> spot_check;
  progress.is_spot_checked = verified_.contains(&variant);
  if (progress.is_spot_checked) spot_check.emplace(arena_, launch.grid_size);
  return start_reference(progress, problem) ? std::nullopt : problem.mismatch();
}

bool Verifier::start_reference(CaseProgress& progress, const Problem& problem) {
  const Case& c = progress.result.planned;
  // A user's code may not be safe to call on another thread.
  if (c.spec.variant->user_kernel || !Checks::can_copy(arena_.poisoned_bytes(), progress.is_spot_checked))
    return false;
  on_case_(nullptr);  // it may wait for other cases' references
  try {
    progress.reference = checks_.begin(problem.mismatch);
  } catch (const CudaError& e) {
    if (e.context_lost()) throw;  // no memory for a copy: checked in place
  }
  on_case_(&c);
  if (progress.reference.valid() && !progress.is_spot_checked) awaited_.insert(c.spec.variant);
  return progress.reference.valid();
}

std::optional<std::string> Verifier::await_reference(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["waiting for references"]);
  std::optional<std::string> wrong;
  try {
    wrong = progress.reference.get();
  } catch (const std::exception& e) {  // such as no host memory: the outputs are unchecked
    wrong = e.what();
  }
  if (progress.is_spot_checked) return wrong;
  const Variant* const variant = progress.result.planned.spec.variant;
  awaited_.erase(variant);
  if (wrong) wrong_.insert(variant);
  return wrong;
}

std::optional<std::string> Verifier::check_timed_launch(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["launch as timed, checked"]);
  const Case& c = progress.result.planned;
  const Problem& timed = progress.timed;
  const auto launch = [&] {
    timed.poison();
    launch_kernel(c.launch, timed, Census{}, stream_);
    stream_.synchronize();
  };
  launch();
  if (timed.reference_covers_timed) {
    progress.result.verified = "reference";
    const SpotCheck spot_check(arena_, c.launch.grid_size);
    const auto wrong = timed.mismatch();
    return wrong ? std::optional(in_timed_launch(c, *wrong)) : std::nullopt;
  }
  progress.result.verified = "repeat";
  progress.expected_digest = arena_.digest_output(timed.repeatable_bytes);
  if (const auto unwritten = progress.expected_digest->poisoned; unwritten > 0 && !timed.poison_alternates)
    return in_timed_launch(c, "wrong result: " + std::to_string(unwritten) + " words were not written");
  // Otherwise the first timed launch is the second run: its poison would stay in a warm L2, and alternating
  // patterns must follow each other.
  if (!timed.poison_alternates && c.spec.variant->l2_before != L2::warm) return std::nullopt;
  launch();
  return repeat_mismatch(progress);
}

std::string Verifier::census_of_waves(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["census"]);
  CaseResult& r = progress.result;
  const Case& c = r.planned;
  const Variant& variant = *c.spec.variant;
  // Two waves, so that the SM and not the grid limits residency. The scheduler may favour a block so much
  // that it ends before the last one of the first wave begins: then the census repeats with longer blocks.
  Launch two_waves = c.launch;
  two_waves.grid_size = 2 * c.wave_blocks;
  std::string mismatch;
  for (const double part : {0.25, 1.0}) {
    Shape shape{two_waves.grid_size, two_waves.block_size, 0, two_waves.cluster_size};
    shape.iterations =
        std::max<std::int64_t>(2, iterations_for(variant, c.attributes.local_bytes, device_,
                                                 c.occupancy.warps_per_sm, part * precision_.launch_s));
    if (variant.max_iterations)
      shape.iterations = std::min(shape.iterations, variant.max_iterations(arena_, shape));
    const Problem problem = variant.prepare(arena_, shape);
    const auto launch = [&](Census census) { launch_kernel(two_waves, problem, census, stream_); };
    const std::vector<CensusRecord> records = observe::census_of(two_waves.grid_size, launch, stream_);
    const observe::Residency census = observe::residency_of(records, device_.sm.sm_count);
    r.blocks_per_sm_resident = census.blocks_per_sm;
    r.idle_sms = census.idle_sms - (device_.sm.sm_count - c.sm_count);
    if (c.spec.sm_count > 0) r.sms_by_gpc = sms_by_gpc(records, gpcs());
    if (c.active_clusters > 0) r.clusters_resident = census.blocks / c.spec.cluster_size;
    mismatch = residency_mismatch(r);
    if (mismatch.empty()) break;
  }
  return mismatch;
}

const std::vector<int>& Verifier::gpcs() {
  if (!gpc_of_sms_) gpc_of_sms_ = gpc_of_sms(device_, stream_);
  return *gpc_of_sms_;
}

std::string Verifier::census_of_user_kernel(CaseProgress& progress) {
  const ScopedTimer timer(time_spent_["census"]);
  constexpr double min_block_ns = 50'000;  // five launch ramps
  CaseResult& r = progress.result;
  const Case& c = r.planned;
  r.blocks_per_sm_resident = r.blocks_per_sm_api;  // for residency_mismatch, until the census
  const std::string mismatch = residency_mismatch(r);
  r.blocks_per_sm_resident.reset();
  if (!mismatch.empty() || !c.spec.variant->counts_blocks || c.launch.grid_size < 2 * c.wave_blocks)
    return mismatch;
  const auto launch = [&](Census census) { launch_kernel(c.launch, progress.timed, census, stream_); };
  const std::vector<CensusRecord> records = observe::census_of(c.launch.grid_size, launch, stream_);
  std::vector<double> block_ns;
  for (const CensusRecord& record : records) {
    if (record.sm == ~0U)
      return "a block of " + c.spec.variant->family +
             " wrote no census record: its kernel needs a BlockCensus in its first line, or "
             ".counts_blocks = false";
    block_ns.push_back(static_cast<double>(record.end_ns - record.begin_ns));
  }
  const observe::Residency census = observe::residency_of(records, device_.sm.sm_count);
  // Blocks that end before their SM is full do not show how many it can hold.
  if (census.blocks_per_sm < c.occupancy.blocks_per_sm && statistics::quantile(block_ns, 0.1) < min_block_ns)
    return "";
  r.blocks_per_sm_resident = census.blocks_per_sm;
  r.idle_sms = census.idle_sms;
  return residency_mismatch(r);
}

}  // namespace occbench
