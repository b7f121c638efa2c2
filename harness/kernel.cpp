// SPDX-License-Identifier: Apache-2.0
#include "harness/kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace occbench {

namespace {

std::vector<Variant>& registry() {
  static std::vector<Variant> all;  // first use may come from any static initialiser
  return all;
}

}  // namespace

std::string_view to_string(RegisterRoute route) {
  switch (route) {
    case RegisterRoute::launch_bounds:
      return "launch_bounds";
    case RegisterRoute::maxnreg:
      return "maxnreg";
    case RegisterRoute::maxrregcount:
      return "maxrregcount";
    case RegisterRoute::free:
      break;
  }
  return "free";
}

std::span<const Variant> variants() { return registry(); }

void add_variant(Variant variant) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=+-";
  if (variant.name.empty() || variant.name.find_first_not_of(allowed) != std::string::npos)
    throw std::logic_error("variant name '" + variant.name + "' of family " + variant.family +
                           " has a character outside [A-Za-z0-9_=+-]");
  const auto same = [&](const Variant& v) { return v.family == variant.family && v.name == variant.name; };
  if (std::ranges::any_of(registry(), same))
    throw std::logic_error("variant " + variant.family + "." + variant.name + " is registered twice");
  registry().push_back(std::move(variant));
}

}  // namespace occbench
