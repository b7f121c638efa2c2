// SPDX-License-Identifier: Apache-2.0
// A condition on numbers with names, as `--fail-on` takes it: 'spill_bytes>0 or occupancy<0.5'.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace occbench::commands {

/// Comparisons (< <= > >= == !=) of names and numbers, with `and`, `or`, `not` and parentheses.
class Condition {
 public:
  /// What a name stands for; nullopt is not known.
  using Lookup = std::function<std::optional<double>(const std::string& name)>;

  /// `check_name` throws on a name that there is not. Throws std::invalid_argument with one line on what it
  /// cannot read.
  Condition(const std::string& text, const std::function<void(const std::string& name)>& check_name);
  Condition(Condition&&) noexcept;
  ~Condition();

  /// A comparison with what is not known does not hold; it holds of `== unknown`.
  [[nodiscard]] bool holds(const Lookup& lookup) const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace occbench::commands
