// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/query.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/theory/hardware.hpp"

namespace occbench::commands {
namespace {

constexpr int usual_block = 256;
constexpr int largest_possible_block = 1024;
constexpr std::size_t static_smem_limit = 48 << 10;

/// The SM's instruction cache, of 16-byte instructions; as an H200 has it.
constexpr auto icache_bytes =
    static_cast<std::uint64_t>(16 * theory::fact("code_near_lines") * theory::fact("code_line"));

/// cudaFuncAttributes::maxThreadsPerBlock: what registers and `__launch_bounds__` allow.
int largest_block(const theory::SmLimits& sm, const binary::CompiledKernel& kernel) {
  const int bound =
      std::min(kernel.launch_bound.value_or(sm.max_threads_per_block), sm.max_threads_per_block);
  theory::Footprint f{.registers_per_thread = kernel.use.registers_per_thread.value_or(0)};
  for (f.block_size = bound; f.block_size > 0;
       f.block_size = (f.block_size - 1) / sm.warp_size * sm.warp_size)
    if (theory::occupancy(sm, f).is_launchable()) return f.block_size;
  return 0;
}

std::string change_text(std::int64_t delta, const std::string& what) {
  return with_thousands(std::abs(delta)) + " " + what + (std::abs(delta) == 1 || what == "B" ? "" : "s") +
         (delta < 0 ? " fewer" : " more");
}

bool has_requests(const binary::CompiledKernel& kernel) { return kernel.most_requested_registers > 0; }

/// What a block's warpgroups (4 warps) share by setmaxnreg: the registers of its launch. One that asks for
/// more than it has waits until others have given theirs.
struct RegisterPool {
  static constexpr int warpgroup_threads = 128, unit = 8;
  int groups = 0, least = 0, most = 0;  ///< registers per thread that setmaxnreg asks for
  int own = 0;                          ///< registers per thread of the launch

  RegisterPool(const binary::CompiledKernel& kernel, int block_size)
      : groups(block_size / warpgroup_threads),
        least(kernel.least_requested_registers),
        most(kernel.most_requested_registers),
        own((kernel.use.registers_per_thread.value_or(0) + unit - 1) / unit * unit) {}

  /// Warpgroups that get the most.
  [[nodiscard]] int served_groups() const {
    return most > least ? std::clamp(groups * (own - least) / (most - least), 0, groups) : groups;
  }
  [[nodiscard]] bool is_never_met() const { return groups > 0 && (own < least || served_groups() == 0); }
};

std::string pool_remark(const binary::CompiledKernel& kernel, int block_size) {
  const RegisterPool pool(kernel, block_size);
  const std::string most = std::to_string(pool.most), own = std::to_string(pool.own);
  std::string text =
      "moves registers between its warps (setmaxnreg " + std::to_string(pool.least) + " to " + most + ")";
  if (!kernel.takes_registers)
    return "releases registers (setmaxnreg.dec to " + std::to_string(pool.least) +
           "), and no warp takes them";
  if (block_size % RegisterPool::warpgroup_threads != 0)
    return text + ": it needs blocks of whole warpgroups (128 threads)";
  if (pool.is_never_met())
    return text + ": at " + own + " registers per thread, " + std::to_string(pool.groups) +
           " warpgroups never have " + most + " for one; it deadlocks";
  const int groups = pool.groups, served = pool.served_groups();
  const int needed = ((groups - served) * pool.least + served * pool.most + groups - 1) / groups;
  return text + ": " + own + " registers per thread serve " + std::to_string(served) + " of " +
         std::to_string(groups) + " warpgroups with " + most + "; launched with fewer than " +
         std::to_string((needed + RegisterPool::unit - 1) / RegisterPool::unit * RegisterPool::unit) +
         " they would wait forever";
}

/// Resident blocks of the size in `__launch_bounds__`, in a kernel that asks there for more.
std::optional<int> blocks_within_bound(const InspectedKernel& row) {
  const binary::CompiledKernel& kernel = *row.kernel;
  if (!kernel.launch_bound || !kernel.is_linked) return std::nullopt;
  theory::Query query = row.query;
  query.footprint.block_size = *kernel.launch_bound;
  const theory::Answer answer = theory::answer(row.device->facts.sm, query);
  const int blocks = answer.launches() ? answer.occupancy.blocks_per_sm : 0;
  return blocks < kernel.ptx_requests.blocks ? std::optional(blocks) : std::nullopt;
}

/// What limits a kernel with tensor memory, which no GPU measured: cuda_occupancy.h counts virtual resources,
/// and the hardware has 512 columns on an SM.
std::string tensor_remark(const binary::CompiledKernel& kernel, const theory::Occupancy& o) {
  constexpr int columns_per_sm = 512;
  std::string text = "by cuda_occupancy.h, " + with_thousands(kernel.virtual_resources) +
                     " virtual resources per block leave room for " +
                     count_of(o.virtual_resource_limit.value_or(0), "block");
  const int columns = kernel.tensor_columns.value_or(0);
  if (columns > 0 && columns_per_sm / columns != o.virtual_resource_limit)
    text += ", and an allocation of " + with_thousands(columns) + " of " + with_thousands(columns_per_sm) +
            " columns of tensor memory for at most " + with_thousands(columns_per_sm / columns);
  return text + "; not measured on a GPU";
}

/// The cliff with the smallest relative change of its dial. Static and dynamic shared memory count as one
/// resource.
std::optional<UsefulStep> nearest_cliff(const InspectedKernel& row,
                                        std::optional<theory::Cliff> theory::Cliffs::*side,
                                        bool may_change_block) {
  theory::Footprint f = row.query.footprint;
  f.dynamic_smem_bytes += std::exchange(f.static_smem_bytes, 0);
  const theory::SmLimits& sm = row.device->facts.sm;
  std::optional<UsefulStep> best;
  double least = 0;
  for (const Dial& dial : dials(sm, f)) {
    const auto& cliff = dial.cliffs.*side;
    const std::string_view name = dial.name;
    if (!cliff || (name == "block_size" && !may_change_block)) continue;
    // Fewer registers at the launch are fewer to move: warps that ask for more would wait forever.
    if (name == "registers_per_thread" && cliff->delta < 0 && row.kernel->takes_registers) continue;
    const double part = std::abs(static_cast<double>(cliff->delta)) /
                        static_cast<double>(std::max<std::int64_t>(dial.own, 1));
    if (best && part >= least) continue;
    least = part;
    const std::string unit = name == "dynamic_smem_bytes" ? "B" : dial.unit;
    best = {change_text(cliff->delta, unit), cliff->occupancy, cliff->blocks_per_sm};
  }
  if (best || side != &theory::Cliffs::gains || row.kernel->takes_registers) return best;
  if (const auto both = theory::gains_together(sm, f))
    best = {with_thousands(-both->registers.delta) + " registers and " +
                change_text(both->dynamic_smem.delta, "B"),
            both->registers.occupancy, both->registers.blocks_per_sm};
  return best;
}

/// The size nearest to usual_block of those with the highest occupancy.
const RankedSize& nearest_to_usual(const std::vector<RankedSize>& ranked) {
  const double highest = ranked.front().answer.occupancy.fraction;
  return *std::ranges::min_element(ranked, {}, [&](const RankedSize& r) {
    const bool is_best = r.answer.launches() && r.answer.occupancy.fraction == highest;
    return std::pair(!is_best, std::abs(r.query.footprint.block_size - usual_block));
  });
}

unsigned findings_of(const InspectedKernel& row) {
  const binary::CompiledKernel& kernel = *row.kernel;
  unsigned findings = 0;
  const auto add = [&](bool holds, Finding finding) {
    if (holds) findings |= static_cast<unsigned>(finding);
  };
  if (row.device != nullptr && row.answer.launches()) {
    const auto gains = theory::cliffs(row.device->facts.sm, row.query.footprint).registers.gains;
    add(gains && gains->delta == -1 && !kernel.takes_registers, Finding::register_cliff);
    add(blocks_within_bound(row).has_value(), Finding::bound_not_met);
    add(kernel.takes_registers && RegisterPool(kernel, row.query.footprint.block_size).is_never_met(),
        Finding::requests_not_met);
  }
  add(kernel.ptx_requests.has_setmaxnreg && !has_requests(kernel), Finding::requests_ignored);
  add(kernel.barrier_id_at_run_time, Finding::runtime_barrier);
  add(kernel.use.spill_bytes.value_or(0) > 0, Finding::spills);
  add(kernel.use.static_smem_bytes > static_smem_limit, Finding::static_smem_over_48k);
  add(kernel.code_bytes > icache_bytes, Finding::code_over_icache);
  return findings;
}

}  // namespace

std::string findings_text(unsigned findings) {
  std::string text;
  for (const FindingText& each : finding_texts)
    if (each.is_in(findings)) text += (text.empty() ? "" : "+") + std::string(each.name);
  return text;
}

BlockSizes parse_block_sizes(const std::string& text) {
  if (text.empty()) return {};
  if (text == all_block_sizes) return {.least = 1, .most = largest_possible_block, .is_range = true};
  const auto size = [](const std::string& number) {
    return static_cast<int>(parse_size(number, "--block-size", 1, largest_possible_block));
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {.least = size(text), .most = size(text)};
  const BlockSizes range{
      .least = size(text.substr(0, dots)), .most = size(text.substr(dots + 2)), .is_range = true};
  if (range.least > range.most) throw std::invalid_argument("--block-size '" + text + "' is an empty range");
  return range;
}

Inspector::Inspector(const std::string& device, const DeviceResolver& resolve, const BlockSizes& sizes,
                     std::optional<std::size_t> dynamic_smem_bytes)
    : sizes_(sizes), dynamic_smem_bytes_(dynamic_smem_bytes) {
  if (!device.empty()) device_ = resolve(device);
}

bool Inspector::runs(const binary::CompiledKernel& kernel) const {
  if (!device_) return true;
  const theory::SmLimits& sm = device_->facts.sm;
  const std::string& cc = kernel.use.cc;
  const std::size_t point = cc.find('.');
  if (point == std::string::npos) return false;
  const int major = std::stoi(cc.substr(0, point)), minor = std::stoi(cc.substr(point + 1));
  const bool is_exact = kernel.architecture.ends_with('a');  // sm_90a runs on 9.0 alone
  // sm_100f runs on 10.0 and 10.3; 10.1, which CUDA 13 calls 11.0, is a family of its own.
  const bool is_other_family = kernel.architecture.ends_with('f') && major == 10 && minor != sm.cc_minor &&
                               (minor == 1 || sm.cc_minor == 1);
  return major == sm.cc_major && !is_other_family && (is_exact ? minor == sm.cc_minor : minor <= sm.cc_minor);
}

const CalcDevice* Inspector::device_of(const std::string& cc) {
  if (device_) return &*device_;
  const auto [place, is_new] = by_cc_.try_emplace(cc);
  if (is_new) try {
      place->second = resolve_offline("cc" + cc);
    } catch (const std::invalid_argument&) {  // the row's status says so
    }
  return place->second ? &*place->second : nullptr;
}

std::vector<InspectedKernel> Inspector::rows_of(const binary::CompiledKernel& kernel) {
  InspectedKernel row{.kernel = &kernel, .device = device_of(kernel.use.cc)};
  if (row.device == nullptr) {
    row.answer.status = "no occupancy: unknown architecture " + kernel.architecture;
    row.findings = findings_of(row);
    return {row};
  }
  const theory::SmLimits& sm = row.device->facts.sm;
  row.largest_block = largest_block(sm, kernel);
  row.query = query_of(kernel);
  theory::Footprint& f = row.query.footprint;
  std::optional<int> fixed = kernel.use.block_size;
  if (has_requests(kernel) && !sizes_.is_given()) fixed = kernel.launch_bound;  // it is written for that
  if (fixed || (sizes_.is_given() && !sizes_.is_range)) {
    f.block_size = fixed.value_or(sizes_.least);
    return {with_answer(row, row.query, theory::answer(sm, row.query))};
  }
  const std::vector<RankedSize> ranked = rank_block_sizes(*row.device, row.query);
  if (!ranked.front().answer.launches() && *row.largest_block > 0) {  // bound to less than a warp
    f.block_size = *row.largest_block;
    row.is_chosen = true;
    return {with_answer(row, row.query, theory::answer(sm, row.query))};
  }
  if (sizes_.is_range) {
    std::vector<InspectedKernel> rows;
    for (const RankedSize& r : ranked)
      if (const int size = r.query.footprint.block_size; size >= sizes_.least && size <= sizes_.most)
        rows.push_back(with_answer(row, r.query, r.answer));
    return rows;
  }
  const RankedSize& best = nearest_to_usual(ranked);
  row.is_chosen = true;
  return {with_answer(row, best.query, best.answer)};
}

theory::Query Inspector::query_of(const binary::CompiledKernel& kernel) const {
  constexpr int max_portable = 8;
  theory::Query query{.cluster_size = kernel.use.cluster_size.value_or(1)};
  // Opt-ins are host code, not in the kernel: only a cluster's is certain to be needed.
  query.has_run = query.cluster_size <= max_portable;
  theory::Footprint& f = query.footprint;
  f.registers_per_thread = kernel.use.registers_per_thread.value_or(0);
  f.static_smem_bytes = kernel.use.static_smem_bytes;
  f.dynamic_smem_bytes = dynamic_smem_bytes_.value_or(kernel.use.dynamic_smem_bytes.value_or(0));
  f.barriers = kernel.use.barriers.value_or(0);
  f.max_block_size = kernel.launch_bound.value_or(largest_possible_block);
  f.virtual_resources = kernel.virtual_resources;
  return query;
}

InspectedKernel Inspector::with_answer(InspectedKernel row, const theory::Query& query,
                                       const theory::Answer& a) const {
  row.query = query;
  row.answer = a;
  if (a.launches()) {
    const bool may_change_block =
        !row.kernel->use.block_size && !row.is_chosen && !sizes_.is_range && !row.kernel->takes_registers;
    row.gains = nearest_cliff(row, &theory::Cliffs::gains, may_change_block);
    row.loses = nearest_cliff(row, &theory::Cliffs::loses, false);
    if (has_requests(*row.kernel))
      row.answer.status += "; " + pool_remark(*row.kernel, query.footprint.block_size);
    if (a.occupancy.virtual_resource_limit)
      row.answer.status += "; " + tensor_remark(*row.kernel, a.occupancy);
    if (const auto blocks = blocks_within_bound(row))
      row.answer.status += "; __launch_bounds__(" + std::to_string(*row.kernel->launch_bound) + ", " +
                           std::to_string(row.kernel->ptx_requests.blocks) + ") asks for " +
                           count_of(static_cast<std::size_t>(row.kernel->ptx_requests.blocks), "block") +
                           " per SM, and " + std::to_string(*blocks) + " fit";
    if (!row.kernel->is_linked)
      row.answer.status += "; not linked yet: at least " +
                           std::to_string(query.footprint.registers_per_thread) +
                           " registers, so this occupancy is the most; inspect the linked program";
  }
  row.findings = findings_of(row);
  return row;
}

}  // namespace occbench::commands
