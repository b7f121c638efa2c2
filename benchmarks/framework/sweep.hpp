// SPDX-License-Identifier: Apache-2.0
// How an experiment defines its cases: registry x dials -> specs. Knows no device but its limits.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/measure/plan.hpp"

namespace occbench {

/// How much to run: the cases of standard that best show an outlier card (burn_in.csv), an overview in
/// seconds, the figures of record, or everything.
enum class Preset { burn_in, quick, standard, full };
std::string_view to_string(Preset preset);
/// Throws UserError(Exit::usage) on a name that is not a preset's.
Preset parse_preset(std::string_view name);

/// Collects the cases of one experiment.
class Sweep {
 public:
  Sweep(std::string experiment, const theory::SmLimits& sm, Preset preset)
      : experiment_(std::move(experiment)), sm_(sm), preset_(preset) {}

  [[nodiscard]] const theory::SmLimits& sm() const { return sm_; }
  /// `if (at_least(Preset::full))` guards what only the full run has.
  [[nodiscard]] bool at_least(Preset least) const { return preset_ >= least; }
  [[nodiscard]] bool is_quick() const { return preset_ == Preset::quick; }
  [[nodiscard]] std::vector<int> by_preset(std::vector<int> in_quick, std::vector<int> in_standard,
                                           std::vector<int> in_full) const;

  /// The carve-out (percent) that leaves the L1 as large as it can be while every block slot of an SM still
  /// gets the shared memory that the driver reserves per block. 0 % would be less: a hint, which the driver
  /// overrides.
  [[nodiscard]] int large_l1_carveout() const;

  /// The variants of a family, all of them or those whose name begins with `prefix`.
  [[nodiscard]] std::vector<const Variant*> variants(std::string_view family,
                                                     std::string_view prefix = "") const;
  /// The variant of this name. Throws std::logic_error when there is none: a mistake in the
  /// experiment.
  [[nodiscard]] const Variant& variant(std::string_view family, std::string_view name) const;

  /// Adds a case; its experiment is filled in, and its curve unless the experiment has a name for it.
  void add(CaseSpec spec);
  /// Adds a case per number of resident warps that blocks of `block_size` can make up.
  void add_resident_warps(const Variant& variant, int block_size, std::span<const int> warps_per_sm);
  /// Blocks of one iteration per thread, of each size at full occupancy; blocks of 128 threads, and in preset
  /// full all, also at 16 and 32 warps. Whole waves, until an SM has processed 480 x 2,048 elements.
  void add_short_blocks(const Variant& variant, int elements_per_thread = 1);
  /// Row sums, whose block size is fixed: those with the least and the most bytes per thread at every block
  /// size, the others at 256 threads; in `quick` those that are both, in full all.
  void add_row_sums(std::string_view family, std::span<const int> warps_per_sm);
  /// Warps against bytes per access: the variants of a family whose accesses are narrow or 16 bytes wide, at
  /// these numbers of warps; also in `quick`, wide ones with 4 and narrow ones with one in flight: the
  /// extremes of bytes per thread.
  void add_warps_or_bytes(std::string_view family, std::span<const int> narrow, std::span<const int> wide,
                          std::span<const int> quick);

  [[nodiscard]] const std::vector<CaseSpec>& cases() const { return cases_; }

 private:
  std::string experiment_;
  theory::SmLimits sm_;
  Preset preset_;
  std::vector<CaseSpec> cases_;
};

/// The y axis of an experiment's curves: throughput, its percent of the curve's own best or of the
/// ceiling, or cycles by the kernel's own clock.
enum class Scale { rate, best, ceiling, cycles };

/// A question and its dials, without how they are measured. All that readers of a run need to know of it is
/// in env.json; no tool has a list of experiments.
struct Experiment {
  std::string name;
  std::string question;  ///< one line
  std::string dial;      ///< the column of cases.csv that the curve is drawn over
  /// Columns that split the rows into further curves, unless one is the dial.
  std::vector<std::string> split_by = {};
  Scale scale = Scale::rate;
  bool compares_kernels = false;   ///< one case of each is a finding: no curve is needed
  std::string outside_model = {};  ///< why the model's error is not counted here; empty: it is
  bool user_kernels = false;       ///< of their own grids, whose residents cannot always be counted
  /// How its findings name a curve, form or family (as a plural: "read" is "reads") and the value of a column
  /// ("ilp" is "{} points per thread"; empty: not mentioned; "ilp 0" is the value 0).
  std::vector<std::pair<std::string, std::string>> words = {};
  std::function<void(Sweep& sweep)> define = nullptr;  ///< adds the cases
};

/// Every experiment linked into this program, by name.
std::span<const Experiment> experiments();

/// Runs before main: how an experiment enters the program.
struct AddExperiment {
  explicit AddExperiment(Experiment experiment);
};

/// Throws UserError(Exit::usage) on the first name that is not an experiment's.
void check_experiment_names(std::span<const std::string> names);

/// The cases of the named experiments (all when empty), in order. Throws UserError(Exit::usage) on an unknown
/// name, and std::logic_error when two cases share an id.
std::vector<CaseSpec> plan_cases(std::span<const std::string> names, const theory::SmLimits& sm,
                                 Preset preset);

}  // namespace occbench
