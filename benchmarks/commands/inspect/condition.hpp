// SPDX-License-Identifier: Apache-2.0
// A condition on named numbers, for `--fail-on`: 'spill_bytes>0 or occupancy<0.5'.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace occbench::commands {

/// Comparisons (< <= > >= == !=) of names and numbers, with `and`, `or`, `not` and parentheses.
class Condition {
 public:
  /// The value of a name; nullopt if unknown.
  using Lookup = std::function<std::optional<double>(const std::string& name)>;

  /// `check_name` throws on an unknown name. Throws std::invalid_argument with one line on a syntax error.
  Condition(const std::string& text, const std::function<void(const std::string& name)>& check_name);
  Condition(Condition&&) noexcept;
  ~Condition();

  /// A comparison with an unknown value is false, except `== unknown`.
  [[nodiscard]] bool is_true(const Lookup& lookup) const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace occbench::commands
