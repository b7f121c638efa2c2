// SPDX-License-Identifier: Apache-2.0
// A user kernel's buffers in the arena: their contents before a launch, and the checks after it.
#pragma once

#include <cstddef>
#include <functional>
#include <occbench/kernel_facts.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/arena.hpp"

namespace occbench {

class UserData final : public Data, private Results {
 public:
  /// `owner` names its tables among those of the arena.
  UserData(Arena& arena, std::string owner) : arena_(arena), owner_(std::move(owner)) {}

  /// Whether the buffers of `setup` fit into an arena of this size.
  static bool fits(const Arena& arena, const Setup& setup);

  /// Throws std::runtime_error if the kernel has no output to verify.
  void require_results() const;
  /// Whether there is a reference or a check.
  [[nodiscard]] bool is_checked() const { return !checks_.empty(); }
  /// Resets every buffer to its state before a launch, in stream order; the poison alternates.
  void reset();
  /// After a launch: nullopt if all checks pass, otherwise the first failure as one line.
  std::optional<std::string> mismatch();

  void check(std::function<std::string(Results&)> wrong) override;

 private:
  struct Buffer {
    std::size_t first;  ///< byte of the arena's output
    std::size_t bytes;
    const void* initial;  ///< on the device; null: poison
  };
  using Check = std::function<std::optional<std::string>()>;

  Place random_input(bool is_double, std::size_t count) override;
  const void* table(std::size_t bytes, const Fill& fill) override;
  void* output(std::size_t bytes, const void* initial) override;
  void expect(detail::Scalar type, const void* device, std::size_t count, double tolerance,
              std::function<double(std::size_t)> expected) override;
  void read(const void* device, void* host, std::size_t bytes) override;

  /// Offset of `device` in the arena's output. Throws std::runtime_error if these bytes belong to no output.
  std::size_t index_of(const void* device, std::size_t bytes);

  Arena& arena_;
  std::string owner_;
  std::size_t random_floats_ = 0, random_doubles_ = 0;  ///< handed out
  std::size_t tables_ = 0;
  std::size_t used_ = 0;  ///< bytes of the output
  std::vector<Buffer> buffers_;
  std::vector<Check> checks_;
  bool odd_ = false;
};

/// Of the registration of user kernels, which runs before main: one line on the first kernel with invalid
/// facts; empty without one.
const std::string& registration_error();

}  // namespace occbench
