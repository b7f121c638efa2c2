// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/signature_table.hpp"

#include <utility>
#include <vector>

#include "harness/attach/preload/ranges.hpp"

namespace occbench::attach {

namespace {

constexpr int max_argument_hashes = 8;  // beyond it, arguments are not part of the signature
constexpr int most_parts = 32;          // per signature, by the previous kernel
constexpr std::size_t max_streams = 4096;

/// Hash of function, shape and, if requested, NVTX range.
std::uint64_t shape_hash(const Request& request, const Handle& handle, const Context& context,
                         bool by_range) {
  const CUlaunchConfig& c = request.config;
  const auto both = [](unsigned a, unsigned b) { return std::uint64_t{a} << 32 | b; };
  std::uint64_t hash = handle.content;
  for (const std::uint64_t value :
       {both(static_cast<unsigned>(request.kind), static_cast<unsigned>(context.sms)),
        both(c.gridDimX, c.gridDimY), both(c.gridDimZ, c.blockDimX), both(c.blockDimY, c.blockDimZ),
        both(c.sharedMemBytes, c.numAttrs), request.part_of})
    hash = mix(hash, value);
  if (const unsigned size = cluster_size(c); size > 1) hash = mix(hash, size);
  return by_range ? mix(hash, current_range()) : hash;
}

}  // namespace

Signature& SignatureTable::rest() {
  if (rest_ == nullptr) {
    rest_ = &signatures_.emplace_back();
    rest_->number = signatures_.size() - 1;
    rest_->skip_reason = SkipReason::too_many;
    writer_.write(SignatureRecord{.number = static_cast<int>(rest_->number),
                                  .function = -1,
                                  .arguments = "0",
                                  .skip_reason = rest_->skip_reason,
                                  .before_function = -1});
  }
  return *rest_;
}

Signature& SignatureTable::add(const First& first) {
  const CUlaunchConfig& c = first.request.config;
  Signature& s = signatures_.emplace_back();
  s.number = signatures_.size() - 1;
  if (options_.needs_watchdog()) s.name = first.handle.name;
  s.hash = first.hash;
  s.is_in_graph = first.request.part_of != 0;
  s.is_part = first.before.hash != 0;
  s.block_size = static_cast<int>(c.blockDimX * c.blockDimY * c.blockDimZ);
  s.dynamic_smem = c.sharedMemBytes;
  for (unsigned i = 0; i < c.numAttrs && cluster_size(c) > 1; ++i)
    if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) s.cluster = c.attrs[i];
  if (first.handle.is_known)
    driver_.occupancy(&s.blocks_per_sm, first.handle.function, s.block_size, s.dynamic_smem);
  plan(s, first);
  write(s, first);
  if (s.skip_reason == SkipReason::none && !options_.observe) set_schedule(s);
  by_hash_.add(s.hash, &s);
  return s;
}

void SignatureTable::plan(Signature& s, const First& first) {
  const auto& [request, handle, context, hash, arguments, before] = first;
  const bool is_graph = request.kind == SkipReason::graph;
  s.skip_reason =
      is_graph ? handle.graph_skip_reason : skip_rules_.reason_for(request, handle, context, s.blocks_per_sm);
  if (s.skip_reason != SkipReason::none) return;
  if (is_graph) {  // its levels are shares, in %, of each kernel's warps
    s.blocks_per_sm = 100;
    for (const double share : options_.levels) s.blocks.push_back(blocks_at(share, s.blocks_per_sm));
    s.added.resize(s.blocks.size());
  } else if (!options_.registers.empty()) {
    s.versions = versions_.of(s, handle, context);
    if (s.versions.empty()) s.skip_reason = SkipReason::no_version;
    handle.versions[s.hash] = s.versions;
  } else if (!options_.observe) {
    const std::vector<int> targets = levels_.targets(request, s, handle, context, arguments);
    levels_.find(s, handle, context, targets);
    if (s.blocks.empty()) s.skip_reason = targets.empty() ? SkipReason::not_asked : SkipReason::no_level;
  }
}

void SignatureTable::write(const Signature& s, const First& first) {
  const auto& [request, handle, context, hash, arguments, before] = first;
  const CUlaunchConfig& c = request.config;
  const bool is_graph = request.kind == SkipReason::graph;
  const std::uint64_t graph = is_graph ? handle.graph_hash : request.part_of;
  const auto number = static_cast<int>(s.number);
  writer_.write(SignatureRecord{
      .number = number,
      .function = handle.number,
      .grid_x = c.gridDimX,
      .grid_y = c.gridDimY,
      .grid_z = c.gridDimZ,
      .block_x = c.blockDimX,
      .block_y = c.blockDimY,
      .block_z = c.blockDimZ,
      .dynamic_smem_bytes = s.dynamic_smem,
      .blocks_per_sm = s.blocks_per_sm,
      .arguments = digits_of(arguments),
      .skip_reason = s.skip_reason,
      .range = options_.by_range ? name_of_range(current_range()) : "",
      .graph_kernels = static_cast<std::int64_t>(is_graph ? handle.graph_kernels : request.nodes),
      .graph = graph == 0 ? "" : digits_of(graph),
      .before = s.is_part ? digits_of(before.hash) : "",
      .before_function = before.function,
      .sm_count = context.sms});
  if (s.skip_reason != SkipReason::none || options_.observe) return;
  for (std::size_t i = 0; i < s.blocks.size(); ++i)
    writer_.write(LevelRecord{.signature = number,
                              .arm = first_level + static_cast<int>(i),
                              .added_smem_bytes = s.added[i],
                              .blocks_per_sm = s.blocks[i]});
  for (std::size_t i = 0; i < s.versions.size(); ++i)
    writer_.write(VersionRecord{.signature = number,
                                .arm = first_level + static_cast<int>(i),
                                .register_cap = s.versions[i].cap,
                                .registers = s.versions[i].registers,
                                .local_bytes = s.versions[i].local_bytes,
                                .blocks_per_sm = s.versions[i].blocks_per_sm});
}

void SignatureTable::set_schedule(Signature& s) {
  if (options_.apply) {
    s.is_applied = true;
    return;
  }
  std::vector<double> warps = {1, 1};
  for (const int blocks : s.blocks) warps.push_back(static_cast<double>(blocks) / s.blocks_per_sm);
  warps.resize(warps.size() + s.versions.size(), 1);
  Plan plan = options_.plan;
  if (s.is_in_graph) plan.scale_to_graph();
  s.schedule.emplace(plan, s.hash, std::move(warps));
  if (!s.versions.empty()) s.schedule->use_versions();
}

void SignatureTable::plan_shares(Signature& s, const Request& request, const Handle& handle,
                                 Context& context) {
  s.has_planned_shares = true;
  if (options_.sms.empty() || !s.versions.empty() || !skip_rules_.may_have_fewer_sms(s.skip_reason, handle))
    return;
  s.shares = shares_.plan(request, s, handle, context);
  if (s.shares.empty()) return;
  std::vector<double> parts;
  for (std::size_t i = 0; i < s.shares.size(); ++i) {
    parts.push_back(static_cast<double>(s.shares[i]) / context.sms);
    writer_.write(ShareRecord{.signature = static_cast<int>(s.number),
                              .arm = s.first_share() + static_cast<int>(i),
                              .sm_count = s.shares[i]});
  }
  if (!s.schedule) {
    s.schedule.emplace(options_.plan, s.hash, std::vector<double>{1, 1});
    s.schedule->close(pinned);
  }
  s.schedule->add_sm_shares(parts);
}

Signature& SignatureTable::part_of(Signature& whole, First first) {
  first.hash = mix(whole.hash, first.before.hash);
  if (Signature* const known = by_hash_.find(first.hash)) return *known;
  if (whole.first_before == 0) whole.first_before = first.before.hash;
  if (whole.parts == 0 && first.before.hash == whole.first_before) return whole;
  if (first.before.hash == 0 || whole.parts >= most_parts || !has_room()) return whole;
  ++whole.parts;
  return add(first);
}

Signature& SignatureTable::of(const Request& request, Handle& handle, Context& context) {
  const std::uint64_t shape = shape_hash(request, handle, context, options_.by_range);
  const auto counts_arguments = [&] {
    const auto different = argument_hashes_.find(shape);
    return different == argument_hashes_.end() || different->second <= max_argument_hashes;
  };
  const std::uint64_t arguments = handle.has_many_arguments && !counts_arguments() ? 0
                                  : handle.graph_hash != 0                         ? handle.graph_hash
                                                           : argument_hash(request, handle.parameters);
  const First first{request, handle, context, mix(shape, arguments), arguments, {}};
  Signature* s = by_hash_.find(first.hash);
  if (s == nullptr) {
    // Store nothing for a launch beyond the limit: a program may have any number of shapes.
    if (!has_room()) return rest();
    if (++argument_hashes_[shape] > max_argument_hashes && arguments != 0) {
      handle.has_many_arguments = true;
      return of(request, handle, context);  // without arguments
    }
    s = &add(first);
  }
  if (!options_.observe && handle.graph_hash == 0 && request.part_of == 0) {
    if (context.previous.size() > max_streams) context.previous.clear();
    PreviousLaunch& previous = context.previous[request.config.hStream];
    if (s->schedule && s->schedule->has_kinds())
      s = &part_of(*s, {request, handle, context, first.hash, arguments, previous});
    previous = {.hash = first.hash, .function = handle.number};
  }
  if (!s->blocks.empty() && !handle.verified.contains(s->hash)) levels_.verify(*s, handle, context);
  return *s;
}

}  // namespace occbench::attach
