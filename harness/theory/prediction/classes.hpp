// SPDX-License-Identifier: Apache-2.0
// Kernels that have not been written yet: what the model says of a loop of a well-known kind, given a
// footprint alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/theory/prediction/model.hpp"

namespace occbench::theory {

/// What a loop does in the main.
enum class Kind {
  streaming,      ///< loads from DRAM, each word added to a sum
  compute,        ///< chains of dependent FMAs
  shared_memory,  ///< loads from shared memory without bank conflicts, an FMA on each word
  mixed,          ///< loads from DRAM, FMAs on each word, and the sum
};

/// A kind of loop, and its dials; a dial that the kind does not have stays as it is here.
struct KernelClass {
  Kind kind = Kind::streaming;
  int ilp = 1;               ///< loads or chains of FMAs that a thread has in flight: 1 to most_ilp
  int bytes_per_access = 4;  ///< 4, 8 or 16; all but compute
  int operands = 2;          ///< different registers that an FMA reads, 2 or 3; compute alone
  double intensity = 0;      ///< FLOP per byte from DRAM, the sum's included; mixed alone
};
constexpr int most_ilp = 8;
constexpr double least_intensity = 0.25;  ///< one addition per word: streaming
constexpr double most_intensity = 128;

/// "streaming", "compute", "shared_memory", "mixed": as users write them, in the order of Kind.
std::span<const std::string_view> kind_names();
std::string_view to_string(Kind kind);
/// "streaming, 16 B x 4 per thread"
std::string describe(const KernelClass& kernel);

/// Throws std::invalid_argument with one line on a dial out of range.
void check(const KernelClass& kernel);

/// Its loop as nvcc 13 lays out the suite's own kernels of the kind for cc 9.0. Throws as check() does.
Program program_of(const KernelClass& kernel);

/// What a kernel of the class can reach at best, of the whole device.
struct Peak {
  double rate = 0;         ///< byte/s or FLOP/s
  std::string_view unit;   ///< "byte/s", "FLOP/s"
  std::string_view basis;  ///< which rate that is, and where it comes from
};

/// A class on a device. Throws std::invalid_argument with one line as program_of() does, or on a parameter
/// that this class needs and the device lacks.
class ClassModel {
 public:
  ClassModel(const KernelClass& kernel, const DeviceSpec& device, const Parameters& parameters);

  [[nodiscard]] const Peak& peak() const { return peak_; }

  struct Outcome {
    double share_of_peak = 0;  ///< in a launch so long that its beginning and end do not count
    Bound bound = Bound::latency;
  };
  /// `blocks_per_sm` blocks of `block_size` threads on every SM, both at least 1.
  [[nodiscard]] Outcome at(int block_size, int blocks_per_sm) const;

 private:
  KernelClass kernel_;
  DeviceSpec device_;
  Parameters parameters_;
  Program program_;
  Peak peak_;
};

/// The fewest warps per SM, in whole fours up to `most_warps`, that reach `share` of the peak; nullopt if
/// none do.
std::optional<int> fewest_warps(const ClassModel& model, double share, int most_warps);

}  // namespace occbench::theory
