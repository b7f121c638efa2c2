// SPDX-License-Identifier: Apache-2.0
// Finds the signature of each launch. A new one gets its skip reason or levels, and its records.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/flat_map.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/level_planner.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/signature.hpp"
#include "harness/attach/preload/skip_rules.hpp"
#include "harness/attach/preload/sm_shares.hpp"
#include "harness/attach/preload/versions.hpp"

namespace occbench::attach {

/// Not thread-safe.
class SignatureTable {
 public:
  SignatureTable(const Options& options, const Driver& driver, RecordWriter& writer,
                 const SkipRules& skip_rules, const LevelPlanner& levels, Versions& versions,
                 SmShares& shares)
      : options_(options),
        driver_(driver),
        writer_(writer),
        skip_rules_(skip_rules),
        levels_(levels),
        versions_(versions),
        shares_(shares) {}

  Signature& of(const Request& request, Handle& handle, Context& context);
  /// Plans arms on fewer SMs, once, for a signature launched outside graphs.
  void plan_shares(Signature& signature, const Request& request, const Handle& handle, Context& context);
  [[nodiscard]] std::deque<Signature>& all() { return signatures_; }

 private:
  struct First {
    const Request& request;
    Handle& handle;
    const Context& context;
    std::uint64_t hash, arguments;
    PreviousLaunch before;  ///< if launches are split by it
  };
  Signature& add(const First& first);
  /// Finds its levels or versions, or why there are none.
  void plan(Signature& signature, const First& first);
  void write(const Signature& signature, const First& first);
  void set_schedule(Signature& signature);
  /// Splits launches of several kinds by the previous kernel on their stream, which may have left their data
  /// in the L2.
  Signature& part_of(Signature& whole, First first);
  /// The signature of all launches beyond the limit.
  Signature& rest();
  [[nodiscard]] bool has_room() const {
    return signatures_.size() < max_signatures - 1 && writer_.has_room();
  }

  const Options& options_;
  const Driver& driver_;
  RecordWriter& writer_;
  const SkipRules& skip_rules_;
  const LevelPlanner& levels_;
  Versions& versions_;
  SmShares& shares_;
  std::deque<Signature> signatures_;
  Signature* rest_ = nullptr;
  FlatMap<Signature> by_hash_;
  std::unordered_map<std::uint64_t, int> argument_hashes_;  ///< number by function and shape
};

}  // namespace occbench::attach
