// SPDX-License-Identifier: Apache-2.0
// Which launches are never changed, and why.
#pragma once

#include <regex.h>

#include <string>
#include <unordered_set>

#include "harness/attach/preload/contexts.hpp"
#include "harness/attach/preload/functions.hpp"
#include "harness/attach/preload/machine_code.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"

namespace occbench::attach {

class SkipRules {
 public:
  explicit SkipRules(const Options& options);
  ~SkipRules();
  SkipRules(const SkipRules&) = delete;
  SkipRules& operator=(const SkipRules&) = delete;

  /// `blocks_per_sm`: the driver's answer; below 1 it gave none.
  [[nodiscard]] SkipReason reason_for(const Request& request, const Handle& handle, const Context& context,
                                      int blocks_per_sm) const;
  /// Whether launches with this reason may still run on fewer SMs.
  [[nodiscard]] bool may_have_fewer_sms(SkipReason reason, const Handle& handle) const;
  /// Adds the analysis of a module's kernels.
  void add(const SearchedCode& module);

 private:
  /// Whether all code with this name was searched and its blocks wait for no other.
  [[nodiscard]] bool is_independent(const Handle& handle) const;
  [[nodiscard]] bool matches_kernel_filter(const Handle& handle) const;

  const Options& options_;
  regex_t kernel_{};
  bool has_kernel_ = false;
  std::unordered_set<std::string> smem_readers_, independent_, dependent_;
  bool is_all_searched_ = true;
};

}  // namespace occbench::attach
