// SPDX-License-Identifier: Apache-2.0
// Finds the levels of a signature: fewer resident blocks, and the dynamic shared memory that makes them by
// the driver's own count.
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

  /// Blocks per SM of each level that the options or the advice ask for, most first. `arguments`: their hash.
  [[nodiscard]] std::vector<int> targets(const Request& request, const Signature& signature,
                                         const Handle& handle, const Context& context,
                                         std::uint64_t arguments) const;
  /// Adds to the signature the targets that the driver confirms.
  void find(Signature& signature, Handle& handle, const Context& context,
            const std::vector<int>& targets) const;
  /// Asks the driver about the signature's known levels with another handle of its function.
  void verify(Signature& signature, Handle& handle, const Context& context) const;

  /// Whether the driver confirmed a level, counted from 0, with this handle.
  [[nodiscard]] static bool is_verified(const Signature& signature, const Handle& handle, std::size_t level);
  /// Whether the driver counts the natural blocks with the padding.
  [[nodiscard]] static bool is_padding_verified(const Signature& signature, const Handle& handle);

 private:
  struct Smem;
  [[nodiscard]] bool gives(const Smem& smem, const Signature& signature, Handle& handle, int dynamic,
                           int blocks) const;
  [[nodiscard]] bool has_fewer_clusters(const Signature& signature, const Handle& handle, int dynamic) const;
  void verify_padding(const Smem& smem, Signature& signature, Handle& handle) const;

  const Options& options_;
  const Driver& driver_;
  AdviceBook advice_;
};

/// 16 hex digits, as records have hashes.
[[nodiscard]] std::string digits_of(std::uint64_t hash);

}  // namespace occbench::attach
