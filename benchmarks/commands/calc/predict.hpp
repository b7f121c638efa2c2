// SPDX-License-Identifier: Apache-2.0
// `calc --predict`: the throughput of a kernel class at a footprint and at its next cliffs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/parameters.hpp"
#include "harness/theory/occupancy/catalogue.hpp"
#include "harness/theory/occupancy/cliffs.hpp"
#include "harness/theory/prediction/classes.hpp"

namespace occbench::commands {

/// One dial of a footprint, its value there, and its next cliffs.
struct Dial {
  const char* name;  ///< its column
  const char* unit;  ///< in the singular
  std::int64_t own;  ///< its value
  theory::Cliffs cliffs;
  void (*set)(theory::Footprint&, std::int64_t);
};
[[nodiscard]] std::array<Dial, 4> dials(const theory::SmLimits& sm, const theory::Footprint& footprint);

/// A kernel class as the user wrote it; empty: not given.
struct KernelClassText {
  std::string kind, bytes_per_access, ilp, intensity, operands;

  /// Throws std::invalid_argument with one line on an unknown kind, a value out of range, a missing intensity
  /// and, if `strict`, a dial that the kind does not have (in a batch another row may have it).
  [[nodiscard]] theory::KernelClass read(bool strict) const;
};

/// The parameters of `device`, a name of the catalogue or of a GPU: from `file`, or built in if it is empty.
/// Throws UserError: Exit::usage if there are none or the file is of another device, Exit::file as
/// read_parameters() does.
[[nodiscard]] ParameterFile parameters_for(const std::string& device, const std::string& file);

/// Predicts a class on a device, each launch once.
class ClassPredictor {
 public:
  /// Throws as theory::ClassModel does.
  ClassPredictor(const theory::KernelClass& kernel, const theory::DeviceSpec& device,
                 const theory::Parameters& parameters);

  [[nodiscard]] const theory::KernelClass& kernel() const { return kernel_; }
  [[nodiscard]] const theory::ClassModel& model() const { return model_; }
  /// Both at least 1.
  const theory::ClassModel::Outcome& at(int block_size, int blocks_per_sm);

 private:
  theory::KernelClass kernel_;
  theory::ClassModel model_;
  std::map<std::pair<int, int>, theory::ClassModel::Outcome> outcomes_;
};

struct CliffPredictions {
  struct Step {
    Dial dial;
    theory::Cliff cliff;
    theory::Footprint footprint;                         ///< at the cliff
    std::optional<theory::ClassModel::Outcome> outcome;  ///< nullopt where no block launches there
    double gain = 0;                                     ///< throughput there over that now, less 1
  };
  theory::ClassModel::Outcome now;
  theory::ClassModel::Outcome full;         ///< with every warp slot filled, by blocks of 4 warps
  std::optional<int> warps_for_95_percent;  ///< the fewest per SM that reach 95 % of the peak
  std::vector<Step> steps;                  ///< those that gain a block first
  std::string conclusion;                   ///< whether the next step gains: one sentence or two
};

/// `footprint` can be launched on `device`.
[[nodiscard]] CliffPredictions predict_cliffs(ClassPredictor& predictor, const theory::DeviceSpec& device,
                                              const theory::Parameters& parameters,
                                              const theory::Footprint& footprint);

}  // namespace occbench::commands
