// SPDX-License-Identifier: Apache-2.0
// User kernels (occbench/kernel.cuh) become variants, and each of their dials an experiment.

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <occbench/kernel_facts.hpp>
#include <stdexcept>
#include <utility>

#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/user_kernels/user_data.hpp"
#include "harness/device/launch.hpp"

namespace occbench {

namespace {

struct Kernel {
  std::vector<int> block_sizes;       ///< the first is used while another dial varies
  std::vector<std::string> variants;  ///< without a cap, in order of registration
  std::vector<std::string> capped;
};
std::map<std::string, Kernel, std::less<>>& kernels() {
  static std::map<std::string, Kernel, std::less<>> all;
  return all;
}
std::string& first_registration_error() {
  static std::string line;
  return line;
}

int blocks_of(const dim3& grid) {
  const double blocks = double(grid.x) * grid.y * grid.z;
  if (blocks < 1 || blocks > std::numeric_limits<int>::max())
    throw std::runtime_error("its grid has " + std::to_string(blocks) + " blocks");
  return static_cast<int>(blocks);
}

/// The grid for a block size; empty if a case sets the number of waves.
std::function<dim3(int)> grid_of(const KernelFacts& facts) {
  if (facts.threads > 0)
    return [threads = facts.threads](int block_size) {
      return dim3(static_cast<unsigned>((threads + block_size - 1) / block_size));
    };
  return facts.grid;
}

void check_facts(const KernelFacts& f) {
  const auto fail = [](const std::string& line) { throw std::invalid_argument(line); };
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=+-";
  if (f.name.empty()) fail("it has no name");
  if (f.name.find_first_not_of(allowed) != std::string::npos)
    fail("its name has a character outside [A-Za-z0-9_=+-]");
  if ((f.threads > 0) + (f.waves > 0) + (f.grid != nullptr) != 1)
    fail("its grid needs exactly one of .threads, .grid and .waves");
  if (f.block_sizes.empty()) fail(".block_sizes is empty");
  for (const int size : f.block_sizes)
    if (size < 1 || size > 1024)
      fail("a block of " + std::to_string(size) + " threads; the range is 1 to 1024");
  for (const double work : {f.bytes, f.flop, f.operations})
    if (!(work >= 0)) fail("bytes, flop and operations must be 0 or more");
  if (f.bytes + f.flop + f.operations <= 0) fail("its work is not set: give .bytes, .flop or .operations");
}

Ceiling ceiling_of(const KernelFacts& f) {
  if (f.ceiling) return *f.ceiling;
  return f.bytes > 0 ? Ceiling::dram : f.flop > 0 ? Ceiling::fp32 : Ceiling::none;
}

/// Data and launch, which all cases of a run share.
struct Prepared {
  const Arena* arena = nullptr;
  std::shared_ptr<UserData> data;
  Launcher run;
};

Problem problem_of(Prepared& prepared, const KernelFacts& facts, const Setup& setup,
                   const detail::Function& function, const std::string& base, Arena& arena) {
  if (prepared.arena != &arena) {
    auto data = std::make_shared<UserData>(arena, facts.name + '.' + base);
    Launcher run = setup(*data);
    if (!run) throw std::runtime_error("its setup returns no launch");
    data->require_results();
    prepared = {&arena, std::move(data), std::move(run)};
  }
  Problem problem;
  problem.work = {.bytes = facts.bytes, .flop = facts.flop, .operations = facts.operations};
  problem.poison = [data = prepared.data] { data->reset(); };
  problem.mismatch = [data = prepared.data] { return data->mismatch(); };
  problem.reference_covers_timed = prepared.data->is_checked();
  problem.poison_alternates = true;
  problem.launch = [run = prepared.run, grid = grid_of(facts), function](const Launch& l, Census census,
                                                                         cudaStream_t stream) {
    if (census.records != nullptr) function.set_census(census.records, stream);
    run({.grid = grid ? grid(l.block_size) : dim3(static_cast<unsigned>(l.grid_size)),
         .block_size = l.block_size,
         .dynamic_smem_bytes = l.dynamic_smem_bytes,
         .stream = stream});
    if (census.records != nullptr) function.set_census(nullptr, stream);
  };
  return problem;
}

void add_variant_of(const detail::Function& function, const KernelFacts& facts, const Setup& setup,
                    const std::string& base) {
  const int cap = function.register_cap;
  const auto grid = grid_of(facts);
  Variant v{
      .family = facts.name,
      .name = cap == 0 ? base : base + "-max" + std::to_string(cap),
      .series = base,
      .baseline = cap == 0 ? "" : base,
      .dials = {.route = cap == 0 ? RegisterRoute::free : RegisterRoute::maxrregcount, .register_cap = cap},
      .ceiling = ceiling_of(facts),
      .may_spill = cap > 0,
      .fixed_block_size = facts.block_sizes.size() == 1 ? facts.block_sizes.front() : 0,
      .l2_before = facts.l2_before,
      .dynamic_smem_bytes = facts.dynamic_smem_bytes,
      .max_iterations =
          [=, known = std::make_shared<std::optional<bool>>()](const Arena& arena, const Shape&) {
            if (!*known) *known = UserData::fits(arena, setup);
            return **known ? 1 : 0;
          },
      .prepare = [=, prepared = std::make_shared<Prepared>()](
                     Arena& arena,
                     const Shape&) { return problem_of(*prepared, facts, setup, function, base, arena); },
      .user_kernel = true,
      .counts_blocks = facts.counts_blocks,
      .predicted = false,
      .entry = function.entry,
  };
  if (grid) v.grid_size = [grid](int block_size) { return blocks_of(grid(block_size)); };
  add_variant(std::move(v));
}

/// An experiment of each family that has the dial.
struct DialOfKernel {
  const char* suffix;
  const char* question;  ///< with % for the name
  const char* dial;
  std::vector<std::string> split_by;
  void (*define)(Sweep&, const std::string& family, const Kernel&);
};

void warps(Sweep& sweep, const std::string& family, const Kernel& kernel) {
  const int block = kernel.block_sizes.front();
  const int most = std::min(sweep.sm().max_blocks_per_sm, sweep.sm().max_threads_per_sm / block);
  for (const std::string& name : kernel.variants) {
    const Variant& v = sweep.variant(family, name);
    for (int blocks = 1; blocks <= most; blocks += sweep.is_quick() || blocks >= 8 ? blocks : 1)
      sweep.add({.variant = &v, .block_size = block, .resident_blocks = blocks});
    sweep.add({.variant = &v, .block_size = block});  // as many blocks as fit
  }
}

void block_sizes(Sweep& sweep, const std::string& family, const Kernel& kernel) {
  for (const std::string& name : kernel.variants)
    for (const int size : kernel.block_sizes)
      sweep.add({.variant = &sweep.variant(family, name), .block_size = size});
}

void carveouts(Sweep& sweep, const std::string& family, const Kernel& kernel) {
  for (const std::string& name : kernel.variants)
    for (const int percent : {sweep.large_l1_carveout(), 25, 50, 75, 100})
      sweep.add({.variant = &sweep.variant(family, name),
                 .block_size = kernel.block_sizes.front(),
                 .carveout_percent = percent});
}

void registers(Sweep& sweep, const std::string& family, const Kernel& kernel) {
  for (const std::vector<std::string>& names : {kernel.variants, kernel.capped})
    for (const std::string& name : names)
      sweep.add({.variant = &sweep.variant(family, name), .block_size = kernel.block_sizes.front()});
}

const DialOfKernel dials[] = {
    {"_warps", "How many resident warps does % need?", "warps_per_sm", {}, warps},
    {"_block_size", "Which block size suits %?", "block_size", {}, block_sizes},
    {"_carveout", "Does % want shared memory or L1?", "carveout_percent", {}, carveouts},
    {"_registers", "Is a register cap worth its spills in %?", "registers_per_thread", {}, registers},
};

void add_experiment(const DialOfKernel& dial, const std::string& family) {
  const std::string name = family + dial.suffix;
  if (std::ranges::find(experiments(), name, &Experiment::name) != experiments().end()) return;
  std::string question = dial.question;
  question.replace(question.find('%'), 1, family);
  AddExperiment({.name = name,
                 .question = question,
                 .dial = dial.dial,
                 .split_by = dial.split_by,
                 .outside_model = "a user kernel without a description of its machine code",
                 .user_kernels = true,
                 .define = [define = dial.define, family](Sweep& sweep) {
                   define(sweep, family, kernels().find(family)->second);
                 }});
}

}  // namespace

const std::string& registration_error() { return first_registration_error(); }

namespace detail {

float random_f32(std::uint64_t index) { return random_value<float>(index); }
double random_f64(std::uint64_t index) { return random_value<double>(index); }

void add_kernel(const Function& function, KernelFacts facts, Setup setup) try {
  check_facts(facts);
  const std::string base = facts.variant.empty() ? "plain" : facts.variant;
  add_variant_of(function, facts, setup, base);
  Kernel& kernel = kernels()[facts.name];
  if (kernel.block_sizes.empty()) kernel.block_sizes = facts.block_sizes;
  if (kernel.block_sizes != facts.block_sizes)
    throw std::invalid_argument("its variants differ in .block_sizes; give them names of their own");
  (function.register_cap == 0 ? kernel.variants : kernel.capped)
      .push_back(function.register_cap == 0 ? base : base + "-max" + std::to_string(function.register_cap));
  add_experiment(dials[0], facts.name);
  if (facts.block_sizes.size() > 1) add_experiment(dials[1], facts.name);
  add_experiment(dials[2], facts.name);
  if (function.register_cap > 0) add_experiment(dials[3], facts.name);
} catch (const std::exception& e) {  // before main, where nobody would catch it
  if (first_registration_error().empty())
    first_registration_error() = "kernel '" + facts.name + "': " + e.what();
}

}  // namespace detail

}  // namespace occbench
