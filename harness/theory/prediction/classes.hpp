// SPDX-License-Identifier: Apache-2.0
// Predicts a kernel that is not written yet: a loop of a common kind, given its footprint.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/theory/prediction/model.hpp"

namespace occbench::theory {

/// The dominant work of a loop.
enum class Kind {
  streaming,      ///< loads from DRAM, each word added to a sum
  compute,        ///< chains of dependent FMAs
  shared_memory,  ///< loads from shared memory without bank conflicts, an FMA on each word
  mixed,          ///< loads from DRAM, FMAs on each word, and the sum
};

/// A kind of loop and its dials. Dials that do not apply to the kind keep their defaults.
struct KernelClass {
  Kind kind = Kind::streaming;
  int ilp = 1;               ///< loads or FMA chains in flight per thread: 1 to max_ilp
  int bytes_per_access = 4;  ///< 4, 8 or 16; every kind but compute
  int operands = 2;          ///< distinct registers that an FMA reads, 2 or 3; compute only
  double intensity = 0;      ///< FLOP per byte from DRAM, including the sum; mixed only
};
constexpr int max_ilp = 8;
constexpr double min_intensity = 0.25;  ///< one addition per word: streaming
constexpr double max_intensity = 128;

/// "streaming", "compute", "shared_memory", "mixed": option values, in the order of Kind.
std::span<const std::string_view> kind_names();
std::string_view to_string(Kind kind);
/// "streaming, 16 B x 4 per thread"
std::string describe(const KernelClass& kernel);

/// Throws std::invalid_argument with a one-line message on a dial out of range.
void check(const KernelClass& kernel);

/// The loop that nvcc 13 generates for the suite's kernels of this kind on cc 9.0. Throws like check().
Program program_of(const KernelClass& kernel);

/// Upper bound on the throughput of a kernel class, for the whole device.
struct Peak {
  double rate = 0;         ///< byte/s or FLOP/s
  std::string_view unit;   ///< "byte/s", "FLOP/s"
  std::string_view basis;  ///< how the rate is computed, with its sources
};

/// A kernel class on a device. The constructor throws like program_of(), and on a parameter that the class
/// needs and the device lacks.
class ClassModel {
 public:
  ClassModel(const KernelClass& kernel, const DeviceSpec& device, const Parameters& parameters);

  [[nodiscard]] const Peak& peak() const { return peak_; }

  struct Outcome {
    double share_of_peak = 0;  ///< for a launch long enough that its start and end are negligible
    Bound bound = Bound::latency;
  };
  /// Predicts `blocks_per_sm` blocks of `block_size` threads on every SM; both are at least 1.
  [[nodiscard]] Outcome at(int block_size, int blocks_per_sm) const;

 private:
  KernelClass kernel_;
  DeviceSpec device_;
  Parameters parameters_;
  Program program_;
  Peak peak_;
};

/// The fewest warps per SM, a multiple of 4 up to `max_warps`, that reach `share` of the peak; nullopt if
/// none do.
std::optional<int> fewest_warps(const ClassModel& model, double share, int max_warps);

}  // namespace occbench::theory
