// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/framework/sweep.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "burn_in_cases.hpp"  // written by the build from benchmarks/burn_in.csv
#include "harness/io/check.hpp"

namespace occbench {

namespace {

std::vector<Experiment>& registry() {
  static std::vector<Experiment> all;
  return all;
}

constexpr std::string_view preset_names[] = {"burn-in", "quick", "standard", "full"};

/// The first column of burn_in.csv.
std::set<std::string, std::less<>> burn_in_cases() {
  std::istringstream lines{std::string(burn_in_csv)};
  std::set<std::string, std::less<>> ids;
  for (std::string line; std::getline(lines, line);) ids.insert(line.substr(0, line.find(',')));
  return ids;
}

}  // namespace

std::string_view to_string(Preset preset) { return preset_names[static_cast<std::size_t>(preset)]; }

Preset parse_preset(std::string_view name) {
  for (const Preset p : {Preset::burn_in, Preset::quick, Preset::standard, Preset::full})
    if (to_string(p) == name) return p;
  throw UserError(Exit::usage,
                  "no preset '" + std::string(name) + "'; there are burn-in, quick, standard and full");
}

std::vector<int> Sweep::by_preset(std::vector<int> in_quick, std::vector<int> in_standard,
                                  std::vector<int> in_full) const {
  return is_quick() ? in_quick : at_least(Preset::full) ? in_full : in_standard;
}

int Sweep::large_l1_carveout() const {
  const std::size_t reserved =
      static_cast<std::size_t>(sm_.max_blocks_per_sm) * sm_.smem_reserved_per_block_bytes;
  return static_cast<int>(100 * reserved /
                          sm_.smem_per_sm_bytes);  // rounded down: the hardware rounds its sizes up
}

std::vector<const Variant*> Sweep::variants(std::string_view family, std::string_view prefix) const {
  std::vector<const Variant*> found;
  for (const Variant& v : occbench::variants())
    if (v.family == family && v.name.starts_with(prefix)) found.push_back(&v);
  return found;
}

const Variant& Sweep::variant(std::string_view family, std::string_view name) const {
  for (const Variant& v : occbench::variants())
    if (v.family == family && v.name == name) return v;
  throw std::logic_error("experiment " + experiment_ + " asks for " + std::string(family) + "." +
                         std::string(name) + ", which no family registers");
}

void Sweep::add(CaseSpec spec) {
  spec.experiment = experiment_;
  if (spec.block_size == 0) spec.block_size = spec.variant->fixed_block_size;
  if (spec.curve.empty())
    spec.curve = spec.variant->series.empty() ? spec.variant->name : spec.variant->series;
  cases_.push_back(std::move(spec));
}

void Sweep::add_resident_warps(const Variant& variant, int block_size, std::span<const int> warps_per_sm) {
  const int warps_per_block = block_size / sm_.warp_size;
  for (const int warps : warps_per_sm)
    if (warps % warps_per_block == 0 && warps <= sm_.max_warps_per_sm())
      add({.variant = &variant, .block_size = block_size, .resident_blocks = warps / warps_per_block});
}

void Sweep::add_short_blocks(const Variant& variant, int elements_per_thread) {
  constexpr double one_iteration_s = 1e-9;
  constexpr int elements_per_sm = 480 * 2048;
  std::vector<int> sizes{32, 64, 128, 256, 512, 1024};
  if (is_quick()) sizes = {32, 128, 1024};
  for (const int size : sizes) {
    const int most = std::min(sm_.max_threads_per_sm / size, sm_.max_blocks_per_sm);
    std::set<int> resident{most};
    if (at_least(Preset::full) || (size == 128 && !is_quick()))
      for (const int warps : {16, 32}) resident.insert(std::min(most, warps * 32 / size));
    resident.erase(0);
    for (const int blocks : resident)
      add({.variant = &variant,
           .block_size = size,
           .resident_blocks = blocks,
           .waves = elements_per_sm / (blocks * size * elements_per_thread),
           .block_s = one_iteration_s});
  }
}

void Sweep::add_row_sums(std::string_view family, std::span<const int> warps_per_sm) {
  for (const Variant* v : variants(family)) {
    const Dials& dials = v->dials;
    const bool is_extreme =
        (dials.bytes_per_access == 4 && dials.ilp == 1) || (dials.bytes_per_access == 16 && dials.ilp == 4);
    const bool is_main_block = v->fixed_block_size == 256;
    if (at_least(Preset::full) || (is_quick() ? is_extreme && is_main_block : is_extreme || is_main_block))
      add_resident_warps(*v, v->fixed_block_size, warps_per_sm);
  }
}

void Sweep::add_warps_or_bytes(std::string_view family, std::span<const int> narrow,
                               std::span<const int> wide, std::span<const int> quick_warps) {
  constexpr int every[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64};
  constexpr int few[] = {8, 16};
  for (const Variant* v : variants(family)) {
    const bool is_wide = v->dials.bytes_per_access == 16;
    const bool end = v->dials.register_cap == 0 && v->dials.ilp == (is_wide ? 4 : 1);
    if (at_least(Preset::full)) {
      for (const int block_size : {128, 256}) add_resident_warps(*v, block_size, every);
    } else if (is_quick()) {
      if (end) add_resident_warps(*v, 128, quick_warps);
    } else {
      add_resident_warps(*v, 128, is_wide ? wide : narrow);
      add({.variant = v, .block_size = 128});  // as many as their registers allow
      if (end) add_resident_warps(*v, 256, few);
    }
  }
}

std::span<const Experiment> experiments() {
  std::ranges::sort(registry(), {}, &Experiment::name);  // the linker's order is arbitrary
  return registry();
}

AddExperiment::AddExperiment(Experiment experiment) { registry().push_back(std::move(experiment)); }

void check_experiment_names(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::ranges::find(experiments(), name, &Experiment::name) != experiments().end()) continue;
    std::string known;
    for (const Experiment& e : experiments()) known += (known.empty() ? "" : ", ") + e.name;
    throw UserError(Exit::usage, "no experiment '" + name + "'; there are " + known);
  }
}

std::vector<CaseSpec> plan_cases(std::span<const std::string> names, const theory::SmLimits& sm,
                                 Preset preset) {
  if (preset == Preset::burn_in) {
    auto some = plan_cases(names, sm, Preset::standard);
    std::erase_if(some, [ids = burn_in_cases()](const CaseSpec& c) { return !ids.contains(c.id()); });
    return some;
  }
  check_experiment_names(names);
  std::vector<CaseSpec> all;
  std::set<std::string> ids;
  for (const Experiment& experiment : experiments()) {
    if (!names.empty() && std::ranges::find(names, experiment.name) == names.end()) continue;
    Sweep sweep(experiment.name, sm, preset);
    experiment.define(sweep);
    for (const CaseSpec& spec : sweep.cases()) {
      if (!ids.insert(spec.id()).second) throw std::logic_error("two cases are called " + spec.id());
      all.push_back(spec);
    }
  }
  return all;
}

}  // namespace occbench
