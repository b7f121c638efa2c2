// SPDX-License-Identifier: Apache-2.0
// Finds the levels of a signature: fewer resident blocks, and the dynamic shared memory that enforces them
// according to the driver's occupancy calculation.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/signature.hpp"
#include "harness/attach/protocol/advice.hpp"

namespace occbench::attach {

class LevelPlanner {
 public:
  LevelPlanner(const Options& options, const Driver& driver);

  /// Blocks per SM of each level in the options or the advice, descending. `arguments`: their hash.
  [[nodiscard]] std::vector<int> targets(const Request& request, const Signature& signature,
                                         const Handle& handle, const Context& context,
                                         std::uint64_t arguments) const;
  /// Adds the targets that the driver confirms to the signature.
  void find(Signature& signature, Handle& handle, const Context& context,
            const std::vector<int>& targets) const;
  /// Verifies the signature's levels for another handle of its function.
  void verify(Signature& signature, Handle& handle, const Context& context) const;

  /// Whether the driver confirmed this level (from 0) for the handle.
  [[nodiscard]] static bool is_verified(const Signature& signature, const Handle& handle, std::size_t level);
  /// Whether the driver confirmed the natural blocks with the padding.
  [[nodiscard]] static bool is_padding_verified(const Signature& signature, const Handle& handle);

 private:
  struct Smem;
  [[nodiscard]] bool is_confirmed(const Smem& smem, const Signature& signature, Handle& handle, int dynamic,
                                  int blocks) const;
  [[nodiscard]] bool has_fewer_clusters(const Signature& signature, const Handle& handle, int dynamic) const;
  void verify_padding(const Smem& smem, Signature& signature, Handle& handle) const;

  const Options& options_;
  const Driver& driver_;
  AdviceBook advice_;
};

/// 16 hex digits, as in records.
[[nodiscard]] std::string digits_of(std::uint64_t hash);

}  // namespace occbench::attach
