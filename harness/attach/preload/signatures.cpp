// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/signatures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "harness/attach/preload/ranges.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/io/demangle.hpp"

namespace occbench::attach {

namespace {

constexpr int smem_unit = 128;           // bytes in which shared memory is given
constexpr int most_argument_hashes = 8;  // then arguments are no part of the signature
constexpr int most_parts = 32;           // of a signature, by what ran before
constexpr std::size_t most_streams = 4096;

std::string digits_of(std::uint64_t hash) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

int blocks_at(double share, int natural) {
  return std::clamp(static_cast<int>(std::lround(share * natural)), 1, natural - 1);
}

Signatures::Signatures(const Options& options, const Driver& driver, Journal& journal)
    : options_(options), driver_(driver), journal_(journal), versions_(driver, options.registers) {
  if (!options_.registers.empty()) versions_.add_files(options_.folder);
  if (options_.apply) advice_.read(options_.folder + '/' + advice_file);
  has_kernel_ =
      !options_.kernel.empty() && regcomp(&kernel_, options_.kernel.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}

Signatures::~Signatures() {
  if (has_kernel_) regfree(&kernel_);
}

namespace {

std::uint64_t blocks_of(const CUlaunchConfig& c) {
  return std::uint64_t{c.gridDimX} * c.gridDimY * c.gridDimZ;
}

}  // namespace

SkipReason Signatures::skipped(const Request& request, const Handle& handle, const Context& context,
                               int blocks_per_sm) {
  if (request.kind != SkipReason::no) return request.kind;
  if (const SkipReason why = against(request.config); why != SkipReason::no) return why;
  if (handle.is_cluster) return SkipReason::cluster;
  if (handle.name.find("ncclKernel") != std::string::npos ||
      handle.name.find("ncclDevKernel") != std::string::npos)
    return SkipReason::nccl;
  if (!handle.is_known || blocks_per_sm < 1) return SkipReason::no_answer;
  const bool has_fewer = options_.registers.empty();
  const auto sms = static_cast<std::uint64_t>(context.sms);
  if (has_fewer && blocks_of(request.config) <= sms) return SkipReason::small_grid;
  // A grid that is resident as a whole may wait for its other blocks: with fewer at a time it would hang.
  if (has_fewer && !options_.all &&
      blocks_of(request.config) <= static_cast<std::uint64_t>(blocks_per_sm) * sms)
    return SkipReason::one_residency;
  if (has_fewer && blocks_per_sm == 1) return SkipReason::one_block;
  if (has_fewer && smem_readers_.contains(handle.name)) return SkipReason::smem_reader;
  if (has_kernel_ && regexec(&kernel_, handle.name.c_str(), 0, nullptr, 0) != 0 &&
      regexec(&kernel_, demangled(handle.name).c_str(), 0, nullptr, 0) != 0)
    return SkipReason::not_asked;
  return SkipReason::no;
}

std::vector<int> Signatures::targets(const Request& request, const Signature& s, const Handle& h,
                                     const Context& context, std::uint64_t arguments) const {
  const CUlaunchConfig& c = request.config;
  std::vector<int> blocks;
  if (options_.apply) {
    const Advice what{.symbol = h.name,
                      .sms = context.sms,
                      .grid = {c.gridDimX, c.gridDimY, c.gridDimZ},
                      .block = {c.blockDimX, c.blockDimY, c.blockDimZ},
                      .dynamic_smem_bytes = c.sharedMemBytes,
                      .arguments = digits_of(arguments)};
    if (const auto found = advice_.blocks_for(what, demangled(h.name), s.blocks_per_sm))
      blocks.push_back(*found);
    return blocks;
  }
  for (const double share : options_.levels)
    if (const int target = blocks_at(share, s.blocks_per_sm);
        std::ranges::find(blocks, target) == blocks.end())
      blocks.push_back(target);
  return blocks;
}

/// The dynamic shared memory of each level, held against the driver's own count of blocks.
void Signatures::find_levels(Signature& s, Handle& h, const Context& context,
                             const std::vector<int>& targets) {
  const int fixed = context.smem_reserved + h.static_smem;
  const int most_dynamic = context.smem_optin - h.static_smem;
  const auto gives = [&](int dynamic, int target) {
    if (dynamic <= static_cast<int>(s.dynamic_smem) || dynamic > most_dynamic) return false;
    if (dynamic > h.max_dynamic_smem) {
      if (driver_.func_set_attribute(h.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic) !=
          CUDA_SUCCESS)
        return false;
      h.max_dynamic_smem = dynamic;
    }
    int blocks = 0;
    return driver_.occupancy(&blocks, h.function, s.block_size, static_cast<std::size_t>(dynamic)) ==
               CUDA_SUCCESS &&
           blocks == target;
  };
  const auto most = [&](int blocks) {
    return std::min(context.smem_per_sm / blocks / smem_unit * smem_unit - fixed, most_dynamic);
  };
  if (s.is_in_graph) {
    if (s.blocks.empty() && gives(most(s.blocks_per_sm), s.blocks_per_sm))
      s.smem_padding = static_cast<unsigned>(most(s.blocks_per_sm)) - s.dynamic_smem;
    h.verified[s.hash - 1] =
        s.smem_padding == 0 || gives(static_cast<int>(s.dynamic_smem + s.smem_padding), s.blocks_per_sm);
  }
  if (!s.blocks.empty()) {  // found before, with another handle of the same function
    for (std::size_t i = 0; i < s.blocks.size(); ++i)
      h.verified[s.hash + i] = gives(static_cast<int>(s.added[i] + s.dynamic_smem), s.blocks[i]);
    return;
  }
  for (const int target : targets) {
    const int least = (context.smem_per_sm / (target + 1) / smem_unit + 1) * smem_unit - fixed;
    // In a graph nothing pins the carve-out, but the driver lets all blocks in that may come: what fills the
    // SM's shared memory leaves every level the same L1.
    const auto tried = s.is_in_graph ? std::array{most(target), least + smem_unit, least}
                                     : std::array{least, least + smem_unit, most(target)};
    for (const int dynamic : tried)
      if (gives(dynamic, target)) {
        h.verified[s.hash + s.blocks.size()] = true;
        s.blocks.push_back(target);
        s.added.push_back(static_cast<unsigned>(dynamic) - s.dynamic_smem);
        break;
      }
  }
}

/// What takes all launches that cannot be told apart any more.
Signature& Signatures::rest() {
  if (rest_ == nullptr) {
    rest_ = &signatures_.emplace_back();
    rest_->number = signatures_.size() - 1;
    rest_->skip_reason = SkipReason::too_many;
    journal_.line({"signature", std::to_string(rest_->number), "-1", "0", "0", "0", "0", "0", "0", "0", "0",
                   "0", std::to_string(static_cast<int>(rest_->skip_reason)), "", "0", "", "", "-1", "0"});
  }
  return *rest_;
}

Signature& Signatures::make(const Request& request, std::uint64_t hash, std::uint64_t arguments,
                            Handle& handle, const Context& context, const Before& before) {
  const CUlaunchConfig& c = request.config;
  Signature& s = signatures_.emplace_back();
  s.number = signatures_.size() - 1;
  if (options_.all) s.name = handle.name;
  s.hash = hash;
  s.is_in_graph = request.part_of != 0;
  s.is_part = before.hash != 0;
  s.block_size = static_cast<int>(c.blockDimX * c.blockDimY * c.blockDimZ);
  s.dynamic_smem = c.sharedMemBytes;
  if (handle.is_known) driver_.occupancy(&s.blocks_per_sm, handle.function, s.block_size, s.dynamic_smem);
  const bool is_graph = request.kind == SkipReason::graph;
  s.skip_reason = is_graph ? handle.graph_skip_reason : skipped(request, handle, context, s.blocks_per_sm);
  if (is_graph &&
      s.skip_reason == SkipReason::no) {  // its levels are shares, in percent, of each kernel's warps
    s.blocks_per_sm = 100;
    for (const double share : options_.levels) s.blocks.push_back(blocks_at(share, s.blocks_per_sm));
    s.added.resize(s.blocks.size());
  } else if (s.skip_reason == SkipReason::no && !options_.registers.empty()) {
    s.versions = find_versions(s, handle, context);
    if (s.versions.empty()) s.skip_reason = SkipReason::no_version;
    handle.versions[s.hash] = s.versions;
  } else if (s.skip_reason == SkipReason::no && !options_.observe) {
    const std::vector<int> wanted = targets(request, s, handle, context, arguments);
    find_levels(s, handle, context, wanted);
    if (s.blocks.empty()) s.skip_reason = wanted.empty() ? SkipReason::not_asked : SkipReason::no_level;
  }
  const std::uint64_t graph = is_graph ? handle.graph_hash : request.part_of;
  journal_.line({"signature", std::to_string(s.number), std::to_string(handle.number),
                 std::to_string(c.gridDimX), std::to_string(c.gridDimY), std::to_string(c.gridDimZ),
                 std::to_string(c.blockDimX), std::to_string(c.blockDimY), std::to_string(c.blockDimZ),
                 std::to_string(s.dynamic_smem), std::to_string(s.blocks_per_sm), digits_of(arguments),
                 std::to_string(static_cast<int>(s.skip_reason)),
                 options_.by_range ? name_of_range(current_range()) : "",
                 std::to_string(is_graph ? handle.graph_kernels : request.nodes),
                 graph == 0 ? "" : digits_of(graph), s.is_part ? digits_of(before.hash) : "",
                 std::to_string(before.function), std::to_string(context.sms)});
  if (s.skip_reason != SkipReason::no || options_.observe) return s;
  std::vector<double> warps = {1, 1};
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    warps.push_back(static_cast<double>(s.blocks[i]) / s.blocks_per_sm);
    journal_.line({"level", std::to_string(s.number), std::to_string(first_level + static_cast<int>(i)),
                   std::to_string(s.added[i]), std::to_string(s.blocks[i])});
  }
  for (std::size_t i = 0; i < s.versions.size(); ++i) {
    const Version& v = s.versions[i];
    warps.push_back(1);
    journal_.line({"version", std::to_string(s.number), std::to_string(first_level + static_cast<int>(i)),
                   std::to_string(v.cap), std::to_string(v.registers), std::to_string(v.local_bytes),
                   std::to_string(v.blocks_per_sm)});
  }
  s.is_applied = options_.apply;
  Plan plan = options_.plan;
  if (s.is_in_graph) plan.in_graph();
  if (!options_.apply) s.schedule.emplace(plan, s.hash, std::move(warps));
  if (!s.versions.empty()) s.schedule->take_versions();
  return s;
}

std::vector<Version> Signatures::find_versions(const Signature& s, const Handle& h, const Context& context) {
  return versions_.of({.kernel = h.name,
                       .function = h.function,
                       .context = context.handle,
                       .compute_capability = context.compute_capability,
                       .registers = h.registers,
                       .block_size = s.block_size,
                       .blocks_per_sm = s.blocks_per_sm,
                       .dynamic_smem = s.dynamic_smem});
}

CUfunction Signatures::version_of(const Signature& s, Handle& h, const Context& context, std::size_t number) {
  const auto [place, is_new] = h.versions.try_emplace(s.hash);
  if (is_new) place->second = find_versions(s, h, context);
  if (number >= place->second.size() || place->second.size() != s.versions.size()) return nullptr;
  const Version& v = place->second[number];
  return v.registers == s.versions[number].registers ? v.function : nullptr;
}

Signature& Signatures::part_of(Signature& whole, const Request& request, std::uint64_t arguments,
                               Handle& handle, const Context& context, const Before& before) {
  const std::uint64_t hash = mix(whole.hash, before.hash);
  if (Signature* const known = by_hash_.find(hash)) return *known;
  if (whole.before_first == 0) whole.before_first = before.hash;
  if (whole.parts == 0 && before.hash == whole.before_first) return whole;
  if (before.hash == 0 || whole.parts >= most_parts || signatures_.size() >= most_signatures - 1 ||
      !journal_.has_room())
    return whole;
  ++whole.parts;
  Signature& part = make(request, hash, arguments, handle, context, before);
  by_hash_.add(hash, &part);
  return part;
}

Signature& Signatures::signature_of(const Request& request, Handle& handle, Context& context) {
  const CUlaunchConfig& c = request.config;
  const auto both = [](unsigned a, unsigned b) { return std::uint64_t{a} << 32 | b; };
  std::uint64_t shape = handle.content;
  for (const std::uint64_t value :
       {both(static_cast<unsigned>(request.kind), static_cast<unsigned>(context.sms)),
        both(c.gridDimX, c.gridDimY), both(c.gridDimZ, c.blockDimX), both(c.blockDimY, c.blockDimZ),
        both(c.sharedMemBytes, c.numAttrs), request.part_of})
    shape = mix(shape, value);
  if (options_.by_range) shape = mix(shape, current_range());
  const auto tells = [&] {
    const auto different = argument_hashes_.find(shape);
    return different == argument_hashes_.end() || different->second <= most_argument_hashes;
  };
  const std::uint64_t arguments = handle.has_many_arguments && !tells() ? 0
                                  : handle.graph_hash != 0              ? handle.graph_hash
                                                           : argument_hash(request, handle.parameters);
  const std::uint64_t hash = mix(shape, arguments);
  Signature* s = by_hash_.find(hash);
  if (s == nullptr) {
    // Nothing is remembered of a launch that finds no room: a program may have any number of shapes.
    if (signatures_.size() >= most_signatures - 1 || !journal_.has_room()) return rest();
    if (++argument_hashes_[shape] > most_argument_hashes && arguments != 0) {
      handle.has_many_arguments = true;
      return signature_of(request, handle, context);  // without them
    }
    by_hash_.add(hash, s = &make(request, hash, arguments, handle, context));
  }
  if (!options_.observe && handle.graph_hash == 0 && request.part_of == 0) {
    if (context.last.size() > most_streams) context.last.clear();
    Before& before = context.last[c.hStream];
    if (s->schedule && s->schedule->has_kinds())
      s = &part_of(*s, request, arguments, handle, context, before);
    before = {.hash = hash, .function = handle.number};
  }
  if (!s->blocks.empty() && !handle.verified.contains(s->hash)) find_levels(*s, handle, context, {});
  return *s;
}

bool Signatures::is_filled(const Signature& signature, const Handle& handle) {
  const auto found = handle.verified.find(signature.hash - 1);
  return found != handle.verified.end() && found->second;
}

bool Signatures::is_verified(const Signature& signature, const Handle& handle, std::size_t level) {
  const auto found = handle.verified.find(signature.hash + level);
  return found != handle.verified.end() && found->second;
}

}  // namespace occbench::attach
